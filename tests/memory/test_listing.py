"""The list behind Settings → Memory: everything that a lawyer may see, page by page."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from north.errors import InvalidInput, MatterNotFound, MemoryNotFound
from north.memory.backend import Backend
from north.memory.edit import archive, edit
from north.memory.listing import MemoryFilter, get_memory, list_memories
from north.memory.save import save
from north.model import Caller, MemoryType, Origin, Scope, Status, new_id
from tests.conftest import FirmOfTest
from tests.memory.remembering import everything, of_firm, on_matter, personal, remember


async def listed(backend: Backend, caller: Caller, filters: MemoryFilter) -> list[str]:
    return [memory.content for memory in (await list_memories(backend, caller, filters)).memories]


class TestWhatIsSeen:
    async def test_is_ones_own_and_everything_shared_newest_first(
        self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest
    ) -> None:
        await remember(backend, firm.a, personal("Mine."))
        await remember(backend, firm.b, personal("Theirs."))
        await remember(backend, firm.b, on_matter("The matter's."))
        await remember(backend, firm.b, of_firm("The firm's."))
        await remember(backend, rival.a, of_firm("The rival's."))
        assert await everything(backend, firm.a) == ["The firm's.", "The matter's.", "Mine."]

    async def test_by_id_is_the_same(self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest) -> None:
        own = await remember(backend, firm.a, personal("Mine."))
        shared = await remember(backend, firm.a, on_matter("The matter's."))
        assert (await get_memory(backend, firm.a, own.id)) == own
        assert (await get_memory(backend, firm.b, shared.id)).content == "The matter's."
        for caller, memory_id in ((firm.b, own.id), (rival.a, own.id), (rival.a, shared.id), (firm.a, new_id())):
            with pytest.raises(MemoryNotFound):
                await get_memory(backend, caller, memory_id)

    async def test_a_colleagues_thread_stays_closed(self, backend: Backend, firm: FirmOfTest) -> None:
        thread, message = new_id(), new_id()
        memory = await remember(
            backend, replace(firm.a, thread_id=thread, message_id=message), on_matter("The matter's.")
        )
        assert memory.source is not None and memory.source.thread_id == thread
        seen = (await get_memory(backend, firm.b, memory.id)).source
        assert seen is not None
        assert (seen.thread_id, seen.message_id, seen.yours) == (None, None, False)


class TestFilters:
    async def test_narrow_the_list(self, backend: Backend, firm: FirmOfTest) -> None:
        await remember(backend, firm.a, personal("Mine, due 100%.", MemoryType.DEADLINE))
        await remember(backend, firm.a, on_matter("One's."))
        await remember(backend, replace(firm.b, origin=Origin.SETTINGS), on_matter("Two's.", "HV-1002"))
        await remember(backend, firm.b, of_firm("The firm's."))
        for filters, texts in (
            (MemoryFilter(scope=Scope.USER_PRIVATE), ["Mine, due 100%."]),
            (MemoryFilter(scope=Scope.MATTER), ["Two's.", "One's."]),
            (MemoryFilter(scope=Scope.FIRM_GLOBAL), ["The firm's."]),
            (MemoryFilter(type=MemoryType.DEADLINE), ["Mine, due 100%."]),
            (MemoryFilter(matter="HV-1001"), ["One's."]),
            (MemoryFilter(matter=str(firm.other_matter.id)), ["Two's."]),
            (MemoryFilter(origin=Origin.SETTINGS), ["Two's."]),
            (MemoryFilter(query="MINE due"), ["Mine, due 100%."]),
            (MemoryFilter(query="0%"), ["Mine, due 100%."]),
            (MemoryFilter(query="T%s"), []),
            (MemoryFilter(query="\0\ud800"), ["The firm's.", "Two's.", "One's.", "Mine, due 100%."]),
            (MemoryFilter(scope=Scope.MATTER, query="one"), ["One's."]),
        ):
            assert await listed(backend, firm.a, filters) == texts, filters

    async def test_show_what_was_deleted_or_replaced(self, backend: Backend, firm: FirmOfTest) -> None:
        old = await remember(backend, firm.a, "Old.")
        await archive(backend, firm.a, (await edit(backend, firm.a, old.id, "New.")).id)
        assert await listed(backend, firm.a, MemoryFilter(status=Status.SUPERSEDED)) == ["Old."]
        assert await listed(backend, firm.a, MemoryFilter(status=Status.ARCHIVED)) == ["New."]
        assert await everything(backend, firm.a) == []

    async def test_name_a_matter_that_the_firm_has(self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest) -> None:
        for matter in ("HV-9", str(rival.matter.id)):
            with pytest.raises(MatterNotFound):
                await listed(backend, firm.a, MemoryFilter(matter=matter))


class TestPages:
    async def test_follow_each_other_without_gap_or_repetition(self, backend: Backend, firm: FirmOfTest) -> None:
        same_time = datetime(2025, 1, 1, tzinfo=UTC)
        await save(backend, firm.a, [replace(personal(f"Fact {n}."), captured_at=same_time) for n in range(4)])
        await save(backend, firm.a, [personal(f"Later fact {n}.") for n in range(3)])
        seen: list[str] = []
        cursor = None
        while True:
            page = await list_memories(backend, firm.a, MemoryFilter(), cursor, limit=3)
            seen += [memory.content for memory in page.memories]
            if (cursor := page.next_cursor) is None:
                break
            await remember(backend, firm.a, f"Saved between pages, after {len(seen)}.")
        assert seen == [*(f"Later fact {n}." for n in (2, 1, 0)), *(f"Fact {n}." for n in (3, 2, 1, 0))]

    @pytest.mark.parametrize("limit", [0, 201])
    async def test_hold_1_to_200(self, backend: Backend, firm: FirmOfTest, limit: int) -> None:
        with pytest.raises(InvalidInput, match="1 to 200"):
            await list_memories(backend, firm.a, MemoryFilter(), limit=limit)

    @pytest.mark.parametrize(
        "made",
        [
            "x",
            "\ud800",
            "\0",
            "5",
            "[]",
            '["2025-01-01T00:00:00+00:00"]',
            '["2025-01-01T00:00:00", "01a22a40-d893-73e7-82c1-05d9d0475643"]',
            '["2025-01-01T00:00:00+00:00", "no id"]',
            '[["a"], {"b": 1}]',
            "[" * 10_000,
            '["0001-01-01T00:00:00+23:59", "01a22a40-d893-73e7-82c1-05d9d0475643"]',
            '["9999-12-31T23:59:59-23:59", "01a22a40-d893-73e7-82c1-05d9d0475643"]',
        ],
        ids=range(12),
    )
    async def test_of_a_made_up_cursor_are_refused_or_empty(
        self, backend: Backend, firm: FirmOfTest, made: str
    ) -> None:
        encoded = base64.urlsafe_b64encode(made.encode("utf-8", "surrogatepass")).decode()
        for cursor in (made, encoded):
            try:
                page = await list_memories(backend, firm.a, MemoryFilter(), cursor)
            except InvalidInput as error:
                assert "cursor" in str(error)
            else:
                assert page.memories == ()

    async def test_of_another_lawyers_cursor_hold_ones_own_rows(
        self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest
    ) -> None:
        for number in range(3):
            await remember(backend, firm.a, f"Fact {number}.")
            await remember(backend, rival.a, f"Rival fact {number}.")
        cursor = (await list_memories(backend, firm.a, MemoryFilter(), limit=2)).next_cursor
        assert cursor is not None and "Fact" not in json.dumps(base64.urlsafe_b64decode(cursor).decode())
        page = await list_memories(backend, rival.a, MemoryFilter(), cursor)
        assert all(memory.content.startswith("Rival") for memory in page.memories)
