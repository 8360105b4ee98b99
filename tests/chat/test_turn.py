"""A turn: what the lawyer sees of it, what is stored, and what the model is given."""

from __future__ import annotations

import asyncio

import pytest
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

from north.chat.events import Recalling, TextDelta, TurnFailed, TurnFinished
from north.chat.threads import get_thread, title_of
from north.chat.turn import run_turn, stream_turn
from north.errors import ContentEmpty, ContentNotText, MessageTooLong, ModelConfused, ModelUnavailable, ThreadNotFound
from north.memory.backend import Backend
from north.model import Message, new_id
from tests.chat.script import Script, call, events_of, open_thread
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.remembering import on_matter, personal, remember, stored

DOWN = ModelAPIError("scripted", "connection lost")


def shown(messages: tuple[Message, ...]) -> list[tuple[str, str, str | None]]:
    return [(message.role, message.content, message.error_code) for message in messages]


class TestAnswer:
    async def test_streams_in_and_is_stored_whole(self, backend: Backend, firm: FirmOfTest) -> None:
        thread = await open_thread(backend, firm.a)
        events = await events_of(
            Script(["Good ", "morning", "."]).assistant(backend), firm.a, thread, " Hello\r\nthere. "
        )
        assert [event.text for event in events if isinstance(event, TextDelta)] == ["Good ", "morning", "."]
        assert isinstance(events[0], Recalling) and isinstance(events[-1], TurnFinished)
        assert events[-1].message.content == "Good morning."
        kept = await get_thread(backend, firm.a, thread)
        assert shown(kept.messages) == [("user", "Hello\nthere.", None), ("assistant", "Good morning.", None)]
        assert kept.title == "Hello"

    async def test_is_given_whole_to_who_does_not_stream(self, backend: Backend, firm: FirmOfTest) -> None:
        thread = await open_thread(backend, firm.a)
        message = await run_turn(Script(["Good ", "morning."]).assistant(backend), firm.a, thread, "Hello.")
        assert (message.role, message.content) == ("assistant", "Good morning.")

    async def test_before_and_after_a_tool_is_two_paragraphs(self, backend: Backend, firm: FirmOfTest) -> None:
        thread = await open_thread(backend, firm.a)
        script = Script(["One moment.", call("recall_memory", query="style")], ["Bluebook."])
        message = await run_turn(script.assistant(backend), firm.a, thread, "Which style?")
        assert message.content == "One moment.\n\nBluebook."

    @pytest.mark.parametrize("answer", ["a NUL \0 here", "half a sign \ud83d here", "￾ and 🦉"])
    async def test_of_any_characters_is_stored(self, backend: Backend, firm: FirmOfTest, answer: str) -> None:
        thread = await open_thread(backend, firm.a)
        script = Script([answer], ["Yes."])
        await run_turn(script.assistant(backend), firm.a, thread, "Hello.")
        await run_turn(script.assistant(backend), firm.a, thread, "Still there?")
        assert len((await get_thread(backend, firm.a, thread)).messages) == 4


