"""HTTP before anything of North's sees it: a request's head has a limit, which the parser sets none for.

Without one, whoever reaches the port fills the machine's memory with a header that does not end.
"""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from north.api.problems import problem_response
from north.errors import HeadTooLarge

HEAD_LIMIT = 65_536
"""The most bytes of an address and headers together. Browsers send a tenth of it, and proxies pass on less."""


class LimitedHeads(HttpToolsProtocol):
    """The server's own protocol, which answers 431 to a larger head and closes the connection.

    What arrives without being a body's is counted piece by piece, and a head once more when it is complete. So one that
    does not end, or headers that follow a body and do not, cost the limit and two pieces of up to 256 kB.
    """

    _arrived = 0
    _too_large = False

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._arrived = 0

    def on_headers_complete(self) -> None:
        """The head is there, and is passed on when it is within the limit."""
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > HEAD_LIMIT:
            self._too_large = True
            raise HeadTooLarge(limit=HEAD_LIMIT)  # the parser stops at it, and `send_400_response` tells
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body, whose limit is not set here."""
        self._arrived = 0
        super().on_body(body)

    def data_received(self, data: bytes) -> None:
        """A piece of what the client sends."""
        self._arrived += len(data)
        super().data_received(data)
        if self._arrived > HEAD_LIMIT:
            self._too_large = True
            self.send_400_response("")

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, and one whose head is too large."""
        if not self._too_large:
            super().send_400_response(msg)
            return
        refusal = problem_response(HeadTooLarge(limit=HEAD_LIMIT))
        headers = [*refusal.raw_headers, (b"connection", b"close")]
        lines = [name + b": " + value + b"\r\n" for name, value in headers]
        self.transport.write(b"".join([STATUS_LINE[refusal.status_code], *lines, b"\r\n", refusal.body]))
        self.transport.close()
