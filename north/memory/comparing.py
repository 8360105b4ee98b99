"""How the memories of a bucket are compared with a question, once it has a vector; the look at them came before
(`north.memory.looking`).

There are three ways: by the vectors that this process keeps; by Postgres, where too few of them are kept; or, in a
bucket too large for that, by a first pass over the signs of all vectors (`north.memory.sifting`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from uuid import UUID

from psycopg import AsyncCursor

from north.db.connect import Database, Row, Transaction
from north.db.races import retried
from north.memory.buckets import Bucket, Question
from north.memory.looking import Seen
from north.memory.scoring import Compared, Ids, Likely, Said, Worded, most_related, uuid_array, words
from north.memory.sifting import FIRST_PASS, FirstPass, Holders, SecondPass
from north.memory.sizes import Sizes
from north.memory.vector_cache import BucketVectors, Listing, Loaded, VectorCache
from north.model import Caller

FEW = 200
"""How many vectors a recall reads on its way; of more, Postgres compares them, and they are read after the reply."""


class Way(Protocol):
    """A way to compare a bucket's memories with a question."""

    seen: Seen

    async def begin(self, transaction: Transaction) -> None:
        """Queue what is to be known first."""

    async def likely(self, transaction: Transaction) -> Likely:
        """The memories that are most related to the question."""


@dataclass(slots=True)
class ByKeptVectors:
    """By the vectors that this process keeps, and a few that it reads. One round trip, if there are any to read."""

    seen: Seen
    question: Question
    listing: Listing
    cache: VectorCache
    kept: BucketVectors
    lacking: Ids
    _read: AsyncCursor[Row] | None = field(default=None, init=False)

    async def begin(self, transaction: Transaction) -> None:
        """Queue the few vectors that are not kept, if there are any."""
        if len(self.lacking):
            ids, model, dimensions = uuid_array(self.lacking), self.question.model, self.kept.dimensions
            self._read = await transaction.send_for_bytes(
                "recall.vectors_of", ids=ids, model=model, dimensions=dimensions
            )

    async def likely(self, transaction: Transaction) -> Likely:
        """Add them to those that are, and compare."""
        if self._read and (row := await self._read.fetchone()):
            self.cache.add(self.kept, Loaded.of(row, self.kept.dimensions))
        return self._compared()

    async def best_at_hand(self) -> list[Row] | None:
        """The best memories, as far as nothing is left to be asked; no round trip."""
        if self.seen.at_hand is None or len(self.lacking):
            return None
        return await self.seen.at_hand.best(self._compared(), self.question.limit)

    def _compared(self) -> Likely:
        return _ranked(self.seen, self.question, self.kept.compared(self.listing, self.question.vector))


@dataclass(slots=True)
class ByPostgres:
    """By Postgres, where the rows are. One round trip."""

    seen: Seen
    question: Question
    _compared: AsyncCursor[Row] = field(init=False)

    async def begin(self, transaction: Transaction) -> None:
        """Queue the comparison."""
        self._compared = await transaction.send_for_bytes("recall.compared", **_parameters(self.seen, self.question))

    async def likely(self, transaction: Transaction) -> Likely:
        """What came of it, with the words."""
        (row,) = await self._compared.fetchall()
        return _ranked(self.seen, self.question, Compared.of(row))


@dataclass(slots=True)
class BySigns:
    """Of a large bucket, what a first pass over signs and words puts in front. Three round trips."""

    seen: Seen
    question: Question
    sizes: Sizes
    _sketched: AsyncCursor[Row] = field(init=False)

    async def begin(self, transaction: Transaction) -> None:
        """Queue the first pass over the signs."""
        parameters = _parameters(self.seen, self.question)
        self._sketched = await transaction.send_for_bytes("recall.sketched", **parameters, **FIRST_PASS)

    async def likely(self, transaction: Transaction) -> Likely:
        """Compare in full what it puts in front."""
        holders = Holders.of(self.seen.postings)  # while Postgres looks at the signs
        (row,) = await self._sketched.fetchall()
        self.sizes.note(self.seen.bucket, row["documents"])
        first_pass = FirstPass.of(row, holders, self.question.weights)
        second_pass = SecondPass(transaction, _parameters(self.seen, self.question), first_pass)
        return await second_pass.most_related(self.question.limit)


