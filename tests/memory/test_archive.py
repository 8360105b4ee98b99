"""Deleting, bringing back, and the history that nothing is lost from."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from north.errors import MemoryDuplicate, MemoryNotLive
from north.memory.backend import Backend
from north.memory.edit import archive, edit, history, restore
from north.memory.recall import recall
from north.model import MemoryType, Origin
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.remembering import everything, on_matter, remember, stored

DUE_12, DUE_14 = "The answer is due on 12 June 2026.", "The answer is due on 14 June 2026."


async def recalled(backend: Backend, firm: FirmOfTest, query: str) -> list[str]:
    return [memory.content for memory in (await recall(backend, firm.a, query)).memories]


class TestDeleting:
    async def test_takes_it_from_the_list_and_from_recall(self, backend: Backend, firm: FirmOfTest) -> None:
        memory = await remember(backend, firm.a, DUE_12)
        gone = await archive(backend, firm.a, memory.id)
        assert gone.status == "archived" and gone.archived_at is not None
        assert gone.archived_by is not None and gone.archived_by.id == firm.ana.id
        assert await everything(backend, firm.a) == []
        assert await recalled(backend, firm, DUE_12) == []

    async def test_twice_and_restoring_twice_changes_nothing_more(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        memory = await remember(backend, firm.a, DUE_12)
        assert await archive(backend, firm.a, memory.id) == await archive(backend, firm.a, memory.id)
        assert await restore(backend, firm.a, memory.id) == await restore(backend, firm.a, memory.id)
        events = "select name from product_event where organization_id = %s order by id"
        names = [row["name"] for row in stored(database, events, firm.a.organization_id)]
        assert names == ["memory_saved", "memory_archived", "memory_restored"]

    async def test_frees_the_text_for_another_save(self, backend: Backend, firm: FirmOfTest) -> None:
        first = await remember(backend, firm.a, DUE_12)
        await archive(backend, firm.a, first.id)
        second = await remember(backend, firm.a, DUE_12)
        with pytest.raises(MemoryDuplicate) as error:
            await restore(backend, firm.a, first.id)
        assert error.value.detail["current"] == second


class TestRestoring:
    async def test_brings_it_back_to_the_list_and_to_recall(self, backend: Backend, firm: FirmOfTest) -> None:
        memory = await remember(backend, firm.a, DUE_12)
        await archive(backend, firm.a, memory.id)
        back = await restore(backend, firm.a, memory.id)
        assert (back.status, back.archived_at, back.archived_by) == ("active", None, None)
        assert await everything(backend, firm.a) == [DUE_12]
        assert await recalled(backend, firm, "answer due June") == [DUE_12]

    async def test_the_latest_version_of_several(self, backend: Backend, firm: FirmOfTest) -> None:
        old = await remember(backend, firm.a, DUE_12)
        new = await edit(backend, firm.a, old.id, DUE_14)
        await archive(backend, firm.a, new.id)
        assert (await restore(backend, firm.a, new.id)).content == DUE_14
        assert await everything(backend, firm.a) == [DUE_14]

    async def test_an_old_version_is_a_conflict_with_the_newer(self, backend: Backend, firm: FirmOfTest) -> None:
        old = await remember(backend, firm.a, DUE_12)
        new = await edit(backend, firm.a, old.id, DUE_14)
        with pytest.raises(MemoryNotLive) as error:
            await restore(backend, firm.a, old.id)
        assert error.value.detail["current"] == new

    async def test_at_once_by_several_is_one_restoration(self, backend: Backend, firm: FirmOfTest) -> None:
        memory = await remember(backend, firm.a, on_matter(DUE_12))
        await archive(backend, firm.a, memory.id)
        back = await asyncio.gather(*(restore(backend, (firm.a, firm.b)[n % 2], memory.id) for n in range(8)))
        assert {each.status for each in back} == {"active"}
        assert await everything(backend, firm.a) == [DUE_12]


class TestHistory:
    async def test_shows_every_version_newest_first_from_any_of_them(self, backend: Backend, firm: FirmOfTest) -> None:
        first = await remember(backend, firm.a, on_matter("One."))
        second = await edit(backend, replace(firm.b, origin=Origin.SETTINGS), first.id, "Two.")
        third = await edit(backend, firm.a, second.id, type=MemoryType.DECISION)
        fourth = await edit(backend, firm.b, third.id, "Four.")
        await archive(backend, firm.a, fourth.id)
        for start in (first, second, third, fourth):
            versions = await history(backend, firm.b, start.id)
            assert [version.content for version in versions] == ["Four.", "Two.", "Two.", "One."]
            assert [version.status for version in versions] == ["archived", "superseded", "superseded", "superseded"]
        people = [version.captured_by.name for version in versions if version.captured_by]
        assert people == ["Ben Okafor", "Ana Ruiz", "Ben Okafor", "Ana Ruiz"]
        assert [version.origin for version in versions][2] is Origin.SETTINGS
        assert all(version.superseded_at for version in versions[1:])

    async def test_does_not_hold_other_memories(self, backend: Backend, firm: FirmOfTest) -> None:
        await remember(backend, firm.a, on_matter("Other."))
        memory = await remember(backend, firm.a, on_matter("One."))
        assert [version.id for version in await history(backend, firm.a, memory.id)] == [memory.id]
