"""Hints: live memories with wording close to a draft's, so that a model can update instead of saving beside them."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any

import structlog

from north.db.connect import Database
from north.db.races import retried
from north.errors import NotSignedIn, Unavailable
from north.memory.matters import id_in
from north.memory.plans import TOLD
from north.memory.rows import memories_by_id
from north.memory.terms import query_terms
from north.model import Caller, Draft, Memory, Scope

log = structlog.get_logger(__name__)

LIMIT = TOLD + 1
"""How many are looked for: the draft itself may be among them, known already or saved meanwhile."""
LEAST_SHARE = 0.5
"""The least share of the draft's words that a hint has."""

POSTINGS = 1_500
"""How many postings are read to find hints, the same number of each word."""
LEAST_POSTINGS = 50
"""Of each word of a long text; a word that more memories have is a common one there."""
SECONDS = 2.0
"""How long hints are waited for."""
CHECKED = 32
"""How many memories are looked up under every word."""


_looking: set[asyncio.Task[list[list[Memory]]]] = set()
"""Questions under way: the event loop alone would not keep them."""


class Hints:
    """Hints for some drafts, under way from now on, whether somebody waits for them or not."""

    def __init__(self, database: Database, caller: Caller, drafts: Sequence[Draft]) -> None:
        self._none: list[list[Memory]] = [[] for _ in drafts]
        self._found: list[list[Memory]] | None = None
        self._task = asyncio.create_task(find(database, caller, drafts), name="north-hints")
        _looking.add(self._task)
        self._task.add_done_callback(_looking.remove)

    async def found(self) -> list[list[Memory]]:
        """Those of each draft, the closest first; none, if they take too long.

        The question is not broken off then: where the network stalls, that takes longer than waiting for it.
        """
        if self._found is None:
            await asyncio.wait([self._task], timeout=SECONDS)
            self._found = self._task.result() if self._task.done() else self._none
            if not self._task.done():
                log.warning("no_hints", code="too_slow", drafts=len(self._none))
        return self._found


async def find(database: Database, caller: Caller, drafts: Sequence[Draft]) -> list[list[Memory]]:
    """For each draft the live memories of its bucket that share at least half of its words, the closest first.

    They are ranked by the sum of 1 / ln(1 + df) over the words that they share. The ranking is exact while fewer of the
    draft's words are common than a hint has to share, and no more than `CHECKED` memories come into question. In a
    bucket of some thousands most words are common: then a hint shares one of the others too, or is among the newest
    with a common one, and common words weigh the same.

    They are found in a transaction of their own, beside the save's, which takes as long. When they cannot be had there
    are none: what is saved is worth more than that.
    """
    try:
        return await _find(database, caller, drafts)
    except (Unavailable, NotSignedIn) as error:
        log.warning("no_hints", code=error.code, drafts=len(drafts))
        return [[] for _ in drafts]


@retried
async def _find(database: Database, caller: Caller, drafts: Sequence[Draft]) -> list[list[Memory]]:
    async with database.tenant(caller, keep_plans=True, read_only=True) as transaction:
        asked = [await transaction.send("memory.similar", **parameters(caller, draft)) for draft in drafts]
        hints = [[row["memory_id"] for row in await cursor.fetchall()] for cursor in asked]
        memories = await memories_by_id(transaction, caller, list({hint for each in hints for hint in each}))
    return [[memories[hint] for hint in each if hint in memories] for each in hints]


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
