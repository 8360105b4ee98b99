"""A large bucket is searched by a first pass, and answers as if every memory had been compared."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import psycopg
import pytest

from north.memory import sifting
from north.memory.backend import Backend
from north.memory.both_buckets import rank_buckets
from north.memory.buckets import matter_bucket, own_bucket
from north.memory.edit import archive
from north.memory.save import save
from north.memory.sizes import Sizes
from north.model import Draft, MemoryType, Recalled, Scope
from tests.conftest import FirmOfTest, TestDatabase

SUBJECTS = ["the escrow", "the lien", "the merger", "the royalty", "the warranty", "the easement", "the severance"]
PLACES = ["Delaware", "Geneva", "Lisbon", "Osaka", "Nairobi", "Leeds", "Bergen"]
QUESTIONS = ("Where is the escrow settled?", "What did Osaka say about the lien?", "the merger in Geneva, no. 17")


@pytest.fixture(autouse=True)
def _a_first_pass_for_small_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sifting.FIRST_PASS, "nearest", 0.5)
    monkeypatch.setitem(sifting.FIRST_PASS, "farthest", 0.1)


@pytest.fixture
def backend(backend: Backend) -> Backend:
    """One for which a bucket is large from twenty memories on."""
    return replace(backend, sizes=Sizes(large=20))


def every_one_compared(backend: Backend) -> Backend:
    """The same, for which no bucket is large."""
    return replace(backend, sizes=Sizes())


async def filled(backend: Backend, firm: FirmOfTest, count: int = 60, on_matter: int | None = None) -> None:
    """A bucket of the lawyer's own and one of the matter, from several sources."""
    draw = random.Random(7)
    for matter, most in ((None, count), ("HV-1001", on_matter or count)):
        drafts = [
            Draft(
                f"{draw.choice(SUBJECTS)} in {draw.choice(PLACES)} is settled, no. {number}.".capitalize(),
                draw.choice([MemoryType.FACT, MemoryType.PREFERENCE]),
                Scope.MATTER if matter else Scope.USER_PRIVATE,
                matter,
                source_label=f"call {number // 7}",
            )
            for number in range(most)
        ]
        await save(backend, firm.a, drafts)
    await backend.backlog.settled(firm.a.organization_id, seconds=60)


async def asked(backend: Backend, firm: FirmOfTest, question: str) -> tuple[Sequence[Recalled], Sequence[Recalled]]:
    found = await rank_buckets(backend, firm.a, question, "HV-1001", 10)
    return found.personal, found.matter


def agree(exact: Sequence[Recalled], found: Sequence[Recalled]) -> None:
    """Whether what was found is what an exact comparison finds."""
    expected = {hit.memory.id: hit for hit in exact}
    common = [hit for hit in found if hit.memory.id in expected]
    assert len(found) == 10 and len(common) >= 9, "the last of the ten may be as good as the next"
    for hit in common:
        assert hit.memory == expected[hit.memory.id].memory
        assert hit.score == pytest.approx(expected[hit.memory.id].score, abs=0.02)
        assert hit.cosine == pytest.approx(expected[hit.memory.id].cosine, abs=1e-6)


@pytest.mark.parametrize("most_postings", [0, 30, 100_000])
@pytest.mark.parametrize("question", QUESTIONS)
async def test_answers_as_if_every_memory_had_been_compared(
    backend: Backend, firm: FirmOfTest, monkeypatch: pytest.MonkeyPatch, question: str, most_postings: int
) -> None:
    monkeypatch.setitem(sifting.FIRST_PASS, "most_postings", most_postings)
    await filled(backend, firm)
    exact = await asked(every_one_compared(backend), firm, question)
    assert not backend.sizes.large(own_bucket(firm.a))
    at_first_sight = await asked(backend, firm, question)
    assert backend.sizes.large(own_bucket(firm.a))
    assert backend.sizes.large(matter_bucket(firm.a, "HV-1001"))
    known_to_be_large = await asked(backend, firm, question)
    for best, again in [*zip(exact, at_first_sight, strict=True), *zip(exact, known_to_be_large, strict=True)]:
        agree(best, again)


@pytest.mark.parametrize("counts", [(60, 15), (15, 60)])
async def test_answers_alike_beside_a_bucket_that_is_not_large(
    backend: Backend, firm: FirmOfTest, monkeypatch: pytest.MonkeyPatch, counts: tuple[int, int]
) -> None:
    monkeypatch.setitem(sifting.FIRST_PASS, "most_postings", 30)
    await filled(backend, firm, *counts)
    exact = await asked(every_one_compared(backend), firm, QUESTIONS[2])
    await asked(backend, firm, QUESTIONS[2])
    large = [backend.sizes.large(bucket) for bucket in (own_bucket(firm.a), matter_bucket(firm.a, "HV-1001"))]
    assert large == [count == 60 for count in counts]
    for best, again in zip(exact, await asked(backend, firm, QUESTIONS[2]), strict=True):
        agree(best, again)


async def test_a_memory_without_a_vector_or_with_one_of_another_length_is_found_by_its_words(
    backend: Backend, firm: FirmOfTest, database: TestDatabase
) -> None:
    await filled(backend, firm)
    exact, _ = await asked(every_one_compared(backend), firm, QUESTIONS[2])
    with psycopg.connect(database.superuser_url) as connection:
        change = b"update agent_memory_candidate set embedding = %s, embedding_model = %s where id = %s"
        connection.execute(change, (None, None, exact[0].memory.id))
        connection.execute(change, ("[1,2,3]", "other", exact[1].memory.id))
    for hit in exact[:2]:
        found, _ = await asked(backend, firm, hit.memory.content)
        assert {each.memory.id: each.cosine for each in found}[hit.memory.id] is None


async def test_what_was_deleted_is_gone_though_the_bucket_is_still_held_to_be_large(
    backend: Backend, firm: FirmOfTest
) -> None:
    await filled(backend, firm, count=25)
    exact, _ = await asked(backend, firm, QUESTIONS[0])
    for hit in (await rank_buckets(backend, firm.a, QUESTIONS[0], None, 200)).personal:
        await archive(backend, firm.a, hit.memory.id)
    assert backend.sizes.large(own_bucket(firm.a))
    gone, others = await asked(backend, firm, QUESTIONS[0])
    assert exact and not gone and others


async def test_is_large_no_longer_once_it_has_been_seen_to_be_small(backend: Backend, firm: FirmOfTest) -> None:
    await filled(backend, firm, count=25)
    await asked(backend, firm, QUESTIONS[0])
    for hit in (await rank_buckets(backend, firm.a, QUESTIONS[0], None, 10)).personal:
        await archive(backend, firm.a, hit.memory.id)
    assert backend.sizes.large(own_bucket(firm.a))
    await asked(backend, firm, QUESTIONS[0])
    assert not backend.sizes.large(own_bucket(firm.a))
