"""What was deleted stays deleted, what an import brought can be taken back, and older statements replace nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

from north.memory.backend import Backend
from north.memory.edit import edit
from north.memory.imports import undo_import
from north.memory.save import save
from north.model import (
    Caller,
    Memory,
    Origin,
)
from tests.chat.exported import MARCH, Exports, conversation, counts, remembered
from tests.chat.importing import BILLING, BILLS, delete, memories
from tests.chat.importing import exports as exports
from tests.chat.mining_script import BLUEBOOK, FOUND, SAID, Reader, mined
from tests.chat.test_mining_failures import serving as serving
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.remembering import everything, personal, remember, stored


class TestDeleted:
    async def test_stays_deleted_whatever_file_says_it_again(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        await exports.bring_in(firm.a, conversation("1", SAID), remembered("Lives in Bonn."))
        for content in (BLUEBOOK, "Lives in Bonn."):
            await delete(backend, firm.a, content)
        done = await exports.bring_in(firm.a, conversation("other", SAID), remembered("lives  in BONN.", at=None))
        assert counts(done.report) == (2, 1, {"deleted_by_you": 1}, 0, 0)
        assert await everything(backend, firm.a) == []

    async def test_stays_deleted_when_a_model_words_it_anew(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        await exports.bring_in(firm.a, conversation("1", SAID))
        await delete(backend, firm.a, BLUEBOOK)
        reworded = mined("The lawyer cites in Bluebook form always, without exception.", SAID)
        done = await exports.bring_in(
            firm.a, conversation("2", SAID), miner=Reader([reworded, mined(BILLING, SAID)]).miner(backend)
        )
        assert (done.report.memories, await everything(backend, firm.a)) == (1, [BILLING])

    async def test_is_saved_when_it_was_said_again_since(
        self, exports: Exports, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        await exports.bring_in(firm.a, conversation("1", SAID))
        await delete(backend, firm.a, BLUEBOOK)
        (row,) = stored(
            database, "select archived_at from agent_memory_candidate where target_user_id = %s", firm.ana.id
        )
        await asyncio.sleep(0.01)  # said after it was deleted
        done = await exports.bring_in(
            firm.a, conversation("2", SAID, at=row["archived_at"] + timedelta(milliseconds=1))
        )
        assert (done.report.memories, await everything(backend, firm.a)) == (1, [BLUEBOOK])

    async def test_what_the_lawyer_put_right_is_not_brought_back(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        await exports.bring_in(firm.a, remembered("Lives in Bonn."))
        (memory,) = await memories(backend, firm.a)
        await edit(backend, firm.a, memory.id, "Lives in Berlin.")
        done = await exports.bring_in(firm.a, remembered("Lives in Bonn.", "profile"))
        assert counts(done.report) == (1, 0, {"changed_by_you": 1}, 0, 0)
        assert await everything(backend, firm.a) == ["Lives in Berlin."]


class TestUndo:
    async def test_takes_back_what_the_import_brought_and_nothing_else(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        await remember(backend, firm.a, "I like cats.")
        await exports.bring_in(firm.a, remembered("Has a dog."))
        done = await exports.bring_in(firm.a, remembered("- Lives in Bonn.\n- Bills in tenths.\n- I like cats."))
        (bonn,) = [each for each in await memories(backend, firm.a) if each.content == "Lives in Bonn."]
        await edit(backend, firm.a, bonn.id, "Lives in Berlin.")
        for _ in range(2):
            undone = await undo_import(backend, firm.a, done.id)
            assert undone.undone_at is not None
        assert set(await everything(backend, firm.a)) == {"I like cats.", "Has a dog.", "Lives in Berlin."}

    async def test_the_same_file_can_be_imported_again(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        items = (conversation("1", SAID, BILLS), remembered("- Lives in Bonn.\n- Has a dog."))
        first = await exports.bring_in(firm.a, *items)
        await delete(backend, firm.a, "Has a dog.")
        await undo_import(backend, firm.a, first.id)
        assert await everything(backend, firm.a) == []
        again = await exports.bring_in(firm.a, *items)
        assert (again.report.imported, again.report.skipped) == (2, {})
        assert set(await everything(backend, firm.a)) == {BLUEBOOK, "The lawyer bills in six-minute increments.",
                                                         "Lives in Bonn."}  # fmt: skip

    async def test_of_the_later_of_two_leaves_what_the_first_read(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        await exports.bring_in(firm.a, conversation("1", SAID))
        second = await exports.bring_in(firm.a, conversation("1", SAID, BILLS))
        await undo_import(backend, firm.a, second.id)
        assert await everything(backend, firm.a) == [BLUEBOOK]
        third = await exports.bring_in(firm.a, conversation("1", SAID, BILLS))
        assert counts(third.report) == (1, 1, {}, 0, 1)


class TestUpdates:
    @staticmethod
    async def known(backend: Backend, caller: Caller, at: Any) -> Memory:
        await save(backend, caller, [replace(personal("The lawyer cites in OSCOLA form."), captured_at=at)])
        (memory,) = await memories(backend, caller)
        return memory

    async def test_a_newer_statement_replaces_an_older_one(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        old = await self.known(backend, firm.a, MARCH - timedelta(days=300))
        reader = Reader([{**FOUND, "updates": str(old.id)}])
        done = await exports.bring_in(firm.a, conversation("1", SAID), miner=reader.miner(backend))
        (memory,) = await memories(backend, firm.a)
        assert (memory.content, memory.supersedes_id, memory.origin) == (BLUEBOOK, old.id, Origin.IMPORT)
        assert memory.source and memory.source.label == "ChatGPT · Talk 1" and memory.created_at == MARCH
        assert counts(done.report) == (1, 1, {}, 0, 1)
        await undo_import(backend, firm.a, done.id)
        assert await everything(backend, firm.a) == [], "what it replaced is not restored"

    async def test_an_older_statement_replaces_nothing(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        newer = await self.known(backend, firm.a, MARCH + timedelta(days=300))
        reader = Reader([{**FOUND, "updates": str(newer.id)}])
        await exports.bring_in(firm.a, conversation("1", SAID), miner=reader.miner(backend))
        assert await everything(backend, firm.a) == [newer.content]

    async def test_a_statement_without_a_time_is_saved_beside(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        old = await self.known(backend, firm.a, MARCH)
        reader = Reader([{**FOUND, "updates": str(old.id)}])
        await exports.bring_in(firm.a, conversation("1", SAID, at=None), miner=reader.miner(backend))
        assert set(await everything(backend, firm.a)) == {old.content, BLUEBOOK}

    async def test_the_rules_correct_what_an_earlier_conversation_of_the_file_said(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        done = await exports.bring_in(
            firm.a,
            conversation("1", "The deadline for the Vance brief is 3 June 2025."),
            conversation(
                "2", "Actually, the deadline for the Vance brief is 5 June 2025.", at=MARCH + timedelta(days=1)
            ),
        )
        (content,) = await everything(backend, firm.a)
        assert "5 June 2025" in content
        assert counts(done.report) == (2, 2, {}, 0, 2)
