"""How well a memory answers a query. Pure.

The score is the sum of four terms:

- words: BM25, divided by the bucket's highest, in [0, 1];
- meaning: cosine, min-max normalised over the bucket, in [0, 1];
  both at equal weight. On the LoCoMo development conversations this weighted fusion found more of the evidence than
  either alone and than reciprocal-rank fusion (`make bench-recall` prints the figures);
- recency: newer memories win ties, since a later statement usually corrects an earlier one;
- type: standing instructions and preferences apply to most questions, facts only to some.

The last two are small: they order what is otherwise close, and never lift the unrelated over the related.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from north.model import Memory, MemoryType, Recalled

WORDS_WEIGHT = 0.5
MEANING_WEIGHT = 0.5
RECENCY_WEIGHT = 0.02
RECENCY_HALF_LIFE_DAYS = 90.0
TYPE_WEIGHT = 0.01
STANDING_TYPES = frozenset({MemoryType.INSTRUCTION, MemoryType.PREFERENCE, MemoryType.PLAYBOOK_RULE})
UNKNOWN_MEANING = 0.5
"""The meaning term of a memory whose vector is not there yet: neither near nor far."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory of a bucket with its raw scores; `cosine` is None without a vector of the memory or of the query."""

    memory: Memory
    bm25: float
    cosine: float | None


@dataclass(frozen=True, slots=True)
class Extremes:
    """The bounds of the raw scores over the whole bucket, by which they are normalised."""

    highest_bm25: float
    lowest_cosine: float | None
    highest_cosine: float | None


def rank(candidates: Iterable[Candidate], extremes: Extremes, now: datetime, limit: int) -> tuple[Recalled, ...]:
    """The `limit` best candidates with their scores, best first; of equals, the newer first."""
    scored = [Recalled(each.memory, score(each, extremes, now), each.cosine) for each in candidates]
    scored.sort(key=lambda hit: (hit.score, hit.memory.created_at, hit.memory.id), reverse=True)
    return tuple(scored[:limit])


def score(candidate: Candidate, extremes: Extremes, now: datetime) -> float:
    """The sum of the four terms."""
    return (
        WORDS_WEIGHT * _words(candidate.bm25, extremes)
        + MEANING_WEIGHT * _meaning(candidate.cosine, extremes)
        + RECENCY_WEIGHT * _recency(candidate.memory.created_at, now)
        + TYPE_WEIGHT * (candidate.memory.type in STANDING_TYPES)
    )


def _words(bm25: float, extremes: Extremes) -> float:
    return bm25 / extremes.highest_bm25 if extremes.highest_bm25 > 0 else 0.0


def _meaning(cosine: float | None, extremes: Extremes) -> float:
    low, high = extremes.lowest_cosine, extremes.highest_cosine
    if cosine is None or low is None or high is None or high <= low:
        return UNKNOWN_MEANING
    return (cosine - low) / (high - low)


def _recency(created_at: datetime, now: datetime) -> float:
    days = max((now - created_at).total_seconds() / 86_400, 0.0)
    return float(0.5 ** (days / RECENCY_HALF_LIFE_DAYS))
