"""Hints: live memories with wording close to a draft's, so that a model can update instead of saving beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from uuid import UUID

from psycopg import AsyncCursor

from north.db.connect import Row, Transaction
from north.memory.matters import id_in
from north.memory.terms import query_terms
from north.model import Caller, Draft, Memory, Scope

LIMIT = 3
LEAST_SHARE = 0.5
"""The least share of the draft's words that a hint has."""


async def ask(transaction: Transaction, caller: Caller, draft: Draft) -> AsyncCursor[Row]:
    """Queue the question which live memories of the draft's bucket share at least half of its words."""
    words = query_terms(draft.content)
    buckets = {Scope.USER_PRIVATE: caller.user_id, Scope.FIRM_GLOBAL: caller.organization_id, Scope.MATTER: None}
    return await transaction.send(
        "memory.similar",
        bucket=buckets[draft.scope],
        matter=draft.matter,
        matter_id=id_in(draft.matter) if draft.matter else None,
        terms=words,
        least_shared=max(2, math.ceil(len(words) * LEAST_SHARE)),
        limit=LIMIT,
    )


async def answer(cursor: AsyncCursor[Row]) -> list[UUID]:
    """The ids of the hints, the closest first."""
    return [row["memory_id"] for row in await cursor.fetchall()]


def others(hints: Sequence[UUID], itself: UUID, memories: dict[UUID, Memory]) -> tuple[Memory, ...]:
    """The hinted memories without the one that was saved."""
    return tuple(memories[hint] for hint in hints if hint != itself and hint in memories)
