"""A lawyer's threads: opened, listed, renamed, deleted; and nobody else's."""

from __future__ import annotations

import pytest

from north.chat.threads import create_thread, delete_thread, get_thread, list_threads, rename_thread
from north.chat.turn import run_turn
from north.errors import InvalidInput, MatterNotFound, ThreadNotFound
from north.memory.backend import Backend
from north.memory.edit import archive, edit
from north.model import new_id
from tests.chat.script import Script, call, open_thread
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.remembering import everything, stored


class TestOpening:
    async def test_on_a_matter_or_on_none(self, backend: Backend, firm: FirmOfTest) -> None:
        for reference in ("HV-1001", str(firm.matter.id)):
            thread = await create_thread(backend, firm.a, reference)
            assert thread.matter is not None and thread.matter.number == "HV-1001"
        assert (await create_thread(backend, firm.a, None)).matter is None

    async def test_on_a_matter_that_the_firm_has(self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest) -> None:
        for reference in ("HV-9", str(rival.matter.id), str(new_id()), "HV\0"):
            with pytest.raises(MatterNotFound):
                await create_thread(backend, firm.a, reference)
        assert await list_threads(backend, firm.a) == []


class TestListing:
    async def test_has_the_last_used_first(self, backend: Backend, firm: FirmOfTest) -> None:
        first, second = await open_thread(backend, firm.a), await open_thread(backend, firm.a, "HV-1001")
        await open_thread(backend, firm.b)
        script = Script(["One."], ["Two."])
        await run_turn(script.assistant(backend), firm.a, second, "The Vance hearing\nin detail")
        await run_turn(script.assistant(backend), firm.a, first, "Citations, please")
        listed = await list_threads(backend, firm.a)
        assert [(thread.id, thread.title) for thread in listed] == [
            (first, "Citations, please"),
            (second, "The Vance hearing"),
        ]
        assert [thread.id for thread in await list_threads(backend, firm.a, limit=1)] == [first]
        assert [thread.id for thread in await list_threads(backend, firm.a, query="HEARING vance")] == [second]
        assert await list_threads(backend, firm.a, query="%") == []

    async def test_keeps_the_title_of_the_first_message(self, backend: Backend, firm: FirmOfTest) -> None:
        thread = await open_thread(backend, firm.a)
        script = Script(["One."], ["Two."])
        for text in ("First", "Second"):
            await run_turn(script.assistant(backend), firm.a, thread, text)
        assert (await get_thread(backend, firm.a, thread)).title == "First"


class TestPrivacy:
    async def test_a_thread_is_its_lawyers_alone(self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest) -> None:
        thread = await open_thread(backend, firm.a, "HV-1001")
        await run_turn(Script(["One."]).assistant(backend), firm.a, thread, "Hello")
        for caller, thread_id in ((firm.b, thread), (rival.a, thread), (firm.a, new_id())):
            for attempt in (
                get_thread(backend, caller, thread_id),
                rename_thread(backend, caller, thread_id, "Mine"),
                delete_thread(backend, caller, thread_id),
            ):
                with pytest.raises(ThreadNotFound) as error:
                    await attempt
                assert (str(error.value), error.value.detail) == ("There is no such thread.", {})
        assert (await get_thread(backend, firm.a, thread)).title == "Hello"

    async def test_a_memory_that_changed_hands_is_shown_as_it_is_now(self, backend: Backend, firm: FirmOfTest) -> None:
        thread = await open_thread(backend, firm.a, "HV-1001")
        save = call("save_memory", content="The client is Orion.", type="party", scope="matter")
        answer = await run_turn(Script([save], ["Noted."]).assistant(backend), firm.a, thread, "Note it.")
        new = await edit(backend, firm.b, answer.saved[0].id, "The client is Lyra.")
        await archive(backend, firm.b, new.id)
        (shown,) = (await get_thread(backend, firm.a, thread)).messages[-1].saved
        assert (shown.content, shown.status) == ("The client is Orion.", "superseded")


class TestRenaming:
    async def test_takes_a_short_line(self, backend: Backend, firm: FirmOfTest) -> None:
        thread = await open_thread(backend, firm.a)
        assert (await rename_thread(backend, firm.a, thread, "  Vance  ")).title == "Vance"
        for title in ("", " ", "x" * 121, "two\nlines", "a\0", "a\ud800"):
            with pytest.raises(InvalidInput):
                await rename_thread(backend, firm.a, thread, title)
        assert (await get_thread(backend, firm.a, thread)).title == "Vance"


class TestDeleting:
    async def test_hides_the_thread_and_keeps_what_was_remembered(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        thread = await open_thread(backend, firm.a)
        save = call("save_memory", content="The client is Orion.", type="party")
        await run_turn(Script([save], ["Noted."]).assistant(backend), firm.a, thread, "Note it.")
        await delete_thread(backend, firm.a, thread)
        assert await list_threads(backend, firm.a) == []
        for attempt in (get_thread(backend, firm.a, thread), delete_thread(backend, firm.a, thread)):
            with pytest.raises(ThreadNotFound):
                await attempt
        with pytest.raises(ThreadNotFound):
            await run_turn(Script().assistant(backend), firm.a, thread, "Still there?")
        assert await everything(backend, firm.a) == ["The client is Orion."]
        rows = stored(database, "select role from chat_message where thread_id = %s", thread)
        assert len(rows) == 2, "nothing is hard-deleted"
