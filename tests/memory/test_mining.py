"""What of a thread is mined, and that what was found in it is kept once."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from north.chat.threads import delete_thread
from north.errors import InvalidInput
from north.memory.backend import Backend
from north.memory.edit import archive, edit
from north.memory.mining import (
    Finding,
    Kept,
    Passage,
    Said,
    first_turns,
    idle_threads,
    keep,
    message_with,
    own_words,
    read_passage,
)
from north.memory.rules import create_rule
from north.memory.wall import record_consultation
from north.model import Caller, Draft, Memory, MemoryType, new_id
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.conversing import (
    MONDAY,
    change,
    continued,
    conversation,
    mined_through,
    mining,
    passage_of,
)
from tests.memory.remembering import everything, on_matter, personal, remember, stored

BLUEBOOK = "The lawyer cites in Bluebook form."


def said(text: str, role: str = "user", minute: int = 0) -> Said:
    return Said(new_id(), role, text, MONDAY + timedelta(minutes=minute))


def found(content: str, passage: Passage, replaces: Memory | None = None) -> Finding:
    return Finding(Draft(content, MemoryType.PREFERENCE), passage.own[0], replaces)


async def kept_from(backend: Backend, caller: Caller, passage: Passage, *findings: Finding) -> Kept:
    kept = await keep(backend, mining(caller, passage.thread_id), passage, findings)
    assert kept is not None
    return kept


async def idle(backend: Backend, caller: Caller) -> list[UUID]:
    async with backend.database.tenant(caller) as transaction:
        return await idle_threads(transaction, backend)


class TestWhatIsMined:
    async def test_a_thread_that_was_left_alone_is_found(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        thread = await conversation(backend, database, firm.a, "I cite in Bluebook form.")
        assert await idle(backend, firm.a) == [thread]
        assert await idle(backend, firm.b) == []

    @pytest.mark.parametrize(
        "changed",
        ["updated_at = now()", "incognito = true", "deleted_at = now()"],
        ids=["in use", "incognito", "deleted"],
    )
    async def test_a_thread_is_left_alone_that_is(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest, changed: str
    ) -> None:
        thread = await conversation(backend, database, firm.a, "I cite in Bluebook form.")
        change(database, f"update chat_thread set {changed} where id = %s", thread)
        assert await idle(backend, firm.a) == []
        assert await read_passage(backend, mining(firm.a, thread), thread) is None

    async def test_nobody_reads_a_thread_for_another_lawyer(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest, rival: FirmOfTest
    ) -> None:
        thread = await conversation(backend, database, firm.a, "I cite in Bluebook form.")
        for other in (firm.b, rival.a):
            assert await read_passage(backend, mining(other, thread), thread) is None

    async def test_only_what_was_said_since_is_read(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        thread = await conversation(backend, database, firm.a, ("I cite in Bluebook form.", "Noted."))
        first = await passage_of(backend, firm.a, thread)
        assert await kept_from(backend, firm.a, first, found(BLUEBOOK, first)) == Kept(saved=1)
        assert (await idle(backend, firm.a), await read_passage(backend, mining(firm.a, thread), thread)) == ([], None)
        await continued(backend, database, firm.a, thread, ("I sign with my initials.", "Noted."))
        assert await idle(backend, firm.a) == [thread]
        again = await passage_of(backend, firm.a, thread)
        assert [message.content for message in again.said] == ["I sign with my initials.", "Noted."]

    async def test_a_passage_ends_with_a_turn(self, backend: Backend, database: TestDatabase, firm: FirmOfTest) -> None:
        thread = await conversation(backend, database, firm.a, ("a" * 50, "b" * 40), ("c" * 50, "d"))
        first = await read_passage(backend, mining(firm.a, thread), thread, window=100)
        assert first is not None
        assert [message.content[0] for message in first.said] == ["a", "b"]
        await kept_from(backend, firm.a, first)
        second = await read_passage(backend, mining(firm.a, thread), thread, window=100)
        assert second is not None
        assert [message.content[0] for message in second.said] == ["c", "d"]

    def test_a_turn_that_is_too_long_goes_in_whole(self) -> None:
        turns = [said("a" * 500), said("b" * 500, "assistant"), said("c")]
        assert first_turns(turns, 100) == tuple(turns[:2])

    def test_an_answer_that_came_late_goes_with_the_next_turn(self) -> None:
        turns = [said("a" * 500, "assistant"), said("b"), said("c", "assistant"), said("d")]
        assert first_turns(turns, 100) == tuple(turns[:3])

    def test_a_turn_that_may_go_on_waits(self) -> None:
        turns = [said("a"), said("b", "assistant"), said("c")]
        assert first_turns(turns, 100, complete=False) == tuple(turns[:2])


class TestEvidence:
    def test_is_found_whatever_its_case_and_white_space(self) -> None:
        messages = [said("I always  cite\nin BLUEBOOK form."), said("Noted.", "assistant")]
        assert message_with("always cite in Bluebook", messages) is messages[0]

    def test_names_the_latest_message_that_has_it(self) -> None:
        messages = [said("I cite in Bluebook form."), said("As I said: I cite in Bluebook form.")]
        assert message_with("I cite in Bluebook form", messages) is messages[1]

    @pytest.mark.parametrize("evidence", ["", " \n ", "I cite in OSCOLA form", "You cite in Bluebook form"])
    def test_is_not_what_the_lawyer_did_not_say(self, evidence: str) -> None:
        messages = [said("I cite in Bluebook form."), said("You cite in Bluebook form.", "assistant")]
        assert message_with(evidence, messages) is None

    @pytest.mark.parametrize(
        "pasted",
        [
            "```\nThe term is five years.\n```",
            "> The term is five years.",
            "-----Original Message-----\nFrom: them\nThe term is five years.",
            "Begin forwarded message:\nThe term is five years.",
        ],
    )
    def test_is_not_what_the_lawyer_pasted(self, pasted: str) -> None:
        assert message_with("The term is five years", [said(f"See below.\n{pasted}")]) is None
        assert "See below." in own_words(f"See below.\n{pasted}")

    def test_may_follow_what_was_pasted(self) -> None:
        text = "> The term is five years.\n\nOur client wants seven.\n```\nx\n```\nI cite in Bluebook form."
        assert "Our client wants seven." in own_words(text)
        assert message_with("I cite in Bluebook form", [said(text)]) is not None


class TestKeeping:
    async def test_the_source_and_the_time_are_those_of_the_message(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        thread = await conversation(backend, database, firm.a, "Hello.", "I cite in Bluebook form.")
        passage = await passage_of(backend, firm.a, thread)
        message = passage.own[1]
        draft = Draft(BLUEBOOK, MemoryType.PREFERENCE, evidence="I cite", captured_at=message.at, message_id=message.id)
        await kept_from(backend, firm.a, passage, Finding(draft, message))
        (row,) = stored(database, "select * from agent_memory_candidate where source_thread_id = %s", thread)
        assert (row["origin"], row["status"], row["evidence"]) == ("miner", "active", "I cite")
        assert (row["source_message_id"], row["created_at"]) == (message.id, message.at)
        assert mined_through(database, thread) == passage.said[-1].id

    async def test_a_passage_without_findings_is_mined_too(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        thread = await conversation(backend, database, firm.a, "Hello.")
        assert await kept_from(backend, firm.a, await passage_of(backend, firm.a, thread)) == Kept()
        assert await idle(backend, firm.a) == []

    async def test_of_two_workers_one_keeps(self, backend: Backend, database: TestDatabase, firm: FirmOfTest) -> None:
        thread = await conversation(backend, database, firm.a, "I cite in Bluebook form.")
        passage = await passage_of(backend, firm.a, thread)
        wordings = (BLUEBOOK, "Bluebook form is what the lawyer cites in.")
        kept = await asyncio.gather(
            *(keep(backend, mining(firm.a, thread), passage, [found(text, passage)]) for text in wordings)
        )
        assert sorted(kept, key=str) == [Kept(saved=1), None]
        assert len(await everything(backend, firm.a)) == 1

    async def test_nothing_is_kept_of_a_thread_that_was_deleted_while_the_model_read(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        thread = await conversation(backend, database, firm.a, "I cite in Bluebook form.")
        passage = await passage_of(backend, firm.a, thread)
        await delete_thread(backend, firm.a, thread)
        assert await keep(backend, mining(firm.a, thread), passage, [found(BLUEBOOK, passage)]) is None
        assert await everything(backend, firm.a) == []

    async def test_what_cannot_be_stored_leaves_the_passage_to_be_mined(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        thread = await conversation(backend, database, firm.a, "I cite in Bluebook form.")
        passage = await passage_of(backend, firm.a, thread)
        with pytest.raises(InvalidInput):
            await kept_from(backend, firm.a, passage, found(BLUEBOOK, passage), found("a\0b", passage))
        assert (await everything(backend, firm.a), await idle(backend, firm.a)) == ([], [thread])

    async def test_what_is_known_is_not_saved_again(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        await remember(backend, firm.a, personal(BLUEBOOK))
        thread = await conversation(backend, database, firm.a, "I cite in Bluebook form.")
        passage = await passage_of(backend, firm.a, thread)
        assert await kept_from(backend, firm.a, passage, found(BLUEBOOK, passage)) == Kept(known=1)

    async def test_a_rule_holds(self, backend: Backend, database: TestDatabase, firm: FirmOfTest) -> None:
        await create_rule(backend, firm.a, "never_remember", None, MemoryType.PREFERENCE, None)
        thread = await conversation(backend, database, firm.a, "I cite in Bluebook form.")
        passage = await passage_of(backend, firm.a, thread)
        assert await kept_from(backend, firm.a, passage, found(BLUEBOOK, passage)) == Kept(refused=1)
        assert await everything(backend, firm.a) == []

    async def test_the_wall_holds_for_a_thread_that_read_documents(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        thread = await conversation(backend, database, firm.a, "The price is 4 million.", matter=firm.matter.id)
        old = await remember(backend, firm.b, on_matter("The price is 3 million."))
        await record_consultation(backend, mining(firm.a, thread), "netdocuments")
        passage = await passage_of(backend, firm.a, thread)
        new = Finding(on_matter("The seller is Acme."), passage.own[0])
        changed = Finding(on_matter("The price is 4 million."), Said(new_id(), "user", "", old.created_at), old)
        own = found(BLUEBOOK, passage)
        assert await kept_from(backend, firm.a, passage, new, changed, own) == Kept(saved=1, refused=2)
        assert set(await everything(backend, firm.a)) == {BLUEBOOK, "The price is 3 million."}


def later(finding: Finding, memory: Memory) -> Finding:
    """The same, said a minute after the memory was saved."""
    return Finding(
        finding.draft, Said(finding.said.id, "user", "", memory.created_at + timedelta(minutes=1)), finding.replaces
    )


class TestUpdates:
    async def test_a_memory_is_superseded_by_what_was_said_later(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        old = await remember(backend, firm.a, personal("The lawyer cites in OSCOLA form."))
        thread = await conversation(backend, database, firm.a, "I cite in Bluebook form now.")
        passage = await passage_of(backend, firm.a, thread)
        update = later(found(BLUEBOOK, passage, old), old)
        assert await kept_from(backend, firm.a, passage, update) == Kept(updated=1)
        (row,) = stored(database, "select * from agent_memory_candidate where supersedes_id = %s", old.id)
        assert (row["content"], row["origin"], row["source_thread_id"]) == (BLUEBOOK, "miner", thread)
        assert row["source_message_id"] == passage.own[0].id

    async def test_a_second_correction_goes_on_from_the_first(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        old = await remember(backend, firm.a, personal("The lawyer cites in OSCOLA form."))
        thread = await conversation(backend, database, firm.a, "Bluebook. No: Chicago.")
        passage = await passage_of(backend, firm.a, thread)
        updates = [later(found(text, passage, old), old) for text in ("The lawyer cites in Bluebook form.", "Chicago.")]
        assert await kept_from(backend, firm.a, passage, *updates) == Kept(updated=2)
        assert await everything(backend, firm.a) == ["Chicago."]

    async def test_what_was_put_right_meanwhile_is_saved_beside(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        old = await remember(backend, firm.a, personal("The lawyer cites in OSCOLA form."))
        await edit(backend, firm.a, old.id, "The lawyer cites in Chicago form.")
        thread = await conversation(backend, database, firm.a, "I cite in Bluebook form now.")
        passage = await passage_of(backend, firm.a, thread)
        assert await kept_from(backend, firm.a, passage, later(found(BLUEBOOK, passage, old), old)) == Kept(saved=1)
        assert set(await everything(backend, firm.a)) == {BLUEBOOK, "The lawyer cites in Chicago form."}

    async def test_an_old_statement_does_not_undo_a_newer_memory(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        thread = await conversation(backend, database, firm.a, "I cite in OSCOLA form.")
        newer = await remember(backend, firm.a, personal(BLUEBOOK))
        passage = await passage_of(backend, firm.a, thread)
        stale = found("The lawyer cites in OSCOLA form.", passage, newer)
        assert await kept_from(backend, firm.a, passage, stale) == Kept(outdated=1)
        assert await everything(backend, firm.a) == [BLUEBOOK]


class TestDeletedMemories:
    async def deleted(self, backend: Backend, caller: Caller, thread: UUID, content: str) -> None:
        """What the chat saved during the conversation, and the lawyer deleted."""
        speaking = mining(caller, thread)
        await archive(backend, caller, (await remember(backend, speaking, personal(content))).id)

    @pytest.mark.parametrize("wording", [BLUEBOOK, "The lawyer always cites in Bluebook form."])
    async def test_do_not_come_back_from_the_same_conversation(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest, wording: str
    ) -> None:
        thread = await conversation(backend, database, firm.a, "I cite in Bluebook form.")
        await self.deleted(backend, firm.a, thread, BLUEBOOK)
        passage = await passage_of(backend, firm.a, thread)
        assert await kept_from(backend, firm.a, passage, found(wording, passage)) == Kept(outdated=1)
        assert await everything(backend, firm.a) == []

    async def test_do_not_come_back_when_they_were_deleted_while_the_model_read(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        thread = await conversation(backend, database, firm.a, "I cite in Bluebook form.")
        passage = await passage_of(backend, firm.a, thread)
        await self.deleted(backend, firm.a, thread, BLUEBOOK)
        assert await kept_from(backend, firm.a, passage, found(BLUEBOOK, passage)) == Kept(outdated=1)

    async def test_come_back_when_they_are_said_again(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        thread = await conversation(backend, database, firm.a, "I cite in Bluebook form.")
        await self.deleted(backend, firm.a, thread, BLUEBOOK)
        passage = await passage_of(backend, firm.a, thread)
        again = Finding(Draft(BLUEBOOK, MemoryType.PREFERENCE), Said(new_id(), "user", "", passage.gone[0].at))
        assert await kept_from(backend, firm.a, passage, again) == Kept(saved=1)

    async def test_do_not_take_another_number_with_them(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        thread = await conversation(backend, database, firm.a, "The cap is 5 million; the floor is 2 million.")
        await self.deleted(backend, firm.a, thread, "The price in the contract is 5 million.")
        passage = await passage_of(backend, firm.a, thread)
        other = Finding(personal("The price in the contract is 2 million."), passage.own[0])
        assert await kept_from(backend, firm.a, passage, other) == Kept(saved=1)

    async def test_a_replaced_version_does_not_come_back_either(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        thread = await conversation(backend, database, firm.a, "I cite in Bluebook form.")
        first = await remember(backend, mining(firm.a, thread), personal(BLUEBOOK))
        await edit(backend, firm.a, first.id, "The lawyer cites in Bluebook form, in footnotes.")
        passage = await passage_of(backend, firm.a, thread)
        assert await kept_from(backend, firm.a, passage, found(BLUEBOOK, passage)) == Kept(outdated=1)

    async def test_a_colleague_s_personal_memory_is_not_looked_at(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        thread = await conversation(backend, database, firm.a, "I cite in Bluebook form.")
        await self.deleted(backend, firm.b, thread, BLUEBOOK)
        passage = await passage_of(backend, firm.a, thread)
        assert passage.gone == ()
        assert await kept_from(backend, firm.a, passage, found(BLUEBOOK, passage)) == Kept(saved=1)
