"""HTTP before anything of North's sees it: how large a request's head may be, and how long a request may be on its way.

The server itself sets no limit to either: whoever reaches the port could fill the machine's memory with a header that
does not end, or take up its connections with requests that never come.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from north.api.problems import problem_response
from north.commands.replies import HeadWithBody
from north.errors import HeadTooLarge, HeadTooSlow

HEAD_LIMIT = 65_536
"""The most bytes of an address and headers together. Browsers send a tenth of it, and proxies pass on less."""
HEAD_SECONDS = 30.0
"""How long a new connection has for its first head, and every later head from its first byte on."""
PIECE_BYTES = 1024
PIECE_SECONDS = 60.0
"""How long so much of a body, or its end, may take: one that comes byte by byte would hold its connection for days."""


class LimitedHeads(HttpToolsProtocol):
    """The server's own protocol, which answers 431 to a larger head, 408 to a slower one, and closes the connection.

    What arrives without being a body's is counted piece by piece, and a head once more when it is complete. So one that
    does not end, or headers that follow a body and do not, cost the limit and two pieces of up to 256 kB.
    """

    _arrived = 0
    _refusal: HeadTooLarge | HeadTooSlow | None = None
    _in_head = False
    _in_body = False
    _in_piece = 0
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the server's own
        """Somebody has connected."""
        super().connection_made(transport)
        self._wait(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """They are gone."""
        self._stop_waiting()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._arrived = 0
        self._in_head = True
        self._wait(HEAD_SECONDS)

    def on_headers_complete(self) -> None:
        """The head is there, and is passed on when it is within the limit."""
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > HEAD_LIMIT:
            self._refusal = HeadTooLarge(limit=HEAD_LIMIT)
            raise self._refusal  # the parser stops at it, and `send_400_response` tells
        self._in_head, self._in_body = False, True
        self._in_piece = 0
        self._wait(PIECE_SECONDS)
        super().on_headers_complete()
        self.cycle.transport = HeadWithBody(self.transport, self.loop)

    def on_body(self, body: bytes) -> None:
        """A piece of a body, whose size is limited elsewhere."""
        self._arrived = 0
        self._in_piece += len(body)
        if self._in_piece >= PIECE_BYTES:
            self._in_piece = 0
            self._wait(PIECE_SECONDS)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is there as a whole."""
        self._in_body = False
        self._stop_waiting()
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        """A piece of what the client sends."""
        self._arrived += len(data)
        super().data_received(data)
        if self._arrived > HEAD_LIMIT:
            self._refuse(HeadTooLarge(limit=HEAD_LIMIT))

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, and one whose head is too large or too slow."""
        if self._refusal is None:
            super().send_400_response(msg)
            return
        refusal = problem_response(self._refusal)
        headers = [*refusal.raw_headers, (b"connection", b"close")]
        lines = [name + b": " + value + b"\r\n" for name, value in headers]
        self.transport.write(b"".join([STATUS_LINE[refusal.status_code], *lines, b"\r\n", refusal.body]))
        self.transport.close()

    def _refuse(self, refusal: HeadTooLarge | HeadTooSlow) -> None:
        self._refusal = refusal
        self.send_400_response("")

    def _wait(self, seconds: float) -> None:
        """Give the client so many seconds from now on."""
        self._stop_waiting()
        self._patience = self.loop.call_later(seconds, self._give_up, seconds)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()

    def _give_up(self, seconds: float) -> None:
        """Close a connection from which nothing comes, unless it is North that is slow."""
        answering = self.cycle is not None and not self.cycle.response_complete
        if self.flow.read_paused or (answering and not self._in_body):
            self._wait(seconds)
        elif self._in_head:
            self._refuse(HeadTooSlow(seconds=round(seconds)))
        else:
            self.transport.close()