def _parameters(seen: Seen, question: Question) -> dict[str, Any]:
    return {**seen.parameters, **question.parameters()}


def _ranked(seen: Seen, question: Question, compared: Compared) -> Likely:
    worded = seen.worded
    if worded is None or worded.listed is not compared.listed:
        worded = Worded.of(compared.sources, _said(seen, compared), question.weights, compared.listed)
    return most_related(compared, worded, question.weights, question.limit)


def _said(seen: Seen, compared: Compared) -> Said:
    assert seen.listed is not None and seen.said is not None
    if compared.listed is None:
        return words(compared.ids, seen.listed, seen.postings)
    return seen.said.among(compared.listed)


def way_to_compare(seen: Seen, question: Question, sizes: Sizes, cache: VectorCache, *, settled: bool) -> Way:
    """The way that suits a bucket.

    Args:
        seen: what was seen of it.
        question: what is asked, with its vector.
        sizes: what is known of buckets' sizes.
        cache: the vectors that are kept.
        settled: whether memories may have had their vectors since the look.
    """
    if seen.listed is None:
        return BySigns(seen, question, sizes)
    listing = Listing.of(seen.listed)
    if settled:
        listing = replace(listing, bare=b"")
    kept = cache.of(seen.key, question.vector)
    lacking = kept.lacking(listing, question.vector)
    if len(lacking) > FEW:
        return ByPostgres(seen, question)
    return ByKeptVectors(seen, question, listing, cache, kept, lacking)


async def best_at_hand(ways: Sequence[Way]) -> dict[UUID, Sequence[Row]]:
    """The best memories, best first, of the buckets of which nothing is left to be asked, by the buckets' ids."""
    best = {way.seen.id: await way.best_at_hand() for way in ways if isinstance(way, ByKeptVectors)}
    return {bucket: rows for bucket, rows in best.items() if rows is not None}


async def ask(transaction: Transaction, ways: Sequence[Way], question: Question) -> list[AsyncCursor[Row]]:
    """Queue the question to each bucket, in the way that was chosen.

    Returns:
        The best memories of each, best first, under way.
    """
    for way in ways:
        await way.begin(transaction)
    return [
        await transaction.send(
            "recall.best", **_parameters(way.seen, question), **(await way.likely(transaction)).parameters()
        )
        for way in ways
    ]


async def ask_for_newest(transaction: Transaction, bucket: Bucket, question: Question) -> AsyncCursor[Row]:
    """Queue the question that asks nothing: recency and type alone decide."""
    return await transaction.send("recall.newest", **bucket.parameters(), **question.parameters())


@retried
async def keep_vectors(database: Database, caller: Caller, cache: VectorCache, seen: Seen, question: Question) -> None:
    """Read the vectors of a bucket that is likely to be asked again, if there is room for them."""
    vector = question.vector
    if vector is None or seen.listed is None or not cache.takes(seen.key, seen.listed["documents"], len(vector)):
        return
    if not len(cache.of(seen.key, vector).lacking(Listing.of(seen.listed), vector)):
        return  # somebody else did meanwhile
    with cache.filling(seen.key):
        async with database.tenant(caller, keep_plans=True, read_only=True) as transaction:
            read = await transaction.send_for_bytes(
                "recall.vectors", **seen.parameters, model=question.model, dimensions=len(vector)
            )
        (row,) = await read.fetchall()
        loaded = await asyncio.to_thread(Loaded.of, row, len(vector))
        cache.add(cache.of(seen.key, vector), loaded)
