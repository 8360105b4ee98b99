"""The vectors that a process keeps: they spare Postgres the comparing, and never show what Postgres did not list."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st

from north.connectors.embeddings import NoEmbedder
from north.errors import DatabaseUnavailable, EmbedderUnavailable
from north.memory import both_buckets, comparing
from north.memory.backend import Backend
from north.memory.edit import archive, edit
from north.memory.looking import Seen
from north.memory.recall import recall
from north.memory.vector_cache import BucketVectors, Listing, Loaded, VectorCache, bytes_each
from north.model import Caller
from tests.conftest import FirmOfTest
from tests.memory.asking import Asked
from tests.memory.remembering import on_matter, personal, remember

pytestmark = pytest.mark.usefixtures("new_vectors_are_awaited")

DIMENSIONS = 3


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    return Asked(monkeypatch, but=("listed", "postings", "whole", "uses_of_whole", "best"))


@pytest.fixture
def _none_is_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "FEW", 0)


async def texts(backend: Backend, caller: Caller, query: str, matter: str | None = None) -> set[str]:
    found = await recall(backend, caller, query, matter)
    assert all(hit.cosine is not None for hit in (*found.personal, *found.matter)), "each was compared by its meaning"
    return {memory.content for memory in found.memories}


class TestABucket:
    async def test_is_compared_by_postgres_first_and_its_vectors_are_kept_for_the_next_time(
        self, backend: Backend, firm: FirmOfTest, asked: Asked, _none_is_few: None
    ) -> None:
        await remember(backend, firm.a, personal("I cite in Bluebook form."))
        await remember(backend, firm.a, on_matter("The client is a Delaware LLC."))
        expected = {"I cite in Bluebook form.", "The client is a Delaware LLC."}
        assert await texts(backend, firm.a, "How do I quote?", "HV-1001") == expected
        assert asked.taken() == ["compared", "compared", "vectors", "vectors"]
        assert await texts(backend, firm.a, "Who asked us?", "HV-1001") == expected
        assert await texts(backend, firm.a, "Who asked us?", str(firm.matter.id)) == expected
        assert asked.taken() == []

    async def test_is_read_once_by_two_who_ask_at_the_same_moment(
        self, backend: Backend, firm: FirmOfTest, asked: Asked, _none_is_few: None
    ) -> None:
        await remember(backend, firm.a, on_matter("The client is a Delaware LLC."))
        both = (texts(backend, caller, "Who asked us?", "HV-1001") for caller in (firm.a, firm.b))
        assert await asyncio.gather(*both) == [{"The client is a Delaware LLC."}] * 2
        assert asked.taken().count("vectors") == 1

    async def test_whose_newest_memory_had_no_vector_when_it_was_listed_is_compared_with_all_of_them(
        self, backend: Backend, firm: FirmOfTest
    ) -> None:
        """A recall lists the bucket first and waits for what was saved a moment before."""
        for text in ("I cite in Bluebook form.", "I take my coffee black.", "My assistant is Ms Ito."):
            await remember(backend, firm.a, personal(text))
            assert backend.backlog.holds(firm.a.organization_id)
            assert text in await texts(backend, firm.a, "How do I quote?")

    async def test_of_which_little_is_new_is_read_no_further_than_that(
        self, backend: Backend, firm: FirmOfTest, asked: Asked
    ) -> None:
        await remember(backend, firm.a, personal("I cite in Bluebook form."))
        await texts(backend, firm.a, "How do I quote?")
        assert asked.taken() == ["vectors_of"]
        await remember(backend, firm.a, personal("I take my coffee black."))
        assert await texts(backend, firm.a, "How do I quote?") == {
            "I cite in Bluebook form.",
            "I take my coffee black.",
        }
        assert asked.taken() == ["vectors_of"]
        await texts(backend, firm.a, "What do I drink?")
        assert asked.taken() == []

    async def test_is_compared_by_postgres_each_time_where_nothing_may_be_kept(
        self, backend: Backend, firm: FirmOfTest, asked: Asked, _none_is_few: None
    ) -> None:
        keeping_none = replace(backend, vector_cache=VectorCache(0))
        await remember(backend, firm.a, personal("I cite in Bluebook form."))
        for _ in range(2):
            assert await texts(keeping_none, firm.a, "How do I quote?") == {"I cite in Bluebook form."}
            assert asked.taken() == ["compared"]

    async def test_is_found_by_words_while_the_embedder_is_away_and_nothing_is_forgotten(
        self, backend: Backend, firm: FirmOfTest, asked: Asked
    ) -> None:
        class Away(NoEmbedder):
            name, available = backend.embedder.name, True

            async def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Any]:
                raise EmbedderUnavailable(reason="it is away.")

        await remember(backend, firm.a, personal("I cite in Bluebook form."))
        await texts(backend, firm.a, "How do I quote?")
        (hit,) = (await recall(replace(backend, embedder=Away()), firm.a, "bluebook")).personal
        assert (hit.memory.content, hit.cosine) == ("I cite in Bluebook form.", None)
        asked.taken()
        await texts(backend, firm.a, "How do I quote?")
        assert asked.taken() == []

    async def test_is_answered_all_the_same_when_its_vectors_cannot_be_kept(
        self, backend: Backend, firm: FirmOfTest, monkeypatch: pytest.MonkeyPatch, _none_is_few: None
    ) -> None:
        async def fail(*_: object) -> None:
            raise DatabaseUnavailable

        monkeypatch.setattr(both_buckets, "keep_vectors", fail)
        await remember(backend, firm.a, personal("I cite in Bluebook form."))
        with structlog.testing.capture_logs() as logs:
            assert await texts(backend, firm.a, "How do I quote?") == {"I cite in Bluebook form."}
        (line,) = [line for line in logs if line["event"] == "vectors_not_kept"]
        assert line["code"] == "database_unavailable" and "Bluebook" not in str(line)


class TestWhatIsKept:
    async def test_of_a_deleted_memory_brings_it_back_to_nobody(self, backend: Backend, firm: FirmOfTest) -> None:
        memory = await remember(backend, firm.a, on_matter("The client is a Delaware LLC."))
        await remember(backend, firm.a, on_matter("The hearing is in May."))
        for caller in (firm.a, firm.b):
            assert len(await texts(backend, caller, "Who asked us?", "HV-1001")) == 2
        await archive(backend, firm.a, memory.id)
        for caller in (firm.a, firm.b):
            assert await texts(backend, caller, "Who asked us?", "HV-1001") == {"The hearing is in May."}

    async def test_of_an_edited_memory_is_of_its_new_text(self, backend: Backend, firm: FirmOfTest) -> None:
        memory = await remember(backend, firm.a, personal("I take my coffee black."))
        before = (await recall(backend, firm.a, "What do I drink?")).personal[0]
        await edit(backend, firm.a, memory.id, "Hearings are in the large court room.")
        await backend.backlog.settled(firm.a.organization_id, seconds=60)
        (after,) = (await recall(backend, firm.a, "What do I drink?")).personal
        assert after.memory.content == "Hearings are in the large court room."
        assert before.cosine and after.cosine and after.cosine < before.cosine - 0.2

    async def test_helps_nobody_past_the_walls_even_if_all_buckets_were_taken_for_one(
        self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Seen, "key", "one for everybody")
        everyone = [(firm.a, "Ana's"), (firm.b, "Ben's"), (rival.a, "the rival's")]
        for caller, whose in everyone:
            await remember(backend, caller, personal(f"The secret is {whose}."))
        for caller, whose in everyone * 2:
            assert await texts(backend, caller, "What is the secret?") == {f"The secret is {whose}."}


ids = st.integers(1, 30)
subsets = st.lists(ids, unique=True, max_size=20)


def listing_of(numbers: Sequence[int], bare: Sequence[int]) -> Listing:
    held = [b"".join(UUID(int=number).bytes for number in those) for those in (numbers, bare)]
    return Listing(*held)


def loaded_of(numbers: Sequence[int], bare: Sequence[int]) -> Loaded:
    """As Postgres sends them: the vector of each is its number, its square and one; seven are of one source."""
    have = [number not in bare for number in numbers]
    head = np.array([DIMENSIONS, 0], ">i2").tobytes()
    row = {
        "ids": b"".join(UUID(int=number).bytes for number in numbers),
        "sources": b"".join(UUID(int=number // 7).bytes for number in numbers),
        "have": bytes(have),
        "vectors": b"".join(
            head + np.array([number, number**2, 1], ">f2").tobytes() for number in numbers if number not in bare
        ),
    }
    return Loaded.of(row, DIMENSIONS)


def numbers_in(column: Any) -> list[int]:
    return [int(each["high"]) << 64 | int(each["low"]) for each in column]


@settings(max_examples=200, deadline=None)
@given(steps=st.lists(st.tuples(subsets, subsets), min_size=1, max_size=8))
def test_compares_what_is_listed_and_asks_for_what_it_lacks(steps: list[tuple[list[int], list[int]]]) -> None:
    kept = BucketVectors("bucket", DIMENSIONS)
    vector = np.array([1, -1, 2], np.float32)
    with_vector: set[int] = set()
    for numbers, without in steps:
        bare = [number for number in without if number in numbers and number not in with_vector]
        listing = listing_of(numbers, bare)
        lacking = numbers_in(kept.lacking(listing, vector))
        assert len(set(lacking)) == len(lacking) and set(lacking) <= set(numbers)
        kept.add(loaded_of(lacking, bare))
        with_vector |= set(numbers) - set(bare)
        assert len(kept.lacking(listing, vector)) == 0
        compared = kept.compared(listing, vector)
        assert numbers_in(compared.ids) == sorted(numbers, key=lambda number: (number // 7, number))
        assert numbers_in(compared.sources) == [number // 7 for number in numbers_in(compared.ids)]
        for number, cosine in zip(numbers_in(compared.ids), compared.cosines.tolist(), strict=True):
            assert np.isnan(cosine) if number in bare else cosine == number - number**2 + 2


def test_a_vector_is_kept_when_somebody_who_read_before_it_was_there_comes_after() -> None:
    kept, vector = BucketVectors("bucket", DIMENSIONS), np.array([1, -1, 2], np.float32)
    kept.add(loaded_of([1, 2, 3], []))
    kept.add(loaded_of([2, 3, 4], [2, 4]))
    cosines = kept.compared(listing_of([1, 2, 3, 4], []), vector).cosines
    np.testing.assert_array_equal(cosines, [2, 0, -4, np.nan])


def test_says_where_each_stands_in_the_list_whose_others_it_does_not_know() -> None:
    kept = BucketVectors("bucket", DIMENSIONS)
    kept.add(loaded_of([2, 9, 4], []))
    compared = kept.compared(listing_of([30, 9, 31, 4, 2], []), None)
    assert numbers_in(compared.ids) == [2, 4, 9]
    assert compared.listed is not None and compared.listed.tolist() == [4, 3, 1]


def test_lets_go_of_memories_that_are_gone() -> None:
    kept = BucketVectors("bucket", DIMENSIONS)
    for start in range(1, 10_000, 100):
        numbers = range(start, start + 100)
        listing = listing_of(numbers, numbers)
        kept.add(loaded_of(numbers, numbers))
        assert len(kept.compared(listing, np.ones(DIMENSIONS, np.float32)).ids) == 100
    assert kept.bytes <= 400 * bytes_each(DIMENSIONS)


class TestTheLimit:
    def test_is_kept_by_letting_go_of_what_was_not_asked_for_longest(self) -> None:
        cache, vector = VectorCache(1), np.ones(DIMENSIONS, np.float32)
        size = 2**20 // bytes_each(DIMENSIONS) // 2
        for bucket in ("first", "second"):
            cache.add(cache.of(bucket, vector), loaded_of(range(1, size), range(1, size)))
        first = cache.of("first", vector)
        cache.add(cache.of("third", vector), loaded_of(range(1, size), range(1, size)))
        assert cache.of("first", vector) is first
        assert cache.bytes == first.bytes + cache.of("third", vector).bytes <= 2**20
        assert first.bytes and cache.of("third", vector).bytes
        assert not cache.of("second", vector).bytes

    def test_refuses_a_bucket_that_is_larger(self) -> None:
        cache = VectorCache(1)
        most = 2**20 // bytes_each(DIMENSIONS)
        assert cache.takes("bucket", most, DIMENSIONS) and not cache.takes("bucket", most + 1, DIMENSIONS)
        assert not VectorCache(0).takes("bucket", 1, DIMENSIONS)

    def test_counts_what_was_let_go_no_longer(self) -> None:
        cache, vector = VectorCache(1), np.ones(DIMENSIONS, np.float32)
        size = 2**20 // bytes_each(DIMENSIONS) // 2
        for length in (DIMENSIONS, DIMENSIONS + 1) * 4:  # each time of a model with other vectors
            kept = cache.of("changing", np.ones(length, np.float32))
            assert kept.dimensions == length and not kept.bytes
        for number in range(20):
            cache.add(cache.of(number, vector), loaded_of(range(1, size), range(1, size)))
        assert cache.of(19, vector).bytes and cache.of(18, vector).bytes and not cache.of(17, vector).bytes
