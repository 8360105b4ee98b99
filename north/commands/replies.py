"""How a reply leaves this machine: its head together with the first of its body.

The server sends each by itself. So there are two packets where one would do, and whoever waits for the reply wakes up
for a head without a body, and on a busy processor waits once more for its turn.
"""

from __future__ import annotations

import asyncio


class HeadWithBody(asyncio.Transport):
    """A connection as one reply sees it: what is written first is held back until more is, if more comes at once."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport, self._loop = transport, loop
        self._held: bytes | None = None
        self._begun = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send this, and what was held back before it."""
        if self._begun:
            held, self._held = self._held, None
            self._transport.write(data if held is None else held + data)
        else:
            self._begun, self._held = True, bytes(data)
            self._loop.call_soon(self._let_go)

    def close(self) -> None:
        """Send what was held back, and close the connection."""
        self._let_go()
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether the connection is being closed, or is."""
        return self._transport.is_closing()

    def _let_go(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._transport.write(held)
