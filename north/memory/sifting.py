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
import numpy.typing as npt

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
    holders_in,
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
class Holders:
    """Who has the words of a question that are not too common, each once, in an order of their own.

    Args:
        ids: theirs.
        lows: the last bits of these, in rising order.
        at: where the holder of each posting stands.
        postings: the rows of `recall.postings`, one a term.
    """

    ids: Ids
    lows: npt.NDArray[np.uint64]
    at: Places
    postings: Sequence[Row]

    @classmethod
    def of(cls, postings: Sequence[Row]) -> Holders:
        """Put them in order. It takes milliseconds, and needs nothing that the signs say."""
        holders = holders_in(postings)
        lows = holders["low"].astype(np.uint64)
        order = np.argsort(lows)
        lows = lows[order]
        new = np.append(True, lows[1:] != lows[:-1])[: len(lows)]
        at = np.empty(len(holders), np.intp)
        at[order] = np.cumsum(new) - 1
        return cls(holders[order[new]], lows[new], at, postings)

    def places(self, ids: Ids) -> Places:
        """Where each of these stands; -1 for one that is no holder."""
        if not len(self.ids):
            return np.full(len(ids), -1)
        lows = ids["low"].astype(np.uint64)
        at = np.minimum(np.searchsorted(self.lows, lows), len(self.lows) - 1)
        return np.where(self.lows[at] == lows, at, -1)


@dataclass(frozen=True, slots=True)
class FirstPass:
    """What is known of a bucket: the row of `recall.sketched`, and who has which of the question's words."""

    sketched: Row
    holders: Holders
    said: Said
    weights: Weights

    @classmethod
    def of(cls, sketched: Row, holders: Holders, weights: Weights) -> FirstPass:
        """Weigh the holders' words."""
        return cls(sketched, holders, words(holders.ids, sketched, holders.postings, holders.at), weights)

    def chosen(self) -> Ids:
        """The memories that are worth a comparison in full."""
        found = np.frombuffer(self.sketched["found"] or b"", SKETCHED)
        at = self.holders.places(found["id"])
        others = at < 0
        ids = np.concatenate((self.holders.ids, found["id"][others]))
        at[others] = np.arange(len(self.holders.ids), len(ids))
        nearness = np.full(len(ids), -(self.sketched["near"] or 0.0))
        nearness[at] = -found["distance"]
        said = np.append(self.said.scores(), np.zeros(others.sum()))
        related = self.weights.words * said / highest(said) + self.weights.meaning * spread(nearness, nearness)
        chosen = np.zeros(len(ids), bool)
        for scores, count in ((related, RELATED), (nearness, NEAR), (said, WORDED), (-nearness, FAR)):
            chosen[np.argsort(-scores) if count >= len(ids) else np.argpartition(-scores, count)[:count]] = True
        return ids[chosen]

    def said_of(self, ids: Ids) -> Said:
        """The words that some memories have."""
        return self.said.among(self.holders.places(ids))


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
        said = self.first.said_of(ids)
        common = [posting for posting in self.first.holders.postings if posting["ids"] is None]
        if not common:
            return said
        terms, df = ([posting[column] for posting in common] for column in ("term", "df"))
        postings = await self._rows("recall.postings_of", terms=terms, df=df, ids=uuid_array(ids))
        return said.beside(words(ids, self.first.sketched, postings))

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
