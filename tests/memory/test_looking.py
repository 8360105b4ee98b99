"""Which comes first: a look that takes long, or the question's vector."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from north.connectors.embeddings import Vector
from north.db.connect import Database
from north.errors import DatabaseUnavailable
from north.memory import both_buckets
from north.memory.backend import Backend
from north.memory.both_buckets import rank_buckets
from north.memory.buckets import own_bucket
from north.memory.looking import Look, look
from north.memory.sizes import SLOW, Sizes
from tests.conftest import FirmOfTest
from tests.memory.remembering import personal, remember

SECONDS = 5.0
QUESTION = "How do I cite?"


class Noting:
    """The embedder of a backend, which notes when it is asked."""

    def __init__(self, backend: Backend, noted: list[str]) -> None:
        self._embedder, self._noted = backend.embedder, noted

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        self._noted.append("vector")
        return await self._embedder.embed(texts, query=query)


def with_bucket_of(backend: Backend, firm: FirmOfTest, documents: int) -> Backend:
    """A backend that takes the lawyer's own bucket for so large."""
    sizes = Sizes(large=documents + 1)
    sizes.note(own_bucket(firm.a), documents)
    return replace(backend, sizes=sizes)


@pytest.mark.parametrize(
    ("documents", "order"),
    [
        pytest.param(SLOW, ["vector", "look"], id="short: the vector takes longer"),
        pytest.param(SLOW + 1, ["look", "vector"], id="long: the vector's thread would hold it up"),
    ],
)
async def test_what_takes_longer_begins(
    backend: Backend, firm: FirmOfTest, documents: int, order: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[str] = []

    async def noting(*asked: Any) -> Look:
        looking = await look(*asked)
        noted.append("look")
        return looking

    monkeypatch.setattr(both_buckets, "look", noting)
    await remember(backend, firm.a, personal("I cite in Bluebook form."))
    knowing = with_bucket_of(backend, firm, documents)
    found = await rank_buckets(replace(knowing, embedder=Noting(backend, noted)), firm.a, QUESTION, None, 12)
    assert noted == order
    assert [hit.memory.content for hit in found.personal] == ["I cite in Bluebook form."]


async def test_a_long_look_that_fails_says_so(backend: Backend, firm: FirmOfTest) -> None:
    away = Database("host=127.0.0.1 port=1")
    knowing = with_bucket_of(backend, firm, SLOW + 1)
    async with asyncio.timeout(SECONDS):
        with pytest.raises(DatabaseUnavailable):
            await rank_buckets(replace(knowing, database=away), firm.a, QUESTION, None, 12)
        await asyncio.gather(*(task for task in asyncio.all_tasks() if "_vector_once" in repr(task)))
