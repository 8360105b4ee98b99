"""Searching what a lawyer may see, by words and by meaning."""

from __future__ import annotations

import pytest

from north.errors import InvalidInput, MatterNotFound
from north.memory.backend import Backend
from north.memory.edit import archive
from north.memory.listing import MemoryFilter
from north.memory.search import search_memories
from north.model import Caller, MemoryType, Scope
from tests.conftest import FirmOfTest
from tests.web.conftest import remember, remember_all

BLUEBOOK = "The lawyer wants citations in Bluebook form."
COMPANY = "The client is a Delaware LLC."
SUBJECT = "Cite the case by its short name in every e-mail."


async def found(backend: Backend, caller: Caller, query: str, **filters: object) -> list[str]:
    await backend.backlog.settled(caller.organization_id, 30)
    page = await search_memories(backend, caller, MemoryFilter(query=query, **filters))  # type: ignore[arg-type]  # a test's
    return [memory.content for memory in page.memories]


class TestSearch:
    async def test_finds_by_meaning_what_has_none_of_the_words(self, backend: Backend, firm: FirmOfTest) -> None:
        await remember(backend, firm.a, BLUEBOOK)
        await remember(backend, firm.a, COMPANY)
        assert await found(backend, firm.a, "how to reference legal authorities") == [BLUEBOOK]
        assert await found(backend, firm.a, "what kind of company is it") == [COMPANY]

    async def test_puts_what_has_every_word_first(self, backend: Backend, firm: FirmOfTest) -> None:
        await remember(backend, firm.a, SUBJECT)
        await remember(backend, firm.a, BLUEBOOK)
        await backend.backlog.settled(firm.a.organization_id, 30)
        page = await search_memories(backend, firm.a, MemoryFilter(query="cite CASE"))
        assert [memory.content for memory in page.memories] == [SUBJECT, BLUEBOOK]
        assert page.worded == 1

    async def test_finds_nothing_where_nothing_is_close(self, backend: Backend, firm: FirmOfTest) -> None:
        await remember(backend, firm.a, BLUEBOOK)
        assert await found(backend, firm.a, "zzzz") == []
        assert await found(backend, firm.a, "%") == []

    async def test_sees_the_firms_and_the_matters_and_no_colleagues_own(
        self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest
    ) -> None:
        await remember(backend, firm.a, "Bluebook, says Ana.")
        await remember(backend, firm.a, "Bluebook on the matter.", scope=Scope.MATTER, matter="HV-1001")
        await remember(backend, firm.a, "Bluebook in the firm.", scope=Scope.FIRM_GLOBAL)
        assert await found(backend, firm.b, "bluebook") == ["Bluebook in the firm.", "Bluebook on the matter."]
        assert await found(backend, rival.a, "bluebook") == []

    async def test_keeps_the_other_filters(self, backend: Backend, firm: FirmOfTest) -> None:
        await remember(backend, firm.a, BLUEBOOK, type=MemoryType.PREFERENCE)
        gone = await remember(backend, firm.a, "Bluebook again.")
        await archive(backend, firm.a, gone.id)
        assert await found(backend, firm.a, "bluebook") == [BLUEBOOK]
        assert await found(backend, firm.a, "bluebook", type=MemoryType.FACT) == []
        assert await found(backend, firm.a, "bluebook", matter="HV-1001") == []
        with pytest.raises(MatterNotFound):
            await found(backend, firm.a, "bluebook", matter="NO-SUCH")

    async def test_is_paged_without_a_gap(self, backend: Backend, firm: FirmOfTest) -> None:
        await remember_all(backend, firm.a, [f"Exhibit {number} is sealed." for number in range(25)])
        await backend.backlog.settled(firm.a.organization_id, 30)
        seen, cursor, pages = [], None, 0
        while pages == 0 or cursor:
            page = await search_memories(backend, firm.a, MemoryFilter(query="exhibit sealed"), cursor, limit=10)
            seen += [memory.content for memory in page.memories]
            cursor, pages = page.next_cursor, pages + 1
        assert seen == [f"Exhibit {number} is sealed." for number in reversed(range(25))]
        assert pages == 3

    @pytest.mark.parametrize("cursor", ["-1", "nonsense", "٣", "9" * 20])
    async def test_refuses_a_place_that_it_did_not_give(self, backend: Backend, firm: FirmOfTest, cursor: str) -> None:
        with pytest.raises(InvalidInput):
            await search_memories(backend, firm.a, MemoryFilter(query="a"), cursor)
