"""Memories by the hundred thousand, written past the door: by COPY, as the door would have left them.

The vectors are cheap: `POOL` texts are embedded by the real model, and a memory that varies one of these texts, four
words in ten, gets its vector with noise. Words and meaning so belong together as they do in life, and no two vectors
are alike where recall is measured. What fills up a firm beside it varies the texts and shares their vectors.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

import numpy as np
import psycopg

from benchmarks.latency.firm import PER_SOURCE
from benchmarks.latency.texts import Slots, memory, slots, varied
from north.connectors.embeddings import Vector
from north.memory.backend import Backend
from north.memory.terms import terms
from north.memory.text import content_key
from north.model import new_id

POOL = 2_000
NOISE = 0.03
"""The standard deviation of each number: a variation's vector ends up with a cosine of 0.86 to its text's."""
AT_ONCE = 20_000

MEMORIES = """copy agent_memory_candidate (organization_id, id, scope, type, target_user_id, target_matter_id, content,
    content_key, length, status, confidence, origin, source_label, captured_by, embedding,
    embedding_model) from stdin"""
TERMS = """copy memory_term (organization_id, bucket, term, memory_id, tf, length, scope, target_user_id) from stdin"""


@dataclass(frozen=True, slots=True)
class Place:
    """A bucket: of a matter, or a lawyer's own."""

    organization_id: UUID
    captured_by: UUID
    matter_id: UUID | None = None


class Pool:
    """Texts with their vectors, and endless variations of both."""

    def __init__(self, known: list[Slots], vectors: list[Vector], model: str, seed: int) -> None:
        self.model = model
        self._known, self._vectors = known, np.array(vectors)
        self._plain = [vector_text(vector) for vector in vectors]
        self._draw, self._noise = random.Random(seed), np.random.default_rng(seed)
        self._number = len(known)

    def varied(self, *, own_vectors: bool) -> Iterator[tuple[str, str]]:
        """Memories without end: a text that was in no other, and its vector as Postgres reads it."""
        while True:
            at = self._draw.randrange(len(self._known))
            self._number += 1
            text = memory(varied(self._known[at], self._draw), self._number, self._draw)
            yield text, self._near(at) if own_vectors else self._plain[at]

    def _near(self, at: int) -> str:
        vector = self._vectors[at] + self._noise.normal(0, NOISE, self._vectors.shape[1])
        return vector_text((vector / np.linalg.norm(vector)).astype(np.float32))


def vector_text(vector: Vector) -> str:
    """A vector as a COPY reads it, such as `[0.1234,-0.05678]`, with the eleven bits of each number that are kept."""
    return ("[" + ",".join(["%.4g"] * len(vector)) + "]") % tuple(vector.tolist())


async def make_pool(backend: Backend, seed: int) -> Pool:
    """Embed the texts that all others are variations of; takes ten seconds."""
    known, draw = list(islice(slots(seed), POOL)), random.Random(seed)
    vectors = await backend.embedder.embed([memory(each, number, draw) for number, each in enumerate(known, 1)])
    return Pool(known, vectors, backend.embedder.name, seed)


def pour(url: str, pool: Pool, places: list[tuple[Place, int]], *, own_vectors: bool) -> int:
    """Write so many live memories into each place; they come in turns, as in life, and not one bucket after another.

    Args:
        url: the database, as its superuser: what COPY brings is not checked against the walls or foreign keys.
        pool: where texts and vectors come from.
        places: buckets, and how many memories each gets.
        own_vectors: whether each memory gets a vector of its own.

    Returns:
        How many were written.
    """
    order = np.repeat(np.arange(len(places)), [count for _, count in places])
    np.random.default_rng(len(order)).shuffle(order)
    texts, seen = pool.varied(own_vectors=own_vectors), Counter[int]()
    with psycopg.connect(url) as connection:
        connection.execute("set session_replication_role = replica")
        for start in range(0, len(order), AT_ONCE):
            rows = [_row(places[at][0], seen, int(at), *next(texts)) for at in order[start : start + AT_ONCE]]
            _copy(connection, rows, pool.model)
            connection.commit()
    return len(order)


@dataclass(frozen=True, slots=True)
class _Row:
    place: Place
    id: UUID
    text: str
    terms: list[str]
    vector: str
    source: str


def _row(place: Place, seen: Counter[int], at: int, text: str, vector: str) -> _Row:
    seen[at] += 1
    return _Row(place, new_id(), text, terms(text), vector, f"source {at} {seen[at] // PER_SOURCE}")


def _copy(connection: psycopg.Connection[tuple[object, ...]], rows: list[_Row], model: str) -> None:
    with connection.cursor() as cursor:
        with cursor.copy(MEMORIES) as copy:
            for row in rows:
                place = row.place
                scope, owner = ("matter", None) if place.matter_id else ("user_private", place.captured_by)
                copy.write_row(
                    (place.organization_id, row.id, scope, "fact", owner, place.matter_id, row.text,
                     content_key(row.text), len(row.terms), "active", "high", "api", row.source, place.captured_by,
                     row.vector, model)
                )  # fmt: skip
        with cursor.copy(TERMS) as copy:
            for row in rows:
                place, length = row.place, len(row.terms)
                scope, owner = ("matter", None) if place.matter_id else ("user_private", place.captured_by)
                bucket = place.matter_id or place.captured_by
                for term, count in Counter(row.terms).items():
                    copy.write_row((place.organization_id, bucket, term, row.id, count, length, scope, owner))
