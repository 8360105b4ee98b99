"""Which live memory an update means. It looks in the two buckets that are recalled, never in firm scope."""

from __future__ import annotations

from dataclasses import dataclass

from north.memory.backend import Backend
from north.memory.both_buckets import rank_buckets
from north.memory.recall import QUERY_LIMIT
from north.memory.terms import query_terms, terms
from north.memory.text import content_key
from north.model import Caller, Memory, Recalled

CANDIDATES = 5
"""How many memories that could be meant are named."""
CONSIDERED = 20
"""How many of each bucket are looked at: recall ranks by more than closeness, so the meant one need not come first."""
RELATED = 0.5
"""The least closeness of a memory that can be meant."""
CLEAR_LEAD = 0.15
"""How far the closest must be ahead of the next to be meant without doubt."""


@dataclass(frozen=True, slots=True)
class Match:
    """The memory that is meant; or several `candidates` that could be; or neither."""

    memory: Memory | None
    candidates: tuple[Memory, ...] = ()


async def match(backend: Backend, caller: Caller, about: str, matter: str | None) -> Match:
    """Find the live memory that `about` describes, in the lawyer's own memory and the given matter's.

    Closeness is the larger of two figures between 0 and 1: the share of the description's words that the memory
    holds, and the cosine of their vectors. The only memory of exactly these words is meant, however close others come.

    Raises:
        MatterNotFound: the firm has no such matter.
    """
    found = await rank_buckets(backend, caller, about[:QUERY_LIMIT], matter, CONSIDERED)
    key = content_key(about)
    same = [hit.memory for hit in (*found.personal, *found.matter) if content_key(hit.memory.content) == key]
    if len(same) == 1:
        return Match(same[0])
    words = set(query_terms(about))
    hits = sorted(
        ((_closeness(hit, words), hit.memory) for hit in (*found.personal, *found.matter)),
        key=lambda pair: pair[0],
        reverse=True,
    )
    related = [(closeness, memory) for closeness, memory in hits if closeness >= RELATED]
    if not related:
        return Match(None)
    if len(related) == 1 or related[0][0] - related[1][0] >= CLEAR_LEAD:
        return Match(related[0][1])
    return Match(None, tuple(memory for _, memory in related[:CANDIDATES]))


def _closeness(hit: Recalled, words: set[str]) -> float:
    held = set(terms(hit.memory.content))
    return max(len(words & held) / len(words) if words else 0.0, hit.cosine or 0.0)
