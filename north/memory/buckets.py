"""Asking one bucket which of its memories answer a question best, in the way that its size calls for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor

from north.connectors.embeddings import Vector
from north.db.connect import Row, Transaction
from north.memory.matters import id_in
from north.memory.ranking import RECENCY_HALF_LIFE_DAYS, STANDING_TYPES, Weights
from north.memory.scoring import most_related
from north.memory.sifting import FIRST_PASS, FirstPass, SecondPass
from north.memory.sizes import Size, Sizes
from north.memory.terms import query_terms
from north.model import Caller


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, as the scoring reads it; without terms and vector, recency and type alone decide."""

    terms: Sequence[str]
    vector: Vector | None
    model: str
    weights: Weights
    limit: int

    @property
    def blank(self) -> bool:
        """Whether nothing is asked."""
        return not self.terms and self.vector is None

    def parameters(self) -> dict[str, Any]:
        """The parameters of the statements in `recall.sql`."""
        return {
            **asdict(self.weights),
            "terms": self.terms,
            "vector": self.vector,
            "model": self.model,
            "half_life": RECENCY_HALF_LIFE_DAYS,
            "standing": list(STANDING_TYPES),
            "limit": self.limit,
        }


def make_question(query: str, vector: Vector | None, model: str, weights: Weights, limit: int) -> Question:
    """The question that a query is."""
    return Question(query_terms(query), vector, model, weights, limit)


@dataclass(frozen=True, slots=True)
class Bucket:
    """A lawyer's own bucket, or that of a matter, by its number or id.

    Two kinds and only two. A kind for firm-wide memory would re-open the question of who signs off what every lawyer's
    assistant is told.
    """

    organization_id: UUID
    owner_id: UUID
    matter: str | None

    def parameters(self) -> dict[str, Any]:
        """Which bucket, for the statements in `recall.sql`."""
        return {
            "owner_id": self.owner_id,
            "bucket": None if self.matter else self.owner_id,
            "matter": self.matter,
            "matter_id": id_in(self.matter) if self.matter else None,
        }


def own_bucket(caller: Caller) -> Bucket:
    """The caller's own memory."""
    return Bucket(caller.organization_id, caller.user_id, None)


def matter_bucket(caller: Caller, matter: str) -> Bucket:
    """The memory of a matter, which is the firm's."""
    return Bucket(caller.organization_id, caller.organization_id, matter)


@dataclass(frozen=True, slots=True)
class Answer:
    """The best memories, under way."""

    bucket: Bucket
    best: AsyncCursor[Row]

    async def rows(self, sizes: Sizes) -> list[Row]:
        """The best memories, best first; the bucket's size is remembered for the next question."""
        rows = await self.best.fetchall()
        if rows and "documents" in rows[0]:
            sizes.note(self.bucket, rows[0]["documents"])
        return rows


@dataclass(frozen=True, slots=True)
class FirstStep:
    """What a question is compared with, under way: all vectors of a bucket, or of a large one all sketches."""

    bucket: Bucket
    large: bool
    rows: AsyncCursor[Row]
    postings: AsyncCursor[Row]


async def ask(transaction: Transaction, sizes: Sizes, buckets: Sequence[Bucket], question: Question) -> list[Answer]:
    """Queue the question to each bucket, in the way that its size calls for.

    No round trip for those that one statement ranks; one for all others together, and two more for each large one.
    """
    begun = [await _begin(transaction, bucket, sizes.of(bucket), question) for bucket in buckets]
    return [await _end(transaction, sizes, each, question) if isinstance(each, FirstStep) else each for each in begun]


async def _begin(transaction: Transaction, bucket: Bucket, size: Size, question: Question) -> Answer | FirstStep:
    parameters = {**bucket.parameters(), **question.parameters()}
    if question.blank:
        return Answer(bucket, await transaction.send("recall.newest", **parameters))
    if size.small:
        return Answer(bucket, await transaction.send("recall.bucket", **parameters))
    parameters |= FIRST_PASS if size.large else {"most_postings": None}
    return FirstStep(
        bucket,
        size.large,
        await transaction.send_for_bytes("recall.sketched" if size.large else "recall.compared", **parameters),
        await transaction.send_for_bytes("recall.postings", **parameters),
    )


async def _end(transaction: Transaction, sizes: Sizes, step: FirstStep, question: Question) -> Answer:
    parameters = {**step.bucket.parameters(), **question.parameters()}
    (row,), postings = await step.rows.fetchall(), await step.postings.fetchall()
    sizes.note(step.bucket, row["documents"])
    if step.large:
        first_pass = FirstPass(row, postings, question.weights)
        found = await SecondPass(transaction, parameters, first_pass).most_related(question.limit)
    else:
        found = most_related(row, postings, question.weights, question.limit)
    return Answer(step.bucket, await transaction.send("recall.best", **parameters, **asdict(found)))
