"""Buckets too large to compare with a question row by row: whom of theirs it is compared with.

A first pass looks at the signs of all vectors and the words of all memories, which say roughly how related each is. Who
is in front is compared in full, and so are the neighbours of the best. The result is that of `north.memory.scoring`,
but for what the first pass did not see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from north.db.connect import Transaction
from north.memory.ranking import Weights
from north.memory.scoring import (
    ID,
    Compared,
    Floats,
    Ids,
    Likely,
    Places,
    Row,
    Said,
    first,
    floats_in,
    highest,
    ids_in,
    lent,
    likely,
    spread,
    uuid_array,
    words,
)

FIRST_PASS: dict[str, Any] = {"nearest": 0.025, "farthest": 0.01, "most_postings": 100_000}
"""Which shares of a bucket the signs put in front and at the end, and how many postings are read of all terms together:
of the commonest terms beyond that, only those of the memories that are compared in full."""
RELATED, NEAR, WORDED, FAR = 900, 200, 100, 1_000
"""How many are compared in full: of the most related as far as signs and words tell, of the nearest by signs alone, of
the first by words alone, and of the farthest, among which is the lowest cosine: the zero of meaning."""
LENDING = 188
"""How many more than asked for have their neighbours looked at."""
SKETCHED = np.dtype([("id", ID), ("distance", ">i4")])


@dataclass(frozen=True, slots=True)
class FirstPass:
    """What is known of a bucket: the row of `recall.sketched`, and the rows of `recall.postings`, one a term."""

    sketched: Row
    postings: Sequence[Row]
    weights: Weights

    def chosen(self) -> Ids:
        """The memories that are worth a comparison in full."""
        found = np.frombuffer(self.sketched["found"] or b"", SKETCHED)
        holders = ids_in(b"".join(posting["ids"] or b"" for posting in self.postings))
        everyone = np.concatenate((found["id"], holders))
        _, at = np.unique(everyone["low"], return_index=True)
        ids, sketched = everyone[at], at < len(found)
        nearness = np.full(len(ids), -(self.sketched["near"] or 0.0))
        nearness[sketched] = -found["distance"][at[sketched]]
        said = words(ids, self.sketched, self.postings).scores()
        related = self.weights.words * said / highest(said) + self.weights.meaning * spread(nearness, nearness)
        chosen = np.zeros(len(ids), bool)
        for scores, count in ((related, RELATED), (nearness, NEAR), (said, WORDED), (-nearness, FAR)):
            chosen[np.argsort(-scores) if count >= len(ids) else np.argpartition(-scores, count)[:count]] = True
        return ids[chosen]


@dataclass(frozen=True, slots=True)
class SecondPass:
    """The comparison in full of what the first pass chose; two round trips.

    Args:
        transaction: where the question is asked.
        parameters: the question's and the bucket's, for the statements in `recall.sql`.
        first: what is known.
    """

    transaction: Transaction
    parameters: Mapping[str, Any]
    first: FirstPass

    async def most_related(self, limit: int) -> Likely:
        """The memories of the bucket that are most related to the question, somewhat more than `limit`."""
        weights = self.first.weights
        (found,) = await self._rows("recall.cosines", ids=uuid_array(self.first.chosen()))
        compared = Compared.of(found)
        ids, sources, cosines = compared.ids, compared.sources, compared.cosines
        said = (await self._said(ids)).scores()
        worth = weights.words / highest(said)
        best = first(worth * said + weights.meaning * spread(cosines, cosines), limit + LENDING, ids)
        (beside,) = await self._rows("recall.beside", ids=uuid_array(ids[best]), sources=uuid_array(sources[best]))
        borrower = np.frombuffer(beside["places"] or b"", ">i4") - 1
        both = np.concatenate((ids[best], ids_in(beside["ids"])))
        cosines_of_both = np.concatenate((cosines[best], floats_in(beside["cosines"])))
        parts, meaning = await self._parts(both), spread(cosines_of_both, cosines)
        fits = worth * parts.sum(axis=0) + weights.meaning * meaning
        gains = _gains_by_neighbours(borrower, worth * parts, lent(meaning, weights), weights.neighbours)
        return _each_once(both, fits + gains, cosines_of_both, weights, limit)

    async def _parts(self, ids: Ids) -> Floats:
        """What each word adds to the BM25 score of each, some of whom may be named several times."""
        _, at, each = np.unique(ids["low"], return_index=True, return_inverse=True)
        return (await self._said(ids[at])).table()[:, each]

    async def _said(self, ids: Ids) -> Said:
        """The words that some memories have, with the terms that were too common for the first pass."""
        sketched, postings = self.first.sketched, self.first.postings
        common = [posting for posting in postings if posting["ids"] is None]
        if common:
            terms, df = ([posting[column] for posting in common] for column in ("term", "df"))
            postings = [
                *postings,
                *await self._rows("recall.postings_of", terms=terms, df=df, ids=uuid_array(ids)),
            ]
        return words(ids, sketched, postings)

    async def _rows(self, name: str, **parameters: Any) -> Sequence[Row]:
        return await (await self.transaction.send_for_bytes(name, **{**self.parameters, **parameters})).fetchall()


def _gains_by_neighbours(borrower: Places, parts: Floats, meaning: Floats, share: float) -> Floats:
    """What each memory gains by the neighbour that completes it best, as far as its neighbours are known.

    Args:
        borrower: whose neighbour each is of those who stand after the ones whose neighbours they are.
        parts: what each word counts for each memory, in a row for each word.
        meaning: what each lends of its own.
        share: the share of their parts for which a neighbour's words count.
    """
    neighbour = np.arange(len(meaning) - len(borrower), len(meaning))
    gains = np.zeros(len(meaning))
    for who, lender in ((borrower, neighbour), (neighbour, borrower)):
        words = np.maximum(share * parts[:, lender] - parts[:, who], 0).sum(axis=0)
        np.maximum.at(gains, who, words + meaning[lender])
    return gains


def _each_once(ids: Ids, scores: Floats, cosines: Floats, weights: Weights, limit: int) -> Likely:
    """The likely ones. A memory that stands beside several has several scores: the highest is its own."""
    order = np.argsort(-scores)
    _, at = np.unique(ids["low"][order], return_index=True)
    return likely(ids[order[at]], scores[order[at]], cosines[order[at]], weights, limit)
