"""The memory tools of a conversation: what they do, what they tell the model, and what is out of its reach."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from pydantic_ai.exceptions import ModelAPIError

from north.chat.events import CaptureRefused, MemoryChanged, MemoryForgotten, MemorySaved, TurnEvent, TurnFailed
from north.chat.threads import get_thread
from north.chat.turn import run_turn
from north.memory.backend import Backend
from north.memory.listing import get_memory
from north.memory.rules import create_rule
from north.memory.wall import record_consultation
from north.model import Caller, Memory, Message, Origin, new_id
from tests.chat.script import Call, Script, call, events_of, open_thread
from tests.conftest import FirmOfTest
from tests.memory.remembering import everything, of_firm, on_matter, personal, remember

BLUEBOOK = "I cite in Bluebook form."


async def used(
    backend: Backend, caller: Caller, *calls: Call, matter: str | None = None, thread: UUID | None = None
) -> tuple[list[Any], list[TurnEvent], Message]:
    """What the tools told the model, what the lawyer saw, and the answer as it was stored."""
    script = Script(list(calls), ["Done."])
    thread_id = thread or await open_thread(backend, caller, matter)
    events = await events_of(script.assistant(backend), caller, thread_id, "Please.")
    return script.told(), events, (await get_thread(backend, caller, thread_id)).messages[-1]


def saves(content: str = BLUEBOOK, **more: str) -> Call:
    return call("save_memory", content=content, type="preference", **more)


def seen(events: list[TurnEvent], kind: type[MemorySaved | MemoryChanged | MemoryForgotten]) -> list[Memory]:
    return [event.memory for event in events if isinstance(event, kind)]


class TestSave:
    async def test_is_live_and_shown_and_known_in_the_next_thread(self, backend: Backend, firm: FirmOfTest) -> None:
        thread = await open_thread(backend, firm.a)
        (told,), events, answer = await used(backend, firm.a, saves(), thread=thread)
        assert (told["outcome"], told["memory"]["content"]) == ("saved", BLUEBOOK)
        (memory,) = seen(events, MemorySaved)
        assert [each.id for each in answer.saved] == [memory.id]
        asked = (await get_thread(backend, firm.a, thread)).messages[0]
        assert memory.origin is Origin.CHAT and memory.source is not None
        assert (memory.source.thread_id, memory.source.message_id) == (thread, asked.id)
        script = Script(["Bluebook."])
        message = await run_turn(
            script.assistant(backend), firm.a, await open_thread(backend, firm.a), "How do I cite a case?"
        )
        assert BLUEBOOK in script.instructions[0]
        assert [each.id for each in message.recalled] == [memory.id]

    async def test_on_a_matter_goes_to_the_matter_of_the_thread(self, backend: Backend, firm: FirmOfTest) -> None:
        text = "The client is a Delaware LLC."
        (told,), _, answer = await used(backend, firm.a, saves(text, scope="matter"), matter="HV-1002")
        assert told["outcome"] == "saved"
        assert answer.saved[0].matter is not None and answer.saved[0].matter.number == "HV-1002"
        assert await everything(backend, firm.b) == [text]

    async def test_on_no_matter_cannot_be_the_matters(self, backend: Backend, firm: FirmOfTest) -> None:
        (told,), _, answer = await used(backend, firm.a, saves(scope="matter"))
        assert told["outcome"] == "invalid" and "user_private" in told["message"]
        assert answer.saved == () and await everything(backend, firm.a) == []

    @pytest.mark.parametrize(
        "reach",
        [
            {"matter": "HV-1002"},
            {"organization_id": str(new_id())},
            {"user_id": str(new_id())},
            {"scope": "firm_global"},
        ],
    )
    async def test_cannot_be_aimed_elsewhere_by_the_model(
        self, backend: Backend, firm: FirmOfTest, reach: dict[str, str]
    ) -> None:
        _, _, answer = await used(backend, firm.a, saves(**reach), matter="HV-1001")
        for memory in answer.saved:
            assert memory.matter is None and memory.captured_by is not None
            assert (memory.scope, memory.captured_by.id) == ("user_private", firm.ana.id)
        assert await everything(backend, firm.b) == []

    async def test_of_what_is_known_says_so_and_shows_nothing_new(self, backend: Backend, firm: FirmOfTest) -> None:
        known = await remember(backend, firm.a, BLUEBOOK)
        (told,), events, answer = await used(backend, firm.a, saves())
        assert (told["outcome"], told["memory"]["id"]) == ("already_known", str(known.id))
        assert seen(events, MemorySaved) == [] and answer.saved == ()

    async def test_hints_at_what_is_close(self, backend: Backend, firm: FirmOfTest) -> None:
        old = await remember(backend, firm.a, "The answer is due on 12 June 2026.")
        (told,), _, _ = await used(backend, firm.a, saves("The answer is due on 14 June 2026."))
        assert [hint["id"] for hint in told["similar"]] == [str(old.id)]

    @pytest.mark.parametrize("content", ["", "a" * 2001, "a\0b"])
    async def test_of_what_cannot_be_stored_tells_the_model(
        self, backend: Backend, firm: FirmOfTest, content: str
    ) -> None:
        (told,), _, answer = await used(backend, firm.a, saves(content))
        assert told["outcome"] == "invalid" and len(told["message"]) > 20
        assert (answer.content, answer.saved) == ("Done.", ())

    async def test_before_a_failure_is_shown_by_the_answer_that_comes(self, backend: Backend, firm: FirmOfTest) -> None:
        thread = await open_thread(backend, firm.a)
        script = Script([saves()], [ModelAPIError("scripted", "lost")], [saves()], ["Done."])
        events = await events_of(script.assistant(backend), firm.a, thread, "Please.")
        assert isinstance(events[-1], TurnFailed) and len(seen(events, MemorySaved)) == 1
        answer = await run_turn(script.assistant(backend), firm.a, thread, "Please.")
        assert [memory.content for memory in answer.saved] == [BLUEBOOK]


class TestRefusal:
    async def test_by_a_rule_is_told_to_the_model_and_to_the_lawyer(self, backend: Backend, firm: FirmOfTest) -> None:
        await create_rule(backend, firm.a, "never_remember", None, None, "Bluebook")
        (told,), events, answer = await used(backend, firm.a, saves())
        (reason,) = [event.reason for event in events if isinstance(event, CaptureRefused)]
        assert "Never remember anything that mentions “Bluebook”" in reason
        assert told["outcome"] == "refused" and reason in told["message"]
        assert answer.refused == (reason,) and answer.saved == ()

    async def test_by_the_wall_is_for_the_matter_alone(self, backend: Backend, firm: FirmOfTest) -> None:
        thread = await open_thread(backend, firm.a, "HV-1001")
        await record_consultation(backend, replace(firm.a, thread_id=thread), "netdocuments")
        shared, own = saves("The seller is Orion.", scope="matter"), saves()
        told, _, answer = await used(backend, firm.a, shared, own, thread=thread)
        assert sorted(each["outcome"] for each in told) == ["refused", "saved"]
        assert "NetDocuments" in answer.refused[0]
        assert await everything(backend, firm.a) == [BLUEBOOK]

    async def test_of_an_update_changes_nothing(self, backend: Backend, firm: FirmOfTest) -> None:
        old = await remember(backend, firm.a, "I cite freely.")
        await create_rule(backend, firm.a, "never_remember", None, None, "Bluebook")
        (told,), _, answer = await used(backend, firm.a, call("update_memory", memory_id=str(old.id), content=BLUEBOOK))
        assert told["outcome"] == "refused" and len(answer.refused) == 1
        assert await everything(backend, firm.a) == ["I cite freely."]


class TestUpdate:
    @pytest.mark.parametrize("by", ["memory_id", "about"])
    async def test_replaces_what_is_meant(self, backend: Backend, firm: FirmOfTest, by: str) -> None:
        old = await remember(backend, firm.a, on_matter("The answer is due on 12 June 2026."))
        await remember(backend, firm.a, personal("Invoices go out on Fridays."))
        meant = {"memory_id": str(old.id)} if by == "memory_id" else {"about": "when the answer is due"}
        new_text = "The answer is due on 14 June 2026."
        (told,), events, answer = await used(
            backend, firm.a, call("update_memory", content=new_text, **meant), matter="HV-1001"
        )
        assert told["outcome"] == "updated"
        (changed,) = seen(events, MemoryChanged)
        assert (changed.content, changed.supersedes_id) == (new_text, old.id)
        assert [memory.id for memory in answer.saved] == [changed.id]

    async def test_asks_back_when_several_could_be_meant(self, backend: Backend, firm: FirmOfTest) -> None:
        for day in (3, 4):
            await remember(backend, firm.a, f"The hearing in court {day} is on {day} June.")
        (told,), _, _ = await used(backend, firm.a, call("update_memory", content="Moved.", about="the hearing"))
        assert told["outcome"] == "ambiguous" and len(told["candidates"]) == 2
        assert "Moved." not in await everything(backend, firm.a)

    async def test_of_nothing_known_says_to_save(self, backend: Backend, firm: FirmOfTest) -> None:
        (told,), _, _ = await used(backend, firm.a, call("update_memory", content="Moved.", about="the hearing"))
        assert told["outcome"] == "not_found" and "save_memory" in told["message"]

    async def test_cannot_reach_what_the_lawyer_cannot_see(
        self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest
    ) -> None:
        colleagues, rivals = await remember(backend, firm.b, "Ben's."), await remember(backend, rival.a, "Rival's.")
        for memory_id in (colleagues.id, rivals.id, new_id()):
            told, _, _ = await used(
                backend,
                firm.a,
                call("update_memory", memory_id=str(memory_id), content="Mine now."),
                call("forget_memory", memory_id=str(memory_id)),
            )
            assert [(each["outcome"], each["current"]) for each in told] == [("not_found", None)] * 2
        assert (await everything(backend, firm.b), await everything(backend, rival.a)) == (["Ben's."], ["Rival's."])

    async def test_of_an_old_version_shows_what_stands_now(self, backend: Backend, firm: FirmOfTest) -> None:
        old = await remember(backend, firm.a, "One.")
        await used(backend, firm.a, call("update_memory", memory_id=str(old.id), content="Two."))
        (told,), _, _ = await used(backend, firm.a, call("update_memory", memory_id=str(old.id), content="Three."))
        assert told["outcome"] == "invalid" and told["current"]["content"] == "Two."


class TestForget:
    async def test_archives_and_can_be_undone(self, backend: Backend, firm: FirmOfTest) -> None:
        memory = await remember(backend, firm.a, BLUEBOOK)
        (told,), events, _ = await used(backend, firm.a, call("forget_memory", memory_id=str(memory.id)))
        assert told["outcome"] == "forgotten"
        assert [each.id for each in seen(events, MemoryForgotten)] == [memory.id]
        assert (await get_memory(backend, firm.a, memory.id)).status == "archived"

    @pytest.mark.parametrize("memory_id", ["", "the Bluebook one", "\0"])
    async def test_of_what_is_no_id_finds_nothing(self, backend: Backend, firm: FirmOfTest, memory_id: str) -> None:
        (told,), _, _ = await used(backend, firm.a, call("forget_memory", memory_id=memory_id))
        assert told["outcome"] == "not_found"


class TestRecall:
    async def test_searches_both_buckets_and_never_the_firms(self, backend: Backend, firm: FirmOfTest) -> None:
        await remember(backend, firm.a, personal(BLUEBOOK))
        await remember(backend, firm.b, on_matter("The court wants Bluebook citations."))
        await remember(backend, firm.b, of_firm("The firm cites by Bluebook."))
        (told,), _, answer = await used(backend, firm.a, call("recall_memory", query="Bluebook"), matter="HV-1001")
        assert [hit["content"] for hit in told["personal"]] == [BLUEBOOK]
        assert [hit["content"] for hit in told["matter"]] == ["The court wants Bluebook citations."]
        assert len(answer.recalled) == 2, "each is shown once, though the prompt had it too"

    async def test_of_nothing_is_told_to_the_model(self, backend: Backend, firm: FirmOfTest) -> None:
        (told,), _, _ = await used(backend, firm.a, call("recall_memory", query=" "))
        assert told["outcome"] == "invalid"
