"""A conversation that is not remembered."""

from __future__ import annotations

from north.chat.assistant import make_assistant
from north.chat.models import make_model
from north.chat.threads import create_thread, get_thread
from north.chat.turn import run_turn
from north.memory.backend import Backend
from tests.chat.script import Script, call
from tests.conftest import FirmOfTest
from tests.web.conftest import live, remember

BLUEBOOK = "I always want citations in Bluebook form."


class TestIncognito:
    async def test_saves_nothing_of_what_is_said(self, backend: Backend, firm: FirmOfTest) -> None:
        assistant = make_assistant(backend, make_model("offline", backend.settings))
        thread = await create_thread(backend, firm.a, "HV-1001", incognito=True)
        for text in (BLUEBOOK, "Please remember that the client is Orion."):
            answer = await run_turn(assistant, firm.a, thread.id, text)
            assert answer.saved == ()
        assert await live(backend, firm.a) == []

    async def test_lets_no_model_save_or_change_a_memory(self, backend: Backend, firm: FirmOfTest) -> None:
        known = await remember(backend, firm.a, "The client is Orion.")
        thread = await create_thread(backend, firm.a, None, incognito=True)
        save = call("save_memory", content="The client is Lyra.", type="party")
        change = call("update_memory", content="The client is Lyra.", memory_id=str(known.id))
        script = Script([save, change], ["I cannot."])
        answer = await run_turn(script.assistant(backend), firm.a, thread.id, "The client is Lyra.")
        assert await live(backend, firm.a) == ["The client is Orion."]
        assert answer.saved == ()
        assert [told.partition(".")[0] for told in script.told()] == [
            "Unknown tool name: 'save_memory'",
            "Unknown tool name: 'update_memory'",
        ]
        assert "nothing of this conversation is remembered" in script.instructions[0]

    async def test_uses_what_is_known_and_forgets_what_it_is_told_to(self, backend: Backend, firm: FirmOfTest) -> None:
        known = await remember(backend, firm.a, "The client is Orion.")
        thread = await create_thread(backend, firm.a, None, incognito=True)
        script = Script(
            [call("recall_memory", query="client"), call("forget_memory", memory_id=str(known.id))], ["Done."]
        )
        answer = await run_turn(script.assistant(backend), firm.a, thread.id, "Who is the client? Forget it then.")
        assert [memory.content for memory in answer.recalled] == ["The client is Orion."]
        assert await live(backend, firm.a) == []

    async def test_is_fixed_when_the_thread_is_opened(self, backend: Backend, firm: FirmOfTest) -> None:
        hidden = await create_thread(backend, firm.a, None, incognito=True)
        usual = await create_thread(backend, firm.a, None)
        assert (await get_thread(backend, firm.a, hidden.id)).incognito
        assert not (await get_thread(backend, firm.a, usual.id)).incognito


class TestForgotten:
    async def test_is_told_of_an_answer_that_is_read_again(self, backend: Backend, firm: FirmOfTest) -> None:
        known = await remember(backend, firm.a, "The client is Orion.")
        thread = await create_thread(backend, firm.a, None)
        script = Script([call("forget_memory", memory_id=str(known.id))], ["Done."])
        answer = await run_turn(script.assistant(backend), firm.a, thread.id, "Forget the client.")
        [_, again] = (await get_thread(backend, firm.a, thread.id)).messages
        for message in (answer, again):
            [forgotten] = message.forgotten
            assert (forgotten.content, forgotten.status) == ("The client is Orion.", "archived")
