"""Fair turns: one firm's flood is its own.

Of each firm a few requests are worked on at once, more of them wait in a line, and what the line has no room for is
refused. This is decided before anything is asked of the database, by what the process remembers of whose a credential
is. That memory limits, and never admits: every request is still signed in for itself.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from cachetools import LRUCache

from north.after_reply import replying
from north.errors import TooManyRequests

AT_ONCE = 4
"""How many requests of one firm are worked on at once, while no other firm asks for anything."""
BESIDE_OTHERS = 1
"""How many, while others do: whoever asks next waits for one request of another firm at most."""
ASKING_SECONDS = 10.0
"""For how long a firm counts as asking after its last request."""
MOST_WAITING = 64
"""How many more requests of one firm wait; they are served in the order in which they came."""
COUNTED_SECONDS = 1.0
"""For how long a request holds its turn. What takes longer waits for others, as chats do for a model and uploads for
their sender; those must not keep a firm's short requests waiting."""
REFUSED_AFTER_SECONDS = 0.5
"""When a refusal is answered, give or take half of it: clients that ask again at once would otherwise be refused a
thousand times a second, and those that were refused together would come again together."""
MOST_REFUSALS = 256
"""How many refusals of one firm are held back so; more are answered at once."""
RETRY_SECONDS = 1
EVENT_STREAM = b"text/event-stream"
REMEMBERED = 50_000
"""How many credentials are remembered, the last that were used."""

# ASGI's parts, named here since what imports this knows no web framework.
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


@dataclass(slots=True)
class _Line:
    """A firm's requests: how many have their turn, who waits for one, and how many refusals are on their way."""

    busy: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)
    refusals: int = 0

    @property
    def idle(self) -> bool:
        return not (self.busy or self.waiting or self.refusals)


class Turns:
    """Whose turn it is, in this process."""

    def __init__(self, at_once: int = AT_ONCE, most_waiting: int = MOST_WAITING) -> None:
        self._at_once, self._most_waiting = at_once, most_waiting
        self._firms: LRUCache[bytes, UUID] = LRUCache(REMEMBERED)
        self._asking: OrderedDict[UUID, float] = OrderedDict()
        self._lines: dict[Hashable, _Line] = {}

    def remember(self, credential: str, organization_id: UUID) -> None:
        """Remember the firm of a credential that has just been accepted."""
        self._firms[_key(credential)] = organization_id

    async def take(self, credential: str) -> Callable[[], None]:
        """Wait for a turn.

        Args:
            credential: a token or a session's secret. One whose firm is not known yet has a line of its own.

        Returns:
            What gives the turn back; calling it again does nothing.

        Raises:
            TooManyRequests: too many of the same firm wait already.
        """
        key = _key(credential)
        firm = self._firms.get(key)
        if firm is not None:
            self._note(firm)
        whose: Hashable = firm or key
        line = self._lines.setdefault(whose, _Line())
        if line.busy < self._share():
            line.busy += 1
        elif len(line.waiting) < self._most_waiting:
            await self._wait(whose, line)
        else:
            await self._refuse(whose, line)
        return _once(lambda: self._give_back(whose, line))

    def _note(self, firm: UUID) -> None:
        """Note that a firm asks, and forget those that have stopped."""
        now = time.monotonic()
        self._asking[firm] = now
        self._asking.move_to_end(firm)
        while now - next(iter(self._asking.values())) > ASKING_SECONDS:
            self._asking.popitem(last=False)

    def _share(self) -> int:
        """How many requests of one firm are worked on at once now."""
        return self._at_once if len(self._asking) <= 1 else min(BESIDE_OTHERS, self._at_once)

    async def _wait(self, whose: Hashable, line: _Line) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back(whose, line)  # it came in the moment in which nobody wanted it any more
            raise

    async def _refuse(self, whose: Hashable, line: _Line) -> None:
        if line.refusals < MOST_REFUSALS:
            line.refusals += 1
            try:
                await asyncio.sleep(REFUSED_AFTER_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
            finally:
                line.refusals -= 1
                self._forget(whose, line)
        raise TooManyRequests(seconds=RETRY_SECONDS)

    def _give_back(self, whose: Hashable, line: _Line) -> None:
        """End a turn, and begin those of who still waits."""
        line.busy -= 1
        while line.waiting and line.busy < self._share():
            turn = line.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                line.busy += 1
        self._forget(whose, line)

    def _forget(self, whose: Hashable, line: _Line) -> None:
        if line.idle and self._lines.get(whose) is line:
            del self._lines[whose]


async def in_turn(
    turns: Turns, credential: str | None, app: App, scope: MutableMapping[str, Any], receive: Receive, send: Send
) -> None:
    """Serve a request when its firm's turn has come. The turn ends with the work, what follows the reply included; as a
    stream begins; or after a second.

    A request without a credential is nobody's, and served at once: it gets no further than the door.

    Raises:
        TooManyRequests: too many of the same firm wait already; nothing was done.
    """
    if not credential:
        await app(scope, receive, send)
        return
    give_back = await turns.take(credential)
    limit = asyncio.get_running_loop().call_later(COUNTED_SECONDS, give_back)

    async def send_noted(message: Message) -> None:
        if message["type"] == "http.response.start" and (b"content-type", EVENT_STREAM) in _kinds(message):
            give_back()
        await send(message)

    try:
        async with replying():
            await app(scope, receive, send_noted)
    finally:
        limit.cancel()
        give_back()


def bearer(headers: Mapping[str, str]) -> str | None:
    """The token in a request's headers, whose names are looked up in any case; None without one."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def _kinds(start: Message) -> list[tuple[bytes, bytes]]:
    """A reply's headers, without their parameters."""
    return [(name.lower(), value.partition(b";")[0]) for name, value in start.get("headers", ())]


def _key(credential: str) -> bytes:
    return hashlib.blake2b(credential.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _once(act: Callable[[], None]) -> Callable[[], None]:
    done = False

    def do() -> None:
        nonlocal done
        if not done:
            done = True
            act()

    return do
