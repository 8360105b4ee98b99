"""The vectors of the buckets that were recalled last, kept in this process so that they need not be read anew.

A vector is used beside an id that Postgres has listed, through the walls, for the question that is being answered, and
for nothing else: what a caller may not see is not among the ids, so it is not compared either. No text is kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from north.connectors.embeddings import Vector
from north.db.connect import Row
from north.memory.scoring import ID, Compared, Ids, Places, ids_in, places

BUCKETS = 10_000
"""The most buckets of which anything is kept, however small they are."""
HEADER = 2
"""What a vector begins with as Postgres sends it, in numbers of two bytes."""
HALVES = np.frombuffer(np.arange(2**16, dtype=np.uint16).tobytes(), ">f2").astype(np.float32)
"""Each number of two bytes that Postgres can send, by what this machine takes the bytes for. To look it up takes half
as long as to work it out."""
SPARE = 1.25
"""By how much the room for a bucket's vectors grows when it is full: a memory more does not move all of them."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The live memories of a bucket, as Postgres listed them.

    Args:
        ids: theirs, one after the other.
        bare: the ids of those that have no vector yet.
    """

    ids: bytes
    bare: bytes

    @classmethod
    def of(cls, row: Row) -> Listing:
        """From the row of `recall.listed`."""
        return cls(row["ids"] or b"", row["bare"] or b"")


@dataclass(frozen=True, slots=True)
class Loaded:
    """Memories as `recall.vectors` sends them: ids, sources and vectors; whoever does not `have` one has zeros."""

    ids: Ids
    sources: Ids
    have: npt.NDArray[np.bool_]
    vectors: npt.NDArray[np.float32]

    @classmethod
    def of(cls, row: Row, dimensions: int) -> Loaded:
        """Read the columns; for thousands of memories this takes milliseconds.

        Args:
            row: of `recall.vectors` or `recall.vectors_of`.
            dimensions: how many numbers each vector has.
        """
        have = np.frombuffer(row["have"] or b"", np.bool_)
        sent = np.frombuffer(row["vectors"] or b"", np.uint16).reshape(-1, HEADER + dimensions)
        vectors = HALVES.take(sent[:, HEADER:])
        if not have.all():
            sparse = np.zeros((len(have), dimensions), np.float32)
            sparse[have] = vectors
            vectors = sparse
        return cls(ids_in(row["ids"]), ids_in(row["sources"]), have, vectors)


@dataclass(frozen=True, slots=True)
class Order:
    """The order of source and id: where a listing's memories stand in it and here, and of whom more is needed."""

    listing: Listing
    with_vectors: bool
    ids: Ids
    sources: Ids
    listed: Places
    at: Places
    lacking: Ids


def bytes_each(dimensions: int) -> int:
    """How many bytes a vector of so many numbers takes, with its id, its source and its place in order."""
    return 2 * ID.itemsize + 1 + 4 * dimensions + 3 * ID.itemsize + 8


