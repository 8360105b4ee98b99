"""What North knows that bears on a question: two buckets, ranked, within a token budget.

Two buckets and only two: the lawyer's own memory and the current matter's. Firm-wide memory is never recalled; a change
that adds a firm bucket re-opens the question of who signs off what every lawyer's assistant is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from uuid import UUID

import structlog

from north.after_reply import after_reply
from north.db.races import retried
from north.errors import (
    DatabaseBusy,
    DatabaseReadOnly,
    InvalidInput,
    NotSignedIn,
    Unavailable,
)
from north.memory.backend import Backend
from north.memory.both_buckets import rank_buckets
from north.memory.fence import fence
from north.model import Caller, Memory, Origin, Recall, Recalled, Scope, new_id

log = structlog.get_logger(__name__)

LIMIT = 200
QUERY_LIMIT = 10_000
CHARACTERS_PER_TOKEN = 4
LINE_OVERHEAD_TOKENS = 25
"""The id, type and date of a memory's line in the fence."""


@dataclass(frozen=True, slots=True)
class Injection:
    """Fenced prompt text, and the memories in it, the closest to the question first."""

    text: str
    memories: tuple[Memory, ...]
    matter_number: str | None = None


async def recall(backend: Backend, caller: Caller, query: str, matter: str | None = None, limit: int = 12) -> Recall:
    """The memories of both buckets that answer a query best.

    This costs a round trip to Postgres while the query is embedded, one after it unless the buckets are small, and one
    more to note the use, once the reply is sent; a bucket of many thousands costs three more. Without an embedder, or
    while it is away, words alone decide.

    Args:
        backend: the running North.
        caller: whose personal memory is one bucket.
        query: 1 to 10,000 characters.
        matter: id or number of the matter whose memory is the other bucket.
        limit: memories from each bucket, 1 to 200.

    Raises:
        MatterNotFound: the firm has no such matter.
        InvalidInput: the query or the limit is not valid.
    """
    if not 1 <= limit <= LIMIT:
        raise InvalidInput(reason=f"limit is 1 to {LIMIT}")
    if not query.strip() or len(query) > QUERY_LIMIT:
        raise InvalidInput(reason=f"the query has 1 to {QUERY_LIMIT} characters")
    found = await rank_buckets(backend, caller, query, matter, limit)
    await _note_uses_after_reply(backend, caller, found.memories)
    return found


async def inject(backend: Backend, caller: Caller, query: str | None, matter: str | None) -> Injection:
    """The memory for a prompt, within the token budget; a bucket that fits goes in whole. Uses are not noted here:
    the caller does, when the prompt is sent (`note_uses`).

    Raises:
        MatterNotFound: the firm has no such matter.
    """
    most_lines = backend.memory_tokens // LINE_OVERHEAD_TOKENS
    found = await rank_buckets(backend, caller, (query or "")[:QUERY_LIMIT], matter, most_lines)
    chosen = _within(backend.memory_tokens, [*found.personal, *found.matter])
    text = fence(
        [hit.memory for hit in found.personal if hit.memory.id in chosen],
        [hit.memory for hit in found.matter if hit.memory.id in chosen],
        found.matter_number,
    )
    return Injection(text, tuple(memory for memory in found.memories if memory.id in chosen), found.matter_number)


async def briefing(backend: Backend, caller: Caller, matter: str | None) -> Injection:
    """The fenced memory with which a session starts: no question yet, the newest first.

    Raises:
        MatterNotFound: the firm has no such matter.
    """
    injection = await inject(backend, caller, None, matter)
    await _note_uses_after_reply(backend, caller, injection.memories)
    return injection


def _within(budget: int, hits: Sequence[Recalled]) -> set[UUID]:
    """The ids of the best hits whose lines fit into `budget` tokens together."""
    chosen: set[UUID] = set()
    for hit in sorted(hits, key=lambda hit: -hit.score):
        budget -= LINE_OVERHEAD_TOKENS + len(hit.memory.content) // CHARACTERS_PER_TOKEN + 1
        if budget < 0:
            break
        chosen.add(hit.memory.id)
    return chosen


async def _note_uses_after_reply(backend: Backend, caller: Caller, memories: Sequence[Memory]) -> None:
    """Note that these memories were shown, once they were: whoever reads them does not wait for it, or miss them."""

    async def note() -> None:
        try:
            await note_uses(backend, caller, memories)
        except (Unavailable, NotSignedIn) as error:  # it was revoked between the reply and here
            log.warning("uses_not_noted", code=error.code, memories=len(memories))

    await after_reply(note)


async def note_uses(
    backend: Backend, caller: Caller, memories: Sequence[Memory], message_id: UUID | None = None
) -> None:
    """Note that these memories were shown to the caller, in which turn.

    A database that takes no changes notes none, and neither does one where a colleague's note of the same hangs.
    """
    if memories:
        try:
            await _note_uses(backend, caller, memories, message_id)
        except DatabaseReadOnly as error:
            _say_once(error.code)
        except DatabaseBusy as error:  # what was found is worth more than that it was counted
            log.warning("uses_not_noted", code=error.code, memories=len(memories))


@cache
def _say_once(code: str) -> None:
    """On a standby no recall is noted: that is worth one line a process, and not one a recall."""
    log.warning("uses_not_noted", code=code)


@retried
async def _note_uses(backend: Backend, caller: Caller, memories: Sequence[Memory], message_id: UUID | None) -> None:
    async with backend.database.tenant(caller) as transaction:
        await transaction.send("memory.without_waiting_for_disk")
        ids = [memory.id for memory in memories]
        await transaction.send(
            "memory.insert_uses",
            ids=[new_id() for _ in memories],
            memory_ids=ids,
            scopes=[memory.scope for memory in memories],
            thread_id=caller.thread_id,
            message_id=message_id,
            surface=Origin(caller.origin),
        )
        personal = Scope.USER_PRIVATE
        await transaction.send(
            "memory.count_uses",
            memory_ids=ids,
            owner_ids=[caller.user_id if each.scope is personal else caller.organization_id for each in memories],
        )
