"""Hints: live memories with wording close to a draft's, so that a model can update instead of saving beside them."""

from __future__ import annotations

import math
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor

from north.db.connect import Row, Transaction
from north.memory.matters import id_in
from north.memory.terms import query_terms
from north.model import Caller, Draft, Scope

LIMIT = 3
LEAST_SHARE = 0.5
"""The least share of the draft's words that a hint has."""

POSTINGS = 1_500
"""How many postings are read to find hints, the same number of each word."""
LEAST_POSTINGS = 50
"""Of each word of a long text; a word that more memories have is a common one there."""
CHECKED = 32
"""How many memories are looked up under every word."""


async def ask(transaction: Transaction, caller: Caller, draft: Draft) -> AsyncCursor[Row]:
    """Queue the question which live memories of the draft's bucket share at least half of its words.

    They are ranked by the sum of 1 / ln(1 + df) over the words that they share. The ranking is exact while fewer of the
    draft's words are common than a hint has to share, and no more than `CHECKED` memories come into question. In a
    bucket of some thousands most words are common: then a hint shares one of the others too, or is among the newest
    with a common one, and common words weigh the same.
    """
    return await transaction.send("memory.similar", **parameters(caller, draft))


def parameters(caller: Caller, draft: Draft) -> dict[str, Any]:
    """The parameters of the statement."""
    words = query_terms(draft.content)
    counted = max(LEAST_POSTINGS, POSTINGS // max(1, len(words)))
    buckets = {Scope.USER_PRIVATE: caller.user_id, Scope.FIRM_GLOBAL: caller.organization_id, Scope.MATTER: None}
    return {
        "owner_id": caller.user_id if draft.scope is Scope.USER_PRIVATE else caller.organization_id,
        "bucket": buckets[draft.scope],
        "matter": draft.matter,
        "matter_id": id_in(draft.matter) if draft.matter else None,
        "terms": words,
        "least_shared": max(2, math.ceil(len(words) * LEAST_SHARE)),
        "counted": counted,
        "called_by_common": counted // 5,
        "checked": CHECKED,
        "limit": LIMIT,
    }


async def answer(cursor: AsyncCursor[Row]) -> list[UUID]:
    """The ids of the hints, the closest first."""
    return [row["memory_id"] for row in await cursor.fetchall()]
