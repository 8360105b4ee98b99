"""Asking one bucket which of its memories answer a question best, in the way that its size calls for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor

from north.db.connect import Row, Transaction
from north.memory.matters import id_in
from north.memory.ranking import RECENCY_HALF_LIFE_DAYS, STANDING_TYPES, Weights
from north.memory.sizes import Size, Sizes
from north.memory.terms import query_terms
from north.model import Caller


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, as the scoring reads it; without terms and vector, recency and type alone decide."""

    terms: Sequence[str]
    vector: str | None
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


def make_question(query: str, vector: str | None, model: str, weights: Weights, limit: int) -> Question:
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
    """Answers that are under way: the best memories, and how large the bucket is, where that is counted apart."""

    bucket: Bucket
    best: AsyncCursor[Row]
    size: AsyncCursor[Row] | None
    counted: bool

    async def rows(self, sizes: Sizes) -> list[Row]:
        """The best memories, best first; the bucket's size is remembered for the next question."""
        rows = await self.best.fetchall()
        if self.size is not None:
            sizes.note(self.bucket, await self.size.fetchone())
        elif self.counted and rows:
            sizes.note(self.bucket, rows[0])
        return rows


async def ask(transaction: Transaction, sizes: Sizes, bucket: Bucket, question: Question) -> Answer:
    """Queue the question to one bucket; no round trip."""
    parameters = bucket.parameters()
    known = sizes.of(bucket)
    if question.blank:
        best = await transaction.send("recall.newest", **parameters, **question.parameters())
        return Answer(bucket, best, None, counted=False)
    if not known.large:
        best = await transaction.send("recall.bucket", **parameters, **question.parameters())
        return Answer(bucket, best, None, counted=True)
    best = await transaction.send(
        "recall.large_bucket", **parameters, **question.parameters(), documents=known.documents, mean=known.mean
    )
    return Answer(bucket, best, await _count(transaction, bucket, known), counted=False)


async def _count(transaction: Transaction, bucket: Bucket, known: Size) -> AsyncCursor[Row] | None:
    return await transaction.send("recall.size", **bucket.parameters()) if known.stale else None
