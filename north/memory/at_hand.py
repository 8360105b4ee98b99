"""The memories of small buckets, read whole while the question's vector is made: nothing is left to be asked after it.

They are held for one answer and no longer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from psycopg import AsyncCursor

from north.db.connect import Row, Transaction
from north.memory.scoring import ID, Ids, Likely, first, places

SHORT = 2_000
"""The most bytes of a memory's text and evidence that are read with all others'."""
MOST = 1_000
"""How many are read of a bucket at most, if it has grown since it was found to be small."""
ID_COLUMN, LIFT_COLUMN = 0, 1
UNUSED: Row = {"uses": 0, "last_used_at": None}


@dataclass(frozen=True, slots=True)
class Whole:
    """The memories of small buckets, and their uses, under way."""

    memories: AsyncCursor[Row]
    uses: AsyncCursor[Row]

    def at_hand(self) -> AtHand:
        """Once they have come."""
        return AtHand(_Rows.of(self.memories), _Rows.of(self.uses))


async def read_whole(transaction: Transaction, **parameters: Any) -> Whole:
    """Queue the question for all that is in them; no round trip."""
    return Whole(
        await transaction.send_for_bytes("recall.whole", **parameters, short=SHORT, most=MOST),
        await transaction.send_for_bytes("recall.uses_of_whole", **parameters, most=MOST),
    )


@dataclass(frozen=True, slots=True)
class AtHand:
    """The memories of small buckets as they are shown."""

    memories: _Rows
    uses: _Rows

    async def best(self, likely: Likely, limit: int) -> list[Row] | None:
        """The best of those that are likely it, as `recall.best` has them; None when not all of them are at hand."""
        at = places(self.memories.ids, likely.ids)
        if (at < 0).any():
            return None
        scores = likely.scores + np.frombuffer(_column(self.memories.sent, LIFT_COLUMN, at.tolist()), ">f8")
        chosen = first(scores, limit, likely.ids)
        used = places(self.uses.ids, likely.ids[chosen])
        best = []
        for place, use in zip(chosen.tolist(), used.tolist(), strict=True):
            row = await self.memories.row(int(at[place]))
            if row["content"] is None:
                return None
            cosine = float(likely.cosines[place])
            own = {"score": float(scores[place]), "cosine": None if np.isnan(cosine) else cosine}
            best.append({**row, **own, **(await self.uses.row(use) if use >= 0 else UNUSED)})
        return best


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows that begin with an id. They stay as Postgres sent them, but for the few that are asked for."""

    sent: AsyncCursor[Row]
    ids: Ids

    @classmethod
    def of(cls, sent: AsyncCursor[Row]) -> _Rows:
        return cls(sent, np.frombuffer(_column(sent, ID_COLUMN, range(sent.rowcount)), ID))

    async def row(self, place: int) -> Row:
        await self.sent.scroll(place, "absolute")
        row = await self.sent.fetchone()
        assert row is not None
        return row


def _column(sent: AsyncCursor[Row], column: int, places: Iterable[int]) -> bytes:
    """The values of a column as bytes, one after the other."""
    result = sent.pgresult
    assert result is not None
    return b"".join(result.get_value(place, column) or b"" for place in places)
