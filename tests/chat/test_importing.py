"""What comes of an export: what is saved, what is left out and why, and a report that adds up."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from north.chat.importing import run_import
from north.chat.mining import make_miner
from north.connectors.chat_history.shapes import Broken, Conversation, ExplicitMemory, Item, Skipped
from north.memory.backend import Backend
from north.memory.imports import begin, get_import
from north.memory.rules import create_rule
from north.model import (
    FailedConversation,
    Import,
    ImportStatus,
    Origin,
    Scope,
    Source,
    new_id,
)
from tests.chat.exported import MARCH, Exports, adds_up, conversation, counts, remembered
from tests.chat.importing import BILLING, BILLS, delete, memories
from tests.chat.importing import exports as exports
from tests.chat.mining_script import BLUEBOOK, SAID, Reader, mined
from tests.chat.test_mining_failures import serving as serving
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.remembering import count, everything, remember


class TestLanding:
    async def test_everything_is_the_importing_lawyers_own_with_its_time_and_label(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        done = await exports.bring_in(
            firm.a, conversation("1", SAID), remembered("- Bills in tenths.\n- Lives in Bonn.")
        )
        assert done.status is ImportStatus.FINISHED and done.progress == 1 and done.finished_at
        assert counts(done.report) == (2, 2, {}, 0, 3)
        found = {memory.content: memory for memory in await memories(backend, firm.a)}
        assert set(found) == {BLUEBOOK, "Bills in tenths.", "Lives in Bonn."}
        for memory in found.values():
            assert (memory.scope, memory.origin) == (Scope.USER_PRIVATE, Origin.IMPORT)
            assert memory.created_at == MARCH
        assert (found[BLUEBOOK].evidence or "?") in SAID
        assert found[BLUEBOOK].source == Source(None, None, "ChatGPT · Talk 1", yours=True)
        assert await everything(backend, firm.b) == []

    async def test_what_consulted_a_walled_source_says_so(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        title = "Talk " * 100
        walled = conversation("1", SAID, title=title, walled=("netdocuments", "imanage"))
        await exports.bring_in(firm.a, walled)
        (memory,) = await memories(backend, firm.a)
        assert memory.source and memory.source.label and memory.source.label.endswith(" · NetDocuments · iManage")
        assert memory.scope is Scope.USER_PRIVATE

    async def test_relative_days_are_counted_from_when_it_was_said(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        await exports.bring_in(firm.a, conversation("1", "The deadline for the Vance brief is tomorrow."))
        (content,) = await everything(backend, firm.a)
        assert "4 March 2025" in content or "March 4, 2025" in content or "2025-03-04" in content

    async def test_a_time_that_is_still_to_come_is_the_imports(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        done = await exports.bring_in(firm.a, conversation("1", SAID, at=MARCH + timedelta(days=40_000)))
        (memory,) = await memories(backend, firm.a)
        assert memory.created_at == done.created_at

    async def test_text_that_the_database_cannot_hold_is_no_obstacle(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        odd = conversation("1", f"\ud800\0. {SAID}", title="Odd \0\ud800\u202e title")
        done = await exports.bring_in(firm.a, odd, remembered("Lives in\0 Bonn.\ud800"), Broken("x", "\0\ud800", "\0"))
        assert counts(done.report) == (3, 2, {}, 1, 2)
        assert done.report.failed == (FailedConversation("Untitled", "unknown"),)


class TestReport:
    async def test_says_why_something_was_left_out(self, exports: Exports, backend: Backend, firm: FirmOfTest) -> None:
        await remember(backend, firm.a, "Lives in Bonn.")
        await create_rule(backend, firm.a, "never_remember", None, None, "dog")
        done = await exports.bring_in(
            firm.a,
            conversation("1", SAID),
            conversation("1", SAID),
            Skipped("chatgpt", "2", "Secret", "do_not_remember"),
            replace(conversation("3", SAID), turns=conversation("3", SAID).turns[1:]),
            remembered("Lives in Bonn."),
            remembered("Has a dog named Rex."),
            remembered("---"),
            Broken("chatgpt", "Torn", "It has no messages."),
        )
        skipped = {"repeated": 1, "do_not_remember": 1, "empty": 2, "already_known": 1, "refused_by_rule": 1}
        assert counts(done.report) == (8, 1, skipped, 1, 1)
        assert done.report.failed == (FailedConversation("Torn", "It has no messages."),)
        assert adds_up(done.report)

    async def test_what_the_file_repeats_word_for_word_counts_once(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        profile = remembered("I am a partner.", "profile")
        done = await exports.bring_in(
            firm.a, profile, conversation("1", SAID), profile, conversation("2", BILLS), profile
        )
        assert counts(done.report) == (3, 3, {}, 0, 3)

    async def test_a_memory_of_many_lines_is_one_item(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        await create_rule(backend, firm.a, "never_remember", None, None, "secret")
        lines = "\n".join(f"- Line number {number} of many." for number in range(250))
        secrets = "\n".join(f"- Secret number {number} of many." for number in range(250))
        done = await exports.bring_in(firm.a, remembered(lines), remembered(secrets))
        assert counts(done.report) == (2, 1, {"refused_by_rule": 1}, 0, 250)
        again = await exports.bring_in(firm.a, remembered(lines), remembered(secrets))
        assert counts(again.report) == (2, 0, {"already_imported": 2}, 0, 0)

    async def test_stays_short_and_counts_all(self, exports: Exports, firm: FirmOfTest) -> None:
        torn = [Broken("chatgpt", "t" * 5000, "r" * 5000)] * 150
        done = await exports.bring_in(firm.a, *torn)
        assert counts(done.report) == (150, 0, {}, 150, 0)
        assert len(done.report.failed) == 100 and len(done.report.failed[0].conversation) == 200

    async def test_a_file_that_is_refused_as_a_whole_fails_with_the_reason(
        self, backend: Backend, firm: FirmOfTest, tmp_path: Path
    ) -> None:
        path = tmp_path / "holiday.jpg"
        path.write_bytes(b"\xff\xd8\xff\xe0 not an export")
        begun = await begin(backend, firm.a, "holiday.jpg")
        done = await run_import(make_miner(backend, None), firm.a, begun.id, path)
        assert (done.status, done.error_code) == (ImportStatus.FAILED, "export_not_recognised")
        assert done.error and "North finds no conversations" in done.error
        assert counts(done.report) == (0, 0, {}, 0, 0)

    async def test_the_log_tells_numbers_and_nothing_else(self, exports: Exports, firm: FirmOfTest) -> None:
        with capture_logs() as logs:
            done = await exports.bring_in(firm.a, conversation("1", SAID, title="The Vance divorce"))
        (entry,) = [entry for entry in logs if entry["event"] == "import_run"]
        assert entry == {
            "event": "import_run",
            "log_level": "info",
            "id": str(done.id),
            "status": "finished",
            "seen": 1,
            "imported": 1,
            "skipped": 0,
            "failed": 0,
            "memories": 1,
        }
        assert not any(word in repr(logs) for word in ("Vance", "export.zip", "Bluebook"))

    async def test_progress_moves_and_never_back(self, exports: Exports, firm: FirmOfTest) -> None:
        told: list[Import] = []
        begun = await exports.begun(firm.a, *(conversation(str(number), SAID) for number in range(250)))
        await exports.run(firm.a, begun, told=told.append)
        progress = [each.progress for each in told]
        assert progress == sorted(progress) and len(set(progress)) >= 3 and progress[-1] == 1
        assert [each.report.seen for each in told] == sorted(each.report.seen for each in told)

    ITEM: st.SearchStrategy[Item] = st.one_of(
        st.builds(
            conversation,
            st.sampled_from("abcde"),
            st.sampled_from([SAID, BILLS, "What is a covenant?", "I have a dog and I live in Bonn."]),
            st.sampled_from(["Thanks.", SAID, "Actually, I bill in quarter hours."]),
        ),
        st.builds(remembered, st.sampled_from([BLUEBOOK, "- One.\n- Two.", "Has a dog.", "", "Lives in Bonn."])),
        st.just(Skipped("chatgpt", "x", "Left", "do_not_remember")),
        st.just(Broken("chatgpt", "Torn", "It is torn.")),
    )

    @staticmethod
    def of_this_example(item: Item) -> Item:
        return replace(item, key=f"{item.key} {new_id()}") if isinstance(item, Conversation) else item

    @settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(items=st.lists(ITEM, max_size=12), cut=st.integers(0, 12))
    async def test_adds_up_whatever_the_file_holds_and_however_often_it_comes(
        self, exports: Exports, database: TestDatabase, firm: FirmOfTest, items: list[Item], cut: int
    ) -> None:
        of_this_example = str(new_id())
        items = [
            replace(each, key=each.key + of_this_example) if isinstance(each, Conversation) else each for each in items
        ]
        before = count(database, "agent_memory_candidate", firm.a)
        for given_items in (items[:cut], items, items):
            done = await exports.bring_in(firm.a, *given_items)
            assert done.status is ImportStatus.FINISHED and adds_up(done.report)
            explicit = [each for each in given_items if isinstance(each, ExplicitMemory)]
            assert done.report.seen == len(given_items) - len(explicit) + len(set(explicit))
            before += done.report.memories
            assert count(database, "agent_memory_candidate", firm.a) == before
        assert done.report.imported == done.report.memories == 0, "the same file again brings nothing"


class TestAgain:
    async def test_the_same_file_brings_nothing(self, exports: Exports, backend: Backend, firm: FirmOfTest) -> None:
        items = (conversation("1", SAID), remembered("Lives in Bonn."))
        await exports.bring_in(firm.a, *items)
        again = await exports.bring_in(firm.a, *items)
        assert counts(again.report) == (2, 0, {"already_imported": 2}, 0, 0)
        assert len(await everything(backend, firm.a)) == 2

    async def test_what_a_colleague_imported_is_not_imported_for_me(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        for caller in (firm.a, firm.b):
            done = await exports.bring_in(caller, conversation("1", SAID))
            assert counts(done.report) == (1, 1, {}, 0, 1)

    async def test_of_a_longer_conversation_only_the_new_turns_are_read(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        await exports.bring_in(firm.a, conversation("1", SAID))
        reader = Reader([mined(BILLING, BILLS)])
        done = await exports.bring_in(firm.a, conversation("1", SAID, BILLS), miner=reader.miner(backend))
        assert counts(done.report) == (1, 1, {}, 0, 1)
        assert BILLS in reader.prompt() and SAID not in reader.prompt()

    async def test_a_longer_memory_brings_its_new_lines(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        await exports.bring_in(firm.a, remembered("- Lives in Bonn.\n- Has a dog."))
        await delete(backend, firm.a, "Has a dog.")
        done = await exports.bring_in(firm.a, remembered("- Lives in Bonn.\n- Has a dog.\n- Bills in tenths."))
        assert counts(done.report) == (1, 1, {}, 0, 1)
        assert set(await everything(backend, firm.a)) == {"Lives in Bonn.", "Bills in tenths."}

    async def test_two_imports_of_the_same_at_the_same_time_double_nothing(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        items = [conversation(str(number), f"I always cite case {number} in Bluebook form.") for number in range(40)]
        first, second = await exports.begun(firm.a, *items), await exports.begun(firm.a, *items)
        done = await asyncio.gather(exports.run(firm.a, first), exports.run(firm.a, second))
        assert all(adds_up(each.report) and each.report.seen == 40 for each in done)
        assert sum(each.report.imported for each in done) == sum(each.report.memories for each in done) == 40
        assert len(await memories(backend, firm.a)) == 40

    async def test_one_import_that_runs_twice_at_once_counts_once(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        begun = await exports.begun(firm.a, *(conversation(str(n), f"I always cite case {n}.") for n in range(150)))
        await asyncio.gather(*(exports.run(firm.a, begun) for _ in range(3)))
        done = await get_import(backend, firm.a, begun.id)
        assert counts(done.report) == (150, 150, {}, 0, 150)
        assert done.status is ImportStatus.FINISHED