class BucketVectors:
    """What is kept of one bucket: its memories' ids, sources and vectors, among them some of memories that are gone.

    Args:
        bucket: which.
        dimensions: how many numbers each vector has.

    Attributes:
        counted: how many of its bytes the cache has counted.
    """

    def __init__(self, bucket: Hashable, dimensions: int) -> None:
        self.bucket = bucket
        self.dimensions = dimensions
        self.counted = 0
        self._count = 0
        self._ids: Ids = np.empty(0, ID)
        self._sources: Ids = np.empty(0, ID)
        self._have = np.empty(0, np.bool_)
        self._vectors = np.empty((0, dimensions), np.float32)
        self._order: Order | None = None

    @property
    def bytes(self) -> int:
        """How much memory it takes."""
        return len(self._ids) * bytes_each(self.dimensions)

    def lacking(self, listing: Listing, vector: Vector | None) -> Ids:
        """The listed memories of which too little is known here to compare them with a question of this vector."""
        return self._ordered(listing, vector is not None).lacking

    def order_of(self, listing: Listing) -> Order | None:
        """The order in which these very memories were last compared with a question that had a vector."""
        order = self._order
        return order if order is not None and order.with_vectors and order.listing == listing else None

    def add(self, loaded: Loaded) -> None:
        """Keep more memories, or the vectors of some that had none."""
        self._order = None
        if not self._count:
            self._ids, self._sources, self._have = loaded.ids.copy(), loaded.sources.copy(), loaded.have.copy()
            self._vectors, self._count = loaded.vectors, len(loaded.ids)
            return
        at = self._places(loaded.ids)
        new = at < 0
        at[new] = self._count + np.arange(new.sum())
        self._make_room(self._count + int(new.sum()))
        self._count += int(new.sum())
        self._ids[at], self._sources[at] = loaded.ids, loaded.sources
        self._have[at] |= loaded.have
        self._vectors[at[loaded.have]] = loaded.vectors[loaded.have]

    def compared(self, listing: Listing, vector: Vector | None) -> Compared:
        """How close the listed memories are to a question. Those of which nothing is known are left out.

        Args:
            listing: the live memories.
            vector: the question's, with as many numbers as these have; None when it has none.
        """
        order = self._ordered(listing, vector is not None)
        cosines = np.full(self._count, np.nan)
        if vector is not None:
            asked = vector.astype(np.float16).astype(np.float32)  # rounded as Postgres rounds it
            # Not `@`, which shares the work among threads that then wait for one another.
            products = np.vecdot(self._vectors[: self._count], asked)
            np.copyto(cosines, products, where=self._have[: self._count])
        return Compared(order.ids, order.sources, cosines[order.at], order.listed)

    def _ordered(self, listing: Listing, with_vectors: bool) -> Order:
        order = self._order
        if order is None or order.listing != listing or order.with_vectors != with_vectors:
            order = self._order = self._put_in_order(listing, with_vectors)
        return order

    def _put_in_order(self, listing: Listing, with_vectors: bool) -> Order:
        listed = ids_in(listing.ids)
        at = self._places(listed)
        known = at >= 0
        stands = np.flatnonzero(known)
        ids, at = listed[stands], at[stands]
        if self._count > 2 * len(at):
            self._keep(at)
            at = np.arange(len(at))
        if with_vectors:
            known[known] = self._have[at] | (places(ids_in(listing.bare), ids) >= 0)
        sources = self._sources[at]
        order = np.lexsort((ids["low"], ids["high"], sources["low"], sources["high"]))
        return Order(listing, with_vectors, ids[order], sources[order], stands[order], at[order], listed[~known])

    def _places(self, ids: Ids) -> Places:
        return places(self._ids[: self._count], ids)

    def _make_room(self, count: int) -> None:
        if count <= len(self._ids):
            return
        room = int(count * SPARE)

        def moved(kept: npt.NDArray[Any]) -> npt.NDArray[Any]:
            larger = np.zeros((room, *kept.shape[1:]), kept.dtype)
            larger[: self._count] = kept[: self._count]
            return larger

        self._ids, self._sources, self._have, self._vectors = map(
            moved, (self._ids, self._sources, self._have, self._vectors)
        )

    def _keep(self, at: Places) -> None:
        """Let go of all others."""
        self._ids, self._sources, self._have, self._vectors = (
            self._ids[at],
            self._sources[at],
            self._have[at],
            self._vectors[at],
        )
        self._count = len(at)


class VectorCache:
    """The vectors of the buckets that were recalled last, within a limit of memory; `bytes` of it are in use.

    Args:
        megabytes: the limit, in MiB; with 0 nothing is kept.
    """

    def __init__(self, megabytes: int) -> None:
        self._most = megabytes * 2**20
        self.bytes = 0
        self._buckets: OrderedDict[Hashable, BucketVectors] = OrderedDict()
        self._filling: set[Hashable] = set()

    def of(self, bucket: Hashable, vector: Vector | None) -> BucketVectors:
        """What is kept of a bucket, with vectors as long as the question's."""
        kept = self._buckets.get(bucket)
        if kept is None or (vector is not None and kept.dimensions != len(vector)):
            self._forget(bucket)
            kept = self._buckets[bucket] = BucketVectors(bucket, 0 if vector is None else len(vector))
            self._make_room()
        else:
            self._buckets.move_to_end(bucket)
        return kept

    def order_of(self, bucket: Hashable, listing: Listing) -> Order | None:
        """The order in which the listed memories of a bucket will be compared; None when that is not known yet."""
        kept = self._buckets.get(bucket)
        return kept.order_of(listing) if kept is not None else None

    def add(self, kept: BucketVectors, loaded: Loaded) -> None:
        """Keep more of a bucket. What was not asked for longest has to go."""
        kept.add(loaded)
        if self._buckets.get(kept.bucket) is kept:
            self.bytes += kept.bytes - kept.counted
            kept.counted = kept.bytes
            self._make_room()

    def takes(self, bucket: Hashable, memories: float, dimensions: int) -> bool:
        """Whether there is room for a bucket's vectors, once others are gone, and nobody is filling it already."""
        return bucket not in self._filling and memories * bytes_each(dimensions) <= self._most

    @contextmanager
    def filling(self, bucket: Hashable) -> Iterator[None]:
        """While somebody reads a bucket's vectors."""
        self._filling.add(bucket)
        try:
            yield
        finally:
            self._filling.remove(bucket)

    def _make_room(self) -> None:
        while self._buckets and (self.bytes > self._most or len(self._buckets) > BUCKETS):
            self._forget(next(iter(self._buckets)))

    def _forget(self, bucket: Hashable) -> None:
        kept = self._buckets.pop(bucket, None)
        if kept is not None:
            self.bytes -= kept.counted