class TestMemory:
    async def test_is_in_the_prompt_and_shown_as_recalled(self, backend: Backend, firm: FirmOfTest) -> None:
        own = await remember(backend, firm.a, personal("I cite in Bluebook form."))
        shared = await remember(backend, firm.b, on_matter("The client is a Delaware LLC."))
        await remember(backend, firm.b, on_matter("The client is a Dutch BV.", "HV-1002"))
        await remember(backend, firm.b, personal("Ben hates Bluebook."))
        script = Script(["Bluebook."])
        thread = await open_thread(backend, firm.a, "HV-1001")
        message = await run_turn(script.assistant(backend), firm.a, thread, "How do I cite?")
        (instructions,) = script.instructions
        assert "I cite in Bluebook form." in instructions and "Delaware" in instructions
        assert "Dutch" not in instructions and "Ben hates" not in instructions
        assert "This conversation is on matter HV-1001." in instructions
        assert {memory.id for memory in message.recalled} == {own.id, shared.id}

    async def test_in_the_prompt_is_noted_as_used_in_this_turn(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        memory = await remember(backend, firm.a, personal("I cite in Bluebook form."))
        thread = await open_thread(backend, firm.a)
        await run_turn(Script(["Bluebook."]).assistant(backend), firm.a, thread, "How do I cite?")
        asked = (await get_thread(backend, firm.a, thread)).messages[0]
        uses = stored(
            database, "select memory_id, thread_id, message_id, surface from memory_use where memory_id = %s", memory.id
        )
        assert uses == [{"memory_id": memory.id, "thread_id": thread, "message_id": asked.id, "surface": "chat"}]

    async def test_of_an_old_turn_is_not_replayed(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        await remember(backend, firm.a, personal("I cite in Quokka form."))
        thread = await open_thread(backend, firm.a)
        script = Script(["Noted."], ["Again."])
        await run_turn(script.assistant(backend), firm.a, thread, "Hello.")
        await run_turn(script.assistant(backend), firm.a, thread, "And now?")
        old, new = script.requests[1][0], script.requests[1][-1]
        assert isinstance(old, ModelRequest) and old.instructions is None
        assert isinstance(new, ModelRequest) and "Quokka" in (new.instructions or "")
        rows = stored(database, "select model_messages::text from chat_message where thread_id = %s", thread)
        assert not any("Quokka" in (row["model_messages"] or "") for row in rows)


class TestHistory:
    async def test_gives_the_model_what_was_said(self, backend: Backend, firm: FirmOfTest) -> None:
        thread = await open_thread(backend, firm.a)
        script = Script(["One."], ["Two."], ["Three."])
        for text in ("First?", "Second?", "Third?"):
            await run_turn(script.assistant(backend), firm.a, thread, text)
        said = [
            part.content
            for message in script.requests[-1]
            for part in message.parts
            if isinstance(part, UserPromptPart | TextPart)
        ]
        assert said == ["First?", "One.", "Second?", "Two.", "Third?"]

    async def test_of_two_turns_at_once_holds_both_in_pairs(self, backend: Backend, firm: FirmOfTest) -> None:
        thread = await open_thread(backend, firm.a)
        gate = asyncio.Event()
        first, second, third = Script([gate, "One."]), Script(["Two."]), Script(["Three."])
        slow = asyncio.create_task(run_turn(first.assistant(backend), firm.a, thread, "First?"))
        await first.asked.wait()
        await run_turn(second.assistant(backend), firm.a, thread, "Second?")
        gate.set()
        await slow
        await run_turn(third.assistant(backend), firm.a, thread, "Third?")
        kinds = [type(message) for message in third.requests[0]]
        assert kinds == [ModelRequest, ModelResponse, ModelRequest, ModelResponse, ModelRequest]
        said = [message.content for message in (await get_thread(backend, firm.a, thread)).messages]
        assert sorted(said) == sorted(["First?", "Second?", "One.", "Two.", "Third?", "Three."])


class TestFailure:
    async def test_keeps_the_message_which_can_be_sent_again(self, backend: Backend, firm: FirmOfTest) -> None:
        thread = await open_thread(backend, firm.a)
        script = Script(["In Blue", DOWN], [DOWN], ["Bluebook."])
        for _ in range(2):
            events = await events_of(script.assistant(backend), firm.a, thread, "How do I cite?")
            assert isinstance(events[-1], TurnFailed) and isinstance(events[-1].error, ModelUnavailable)
            assert events[-1].user_message.error_code == "model_unavailable"
            kept = (await get_thread(backend, firm.a, thread)).messages
            assert shown(kept) == [("user", "How do I cite?", "model_unavailable")]
        await run_turn(script.assistant(backend), firm.a, thread, "How do I cite?")
        kept = (await get_thread(backend, firm.a, thread)).messages
        assert shown(kept) == [("user", "How do I cite?", None), ("assistant", "Bluebook.", None)]
        assert len(script.requests[-1]) == 1, "the failed attempts are not replayed"

    async def test_is_an_error_for_who_does_not_stream(self, backend: Backend, firm: FirmOfTest) -> None:
        thread = await open_thread(backend, firm.a)
        with pytest.raises(ModelUnavailable, match="Your message is kept"):
            await run_turn(Script([DOWN]).assistant(backend), firm.a, thread, "How do I cite?")

    async def test_of_one_message_does_not_stop_the_next(self, backend: Backend, firm: FirmOfTest) -> None:
        thread = await open_thread(backend, firm.a)
        script = Script([DOWN], ["Yes."])
        await events_of(script.assistant(backend), firm.a, thread, "How do I cite?")
        await run_turn(script.assistant(backend), firm.a, thread, "Are you there?")
        kept = (await get_thread(backend, firm.a, thread)).messages
        assert [message.error_code for message in kept] == ["model_unavailable", None, None]

    async def test_of_a_model_that_only_calls_tools_ends(self, backend: Backend, firm: FirmOfTest) -> None:
        thread = await open_thread(backend, firm.a)
        script = Script(*([call("recall_memory", query="again")] for _ in range(50)))
        with pytest.raises(ModelConfused):
            await run_turn(script.assistant(backend), firm.a, thread, "How do I cite?")
        assert len(script.requests) == 12

    async def test_of_a_wrong_call_is_told_to_the_model(self, backend: Backend, firm: FirmOfTest) -> None:
        thread = await open_thread(backend, firm.a)
        script = Script(
            [call("no_such_tool")], [call("save_memory", content="One.", type="no such type")], ["Never mind."]
        )
        message = await run_turn(script.assistant(backend), firm.a, thread, "How do I cite?")
        assert (message.content, message.saved) == ("Never mind.", ())


class TestInput:
    @pytest.mark.parametrize(
        ("text", "error"),
        [
            ("", ContentEmpty),
            (" \n\t", ContentEmpty),
            ("a\0b", ContentNotText),
            ("a\ud800b", ContentNotText),
            ("a" * 100_001, MessageTooLong),
        ],
    )
    async def test_that_is_no_message_is_refused_and_not_stored(
        self, backend: Backend, firm: FirmOfTest, text: str, error: type[Exception]
    ) -> None:
        thread = await open_thread(backend, firm.a)
        with pytest.raises(error):
            await anext(stream_turn(Script().assistant(backend), firm.a, thread, text))
        assert (await get_thread(backend, firm.a, thread)).messages == ()

    async def test_for_another_lawyers_thread_is_for_none(
        self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest
    ) -> None:
        thread = await open_thread(backend, firm.a)
        for caller, thread_id in ((firm.b, thread), (rival.a, thread), (firm.a, new_id())):
            with pytest.raises(ThreadNotFound):
                await anext(stream_turn(Script().assistant(backend), caller, thread_id, "Hello."))

    @pytest.mark.parametrize(
        ("text", "title"),
        [
            ("Hello.", "Hello."),
            ("\n\n  First line \n second", "First line"),
            ("word " * 40, ("word " * 12).strip() + "…"),
            ("x" * 100, "x" * 60 + "…"),
            ("\u202e\u200b", "New chat"),
        ],
    )
    def test_gives_the_thread_its_title(self, text: str, title: str) -> None:
        assert title_of(text) == title
