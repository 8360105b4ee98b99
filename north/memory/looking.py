"""A look at the buckets of a question, which needs no vector and is taken while the question's is made.

It tells which memories live there, and which have the question's words; small buckets are read whole
(`north.memory.at_hand`). What the words count is worked out as well, as far as it can be known in which order the
memories will be compared (`north.memory.comparing`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor

from north.db.connect import Row, Transaction
from north.memory.at_hand import AtHand, Whole, read_whole
from north.memory.buckets import Bucket, Question
from north.memory.dates import with_dated
from north.memory.scoring import Said, Worded, ids_in, words
from north.memory.sifting import FIRST_PASS
from north.memory.sizes import Sizes
from north.memory.vector_cache import Listing, VectorCache


@dataclass(frozen=True, slots=True)
class Look:
    """A look at a lawyer's own bucket, and at a matter's beside it, under way. Large ones are not listed."""

    buckets: Sequence[Bucket]
    listed: AsyncCursor[Row]
    postings: AsyncCursor[Row]
    dated: AsyncCursor[Row] | None
    whole: Whole | None

    async def seen(self, matter_id: UUID | None, sizes: Sizes) -> list[Seen]:
        """What was seen, of the lawyer's own bucket and of this matter's; their sizes are remembered."""
        listed = {row["bucket"]: row for row in await self.listed.fetchall()}
        postings = await _by_bucket(self.postings)
        dated = await _by_bucket(self.dated)
        at_hand = self.whole.at_hand() if self.whole else None
        ids = [bucket.owner_id if bucket.matter is None else matter_id for bucket in self.buckets]
        return [
            _seen(
                bucket,
                bucket_id,
                listed.get(bucket_id),
                with_dated(postings[bucket_id], dated[bucket_id]),
                at_hand,
                sizes,
            )
            for bucket, bucket_id in zip(self.buckets, ids, strict=True)
            if bucket_id is not None
        ]


@dataclass(frozen=True, slots=True)
class Seen:
    """A bucket's live memories, as the row of `recall.listed`, and where the question's words stand in it.

    A large one is not `listed`. `said` tells which of the listed have which words, and `worded` what that counts for
    those whose vectors are kept. Small buckets are `at_hand`.
    """

    bucket: Bucket
    id: UUID
    listed: Row | None
    postings: Sequence[Row]
    said: Said | None = None
    worded: Worded | None = None
    at_hand: AtHand | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing lives there."""
        return self.listed is not None and not self.listed["documents"]

    @property
    def key(self) -> Hashable:
        """What tells this bucket from every other."""
        return self.bucket.organization_id, self.bucket.owner_id, self.id

    @property
    def parameters(self) -> dict[str, Any]:
        """Which bucket, for the statements in `recall.sql`."""
        return {"owner_id": self.bucket.owner_id, "bucket": self.id}


async def _by_bucket(rows: AsyncCursor[Row] | None) -> Mapping[UUID, Sequence[Row]]:
    buckets: defaultdict[UUID, list[Row]] = defaultdict(list)
    for row in await rows.fetchall() if rows else ():
        buckets[row["bucket"]].append(row)
    return buckets


def _seen(
    bucket: Bucket, bucket_id: UUID, row: Row | None, postings: Sequence[Row], at_hand: AtHand | None, sizes: Sizes
) -> Seen:
    if row:
        sizes.note(bucket, row["documents"])
        row = None if sizes.large(bucket) else row
    said = words(ids_in(row["ids"]), row, postings) if row else None
    return Seen(bucket, bucket_id, row, postings, said, at_hand=at_hand)


async def look(transaction: Transaction, sizes: Sizes, buckets: Sequence[Bucket], question: Question) -> Look:
    """Queue the look at a lawyer's own bucket, and at a matter's if there is one; no round trip."""
    own, last = buckets[0], buckets[-1]  # which is the matter's, if there is one
    parameters = {
        **last.parameters(),
        **question.parameters(),
        "own_large": sizes.large(own),
        "matter_large": sizes.large(last),
        "most_postings": FIRST_PASS["most_postings"],
    }
    return Look(
        buckets,
        await transaction.send_for_bytes("recall.listed", **parameters),
        await transaction.send_for_bytes("recall.postings", **parameters),
        await transaction.send_for_bytes("recall.dated", **parameters) if question.dates else None,
        await read_whole(transaction, **parameters) if sizes.small(buckets) else None,
    )


def weighed(seen: Seen, question: Question, cache: VectorCache) -> Seen:
    """The same with what the question's words count, if it is known in which order the memories will be compared."""
    if seen.listed is None or seen.said is None:
        return seen
    order = cache.order_of(seen.key, Listing.of(seen.listed))
    if order is None:
        return seen
    said = seen.said.among(order.listed)
    return replace(seen, worded=Worded.of(order.sources, said, question.weights, order.listed))
