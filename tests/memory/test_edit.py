"""Changing what North remembers: new versions, deleting, bringing back, history."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from north.errors import (
    ContentEmpty,
    ContentTooLong,
    EditRefusedByRule,
    EditRefusedByWall,
    MemoryDuplicate,
    MemoryNotFound,
    MemoryNotLive,
    NothingToChange,
)
from north.memory.backend import Backend
from north.memory.edit import archive, edit, history, restore
from north.memory.recall import recall
from north.memory.rules import create_rule
from north.memory.save import save
from north.memory.wall import record_consultation
from north.model import Memory, MemoryType, Origin, Scope, new_id
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.remembering import count, everything, of_firm, on_matter, personal, remember, stored

DUE_12, DUE_14 = "The answer is due on 12 June 2026.", "The answer is due on 14 June 2026."


async def recalled(backend: Backend, firm: FirmOfTest, query: str) -> list[str]:
    return [memory.content for memory in (await recall(backend, firm.a, query)).memories]


class TestEdit:
    async def test_makes_a_new_version_that_is_live_at_once(self, backend: Backend, firm: FirmOfTest) -> None:
        old = await remember(backend, firm.a, DUE_12)
        new = await edit(backend, replace(firm.a, origin=Origin.SETTINGS), old.id, f" {DUE_14} ")
        assert (new.content, new.status, new.supersedes_id) == (DUE_14, "active", old.id)
        assert (new.type, new.scope, new.origin) == (old.type, old.scope, Origin.SETTINGS)
        assert await everything(backend, firm.a) == [DUE_14]
        assert await recalled(backend, firm, "When is the answer due?") == [DUE_14]

    async def test_leaves_no_posting_of_the_old_text(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        old = await remember(backend, firm.a, "The vault is in Antwerp.")
        new = await edit(backend, firm.a, old.id, "The vault is in Bruges.")
        postings = stored(
            database, "select term, memory_id from memory_term where organization_id = %s", firm.a.organization_id
        )
        assert {row["memory_id"] for row in postings} == {new.id}
        assert "antwerp" not in {row["term"] for row in postings}

    async def test_of_the_type_alone_keeps_the_text(self, backend: Backend, firm: FirmOfTest) -> None:
        old = await remember(backend, firm.a, DUE_12)
        new = await edit(backend, firm.a, old.id, type=MemoryType.DEADLINE)
        assert (new.content, new.type, new.supersedes_id) == (DUE_12, MemoryType.DEADLINE, old.id)
        assert await everything(backend, firm.a) == [DUE_12]

    async def test_of_the_case_alone_is_a_new_version(self, backend: Backend, firm: FirmOfTest) -> None:
        old = await remember(backend, firm.a, "the client is orion.")
        new = await edit(backend, firm.a, old.id, "The client is Orion.")
        assert (new.content, new.supersedes_id) == ("The client is Orion.", old.id)

    async def test_that_changes_nothing_writes_nothing(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        old = await remember(backend, firm.a, DUE_12)
        assert await edit(backend, firm.a, old.id, DUE_12, old.type) == old
        assert count(database, "agent_memory_candidate", firm.a) == 1

    async def test_needs_something_to_change(self, backend: Backend, firm: FirmOfTest) -> None:
        old = await remember(backend, firm.a, DUE_12)
        with pytest.raises(NothingToChange):
            await edit(backend, firm.a, old.id)
        with pytest.raises(ContentEmpty):
            await edit(backend, firm.a, old.id, " ")
        with pytest.raises(ContentTooLong):
            await edit(backend, firm.a, old.id, "a" * 2001)
        assert await everything(backend, firm.a) == [DUE_12]

    async def test_into_another_live_text_is_a_duplicate(self, backend: Backend, firm: FirmOfTest) -> None:
        twin = await remember(backend, firm.a, DUE_14)
        old = await remember(backend, firm.a, DUE_12)
        with pytest.raises(MemoryDuplicate) as error:
            await edit(backend, firm.a, old.id, DUE_14.upper())
        assert error.value.detail["current"] == twin
        assert sorted(await everything(backend, firm.a)) == [DUE_12, DUE_14]

    async def test_into_the_text_of_another_place_is_none(self, backend: Backend, firm: FirmOfTest) -> None:
        await remember(backend, firm.a, on_matter(DUE_14))
        old = await remember(backend, firm.a, DUE_12)
        assert (await edit(backend, firm.a, old.id, DUE_14)).content == DUE_14


class TestConflict:
    async def test_shows_the_text_that_stands_now(self, backend: Backend, firm: FirmOfTest) -> None:
        old = await remember(backend, firm.a, on_matter(DUE_12))
        won = await edit(backend, firm.a, old.id, DUE_14)
        won = await edit(backend, firm.a, won.id, "The answer was filed.")
        for lost in (edit(backend, firm.b, old.id, "Something else."), archive(backend, firm.b, old.id)):
            with pytest.raises(MemoryNotLive) as error:
                await lost
            assert error.value.detail["current"] == won

    async def test_with_a_deletion_shows_none(self, backend: Backend, firm: FirmOfTest) -> None:
        old = await remember(backend, firm.a, on_matter(DUE_12))
        await archive(backend, firm.a, old.id)
        with pytest.raises(MemoryNotLive) as error:
            await edit(backend, firm.b, old.id, DUE_14)
        assert error.value.detail["current"] is None

    async def test_of_twenty_editors_one_wins_and_the_others_are_shown_its_text(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        old = await remember(backend, firm.a, on_matter(DUE_12))
        answers = await asyncio.gather(
            *(edit(backend, (firm.a, firm.b)[n % 2], old.id, f"The answer is due on {n} July.") for n in range(20)),
            return_exceptions=True,
        )
        won = [answer for answer in answers if isinstance(answer, Memory)]
        lost = [answer for answer in answers if isinstance(answer, MemoryNotLive)]
        assert (len(won), len(lost)) == (1, 19)
        assert all(error.detail["current"].content == won[0].content for error in lost)
        assert await everything(backend, firm.a) == [won[0].content]
        assert [memory.content for memory in await history(backend, firm.b, old.id)] == [won[0].content, DUE_12]

    async def test_between_editing_and_deleting_has_one_winner(self, backend: Backend, firm: FirmOfTest) -> None:
        for number in range(10):
            old = await remember(backend, firm.a, on_matter(f"Hearing {number} is in May."))
            edited, archived = await asyncio.gather(
                edit(backend, firm.a, old.id, f"Hearing {number} is in June."),
                archive(backend, firm.b, old.id),
                return_exceptions=True,
            )
            won, lost = (edited, archived) if isinstance(edited, Memory) else (archived, edited)
            assert isinstance(won, Memory) and isinstance(lost, MemoryNotLive)
            assert won.status == ("active" if won is edited else "archived")

    async def test_between_editing_and_saving_the_same_leaves_one_live_row(
        self, backend: Backend, firm: FirmOfTest
    ) -> None:
        old = await remember(backend, firm.a, on_matter(DUE_12))
        await asyncio.gather(
            edit(backend, firm.a, old.id, DUE_14),
            *(remember_or_know(backend, firm) for _ in range(6)),
            return_exceptions=True,
        )
        assert (await everything(backend, firm.a)).count(DUE_14) == 1


async def remember_or_know(backend: Backend, firm: FirmOfTest) -> None:
    await save(backend, firm.b, [on_matter(DUE_14)])


class TestWhoMayEdit:
    async def test_colleagues_edit_and_delete_what_the_firm_shares(self, backend: Backend, firm: FirmOfTest) -> None:
        for draft in (on_matter(DUE_12), of_firm(DUE_12)):
            old = await remember(backend, firm.a, draft)
            new = await edit(backend, firm.b, old.id, DUE_14)
            assert new.captured_by is not None and new.captured_by.name == "Ben Okafor"
            gone = await archive(backend, firm.b, new.id)
            assert gone.archived_by is not None and gone.archived_by.name == "Ben Okafor"

    async def test_nobody_else_finds_a_personal_memory(
        self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest
    ) -> None:
        personal_one = await remember(backend, firm.a, DUE_12)
        shared = await remember(backend, firm.a, on_matter(DUE_12))
        for caller, memory_id in ((firm.b, personal_one.id), (rival.a, personal_one.id), (rival.a, shared.id)):
            for attempt in (
                edit(backend, caller, memory_id, DUE_14),
                edit(backend, caller, new_id(), DUE_14),
                archive(backend, caller, memory_id),
                restore(backend, caller, memory_id),
                history(backend, caller, memory_id),
            ):
                with pytest.raises(MemoryNotFound) as error:
                    await attempt
                assert (str(error.value), error.value.detail) == ("There is no such memory.", {})
        assert sorted(await everything(backend, firm.a)) == [DUE_12, DUE_12]


class TestRefusedEdit:
    async def test_by_a_rule_that_the_new_text_meets(self, backend: Backend, firm: FirmOfTest) -> None:
        old = await remember(backend, firm.a, "The witness lives in Kent.")
        rule = await create_rule(backend, firm.a, "never_remember", None, None, "home address")
        with pytest.raises(EditRefusedByRule, match="home address") as error:
            await edit(backend, firm.a, old.id, "The home address of the witness is in Kent.")
        assert error.value.detail["rule_id"] == rule.id
        assert await everything(backend, firm.a) == ["The witness lives in Kent."]

    async def test_not_by_a_rule_that_the_old_text_met_already(self, backend: Backend, firm: FirmOfTest) -> None:
        old = await remember(backend, firm.a, "His home address is in Kent.")
        await create_rule(backend, firm.a, "never_remember", None, None, "home address")
        new = await edit(backend, firm.a, old.id, "His home address is in Surrey.")
        assert (await edit(backend, firm.a, new.id, "He has moved.")).content == "He has moved."

    async def test_by_a_rule_on_the_new_type(self, backend: Backend, firm: FirmOfTest) -> None:
        old = await remember(backend, firm.a, DUE_12)
        await create_rule(backend, firm.a, "never_remember", Scope.USER_PRIVATE, MemoryType.DEADLINE, None)
        with pytest.raises(EditRefusedByRule):
            await edit(backend, firm.a, old.id, type=MemoryType.DEADLINE)

    async def test_by_the_wall_for_what_the_firm_shares(self, backend: Backend, firm: FirmOfTest) -> None:
        tainted = replace(firm.a, thread_id=new_id())
        shared = await remember(backend, firm.a, on_matter(DUE_12))
        own = await remember(backend, firm.a, personal(DUE_12))
        await record_consultation(backend, tainted, "netdocuments")
        with pytest.raises(EditRefusedByWall, match="NetDocuments"):
            await edit(backend, tainted, shared.id, DUE_14)
        assert (await edit(backend, tainted, own.id, DUE_14)).content == DUE_14
        assert (await archive(backend, tainted, shared.id)).status == "archived", "deleting writes nothing new"
