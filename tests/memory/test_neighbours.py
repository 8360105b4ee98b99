from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
import pytest_asyncio
import uuid_utils.compat

from north.assembly import make_backend, opened
from north.chat.threads import create_thread
from north.memory.backend import Backend
from north.memory.recall import recall
from north.memory.save import save
from north.model import Caller, Draft, MemoryType, Scope
from north.settings import Settings
from tests.conftest import FirmOfTest, TestDatabase

ASKED = "Who is the expert on tides?"
NAMED = "The expert on tides is Dr Hale."
BESIDE = "She will be heard on 3 May in Boston."
APART = "Invoices go out by the fifth."


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def by_words(database: TestDatabase) -> AsyncIterator[Backend]:
    """A North that tells memories apart by their words alone, so that only neighbours lift one without any of them."""
    async with opened(make_backend(Settings(model="offline", embedder="none"), database.place)) as running:
        yield running


def noted(content: str, firm: FirmOfTest) -> Draft:
    return Draft(content, MemoryType.FACT, Scope.MATTER, firm.matter.number)


async def order(backend: Backend, caller: Caller, firm: FirmOfTest) -> list[str]:
    found = await recall(backend, caller, ASKED, firm.matter.number)
    return [hit.memory.content for hit in found.matter]


async def scored(backend: Backend, firm: FirmOfTest) -> dict[str, float]:
    found = await recall(backend, firm.a, ASKED, firm.matter.number)
    return {hit.memory.content: hit.score for hit in found.matter}


async def together(backend: Backend, firm: FirmOfTest, *contents: str) -> None:
    """Save what was said in a conversation of its own."""
    thread = await create_thread(backend, firm.a, None)
    for content in contents:
        await save(backend, replace(firm.a, thread_id=thread.id), [noted(content, firm)])


def at(moment: datetime) -> UUID:
    return uuid_utils.compat.uuid7(nanoseconds=int(moment.timestamp()) * 1_000_000_000)


class TestNeighbours:
    async def test_what_was_captured_in_the_same_conversation_comes_with_the_answer(
        self, by_words: Backend, firm: FirmOfTest
    ) -> None:
        await together(by_words, firm, NAMED, BESIDE)
        await save(by_words, firm.a, [noted(APART, firm)])
        assert await order(by_words, firm.a, firm) == [NAMED, BESIDE, APART]

    async def test_what_was_saved_one_after_the_other_in_one_sitting_does_too(
        self, by_words: Backend, firm: FirmOfTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        noon = datetime(2026, 3, 2, 12, tzinfo=UTC)
        ids = iter([at(noon), at(noon + timedelta(seconds=40)), at(noon + timedelta(hours=2))])
        with monkeypatch.context() as patched:
            patched.setattr("north.memory.save.new_id", lambda: next(ids))
            for content in (NAMED, BESIDE, APART):
                await save(by_words, firm.a, [noted(content, firm)])
        assert await order(by_words, firm.a, firm) == [NAMED, BESIDE, APART]

    async def test_what_a_colleague_saves_at_the_same_time_is_no_neighbour(
        self, by_words: Backend, firm: FirmOfTest
    ) -> None:
        for caller, content in ((firm.a, NAMED), (firm.a, BESIDE), (firm.b, APART)):
            await save(by_words, caller, [noted(content, firm)])
        assert await order(by_words, firm.a, firm) == [NAMED, BESIDE, APART]

    async def test_a_memory_borrows_the_words_that_it_lacks_and_no_others(
        self, by_words: Backend, firm: FirmOfTest
    ) -> None:
        completed, repeated, alone = "Dr Hale is an expert.", "Dr Cole is an expert.", "Dr Reed is an expert."
        await together(by_words, firm, completed, "She has written on tides.")
        await together(by_words, firm, repeated, "An expert was heard.")
        await together(by_words, firm, alone)
        scores = await scored(by_words, firm)
        assert scores[completed] > scores[repeated] + 0.1
        assert scores[repeated] == pytest.approx(scores[alone], abs=1e-6)

    async def test_to_have_neighbours_is_no_merit(self, by_words: Backend, firm: FirmOfTest) -> None:
        await together(by_words, firm, NAMED)
        await together(by_words, firm, APART, "Lunch is at noon.", "The printer is upstairs.")
        await together(by_words, firm, "The library is downstairs.")
        scores = await scored(by_words, firm)
        assert scores[APART] == pytest.approx(scores["The library is downstairs."], abs=1e-6)
