"""A question, and the buckets that it is put to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from north.connectors.embeddings import Vector
from north.memory.dates import dates_in
from north.memory.matters import id_in
from north.memory.ranking import RECENCY_HALF_LIFE_DAYS, STANDING_TYPES, Weights
from north.memory.terms import query_terms
from north.model import Caller


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, as the scoring reads it; without terms and vector, recency and type alone decide.

    Which times it names, `dates` has (`north.memory.dates`).
    """

    terms: Sequence[str]
    model: str
    weights: Weights
    limit: int
    vector: Vector | None = None
    dates: Mapping[str, str] = field(default_factory=dict)

    @property
    def blank(self) -> bool:
        """Whether nothing is asked."""
        return not self.terms and self.vector is None

    def parameters(self) -> dict[str, Any]:
        """The parameters of the statements in `recall.sql`."""
        return {
            **asdict(self.weights),
            "terms": self.terms,
            "dated": list(self.dates),
            "times": list(self.dates.values()),
            "vector": self.vector,
            "model": self.model,
            "half_life": RECENCY_HALF_LIFE_DAYS,
            "standing": list(STANDING_TYPES),
            "limit": self.limit,
        }


def make_question(query: str, model: str, weights: Weights, limit: int) -> Question:
    """The question that a query is, without its vector."""
    dates = dates_in(query, datetime.now(UTC).date()) if weights.dates else {}
    return Question(query_terms(query), model, weights, limit, dates=dates)


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
