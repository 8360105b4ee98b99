"""Work that follows a reply: whoever asked has their answer and does not wait for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

Work = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class _Reply:
    """What waits for a reply to be sent."""

    works: list[Work] = field(default_factory=list)
    sent: bool = False


_reply: ContextVar[_Reply | None] = ContextVar("reply", default=None)


async def after_reply(work: Work) -> None:
    """Do this once the reply that is being made is sent; at once where none is, as over stdio."""
    reply = _reply.get()
    if reply is None or reply.sent:
        await work()
    else:
        reply.works.append(work)


@asynccontextmanager
async def replying() -> AsyncIterator[None]:
    """A block that makes a reply and sends it. What was put off meanwhile is done at its end, unless it fails."""
    reply = _Reply()
    before = _reply.set(reply)
    try:
        yield
    finally:
        _reply.reset(before)
        reply.sent = True  # for tasks that were begun in the block and outlive it
    for work in reply.works:
        await work()
