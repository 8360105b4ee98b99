"""A thread that an earlier release left paused on a save: it goes on, and takes messages again."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb
from pydantic import TypeAdapter
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from north.access.tokens import create_token
from north.chat.paused import resume, run_turn
from north.chat.threads import get_thread
from north.errors import ModelUnavailable, ThreadNotFound, ThreadNotPaused
from north.memory.backend import Backend
from north.model import new_id
from tests.api.conftest import api_app, assert_problem, client_of
from tests.chat.script import Script, open_thread
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.remembering import everything
from tests.web.conftest import client_of as browser_of
from tests.web.conftest import enter, page_of, web_app

SAID, CONTENT = "I always cite in Bluebook form.", "Ana cites in Bluebook form."
DOWN = ModelAPIError("scripted", "connection lost")


async def stopped_run() -> tuple[list[ModelMessage], DeferredToolRequests]:
    """A run of the earlier release, which asked before it saved."""

    def calls(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        arguments = {"content": CONTENT, "type": "preference", "scope": "user_private", "confidence": "high"}
        return ModelResponse([ToolCallPart("save_memory", arguments, "old-call")])

    agent = Agent(FunctionModel(calls), output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def save_memory(content: str, type: str, scope: str, confidence: str) -> str:
        return content

    result = await agent.run(SAID)
    assert isinstance(result.output, DeferredToolRequests)
    return result.all_messages(), result.output


async def pause(backend: Backend, database: TestDatabase, firm: FirmOfTest, *, with_messages: bool = True) -> Any:
    """A thread as the earlier release left it."""
    thread_id = await open_thread(backend, firm.a)
    messages, requests = await stopped_run()
    insert = """insert into chat_message (organization_id, id, thread_id, user_id, role, content, model_messages)
                values (%s, %s, %s, %s, %s, %s, %s)"""
    with psycopg.connect(database.superuser_url) as connection:
        whose = (firm.ana.organization_id, firm.ana.id)
        connection.execute(insert, (whose[0], new_id(), thread_id, whose[1], "user", SAID, None))
        if with_messages:
            stored = Jsonb(ModelMessagesTypeAdapter.dump_python(messages, mode="json"))
            connection.execute(insert, (whose[0], new_id(), thread_id, whose[1], "assistant", "", stored))
        waiting = Jsonb(TypeAdapter(DeferredToolRequests).dump_python(requests, mode="json"))
        connection.execute("update chat_thread set deferred_requests = %s where id = %s", (waiting, thread_id))
    assert (await get_thread(backend, firm.a, thread_id)).paused
    return thread_id


@pytest.fixture(params=[True, False], ids=["with its messages", "with its calls alone"])
async def paused(request: pytest.FixtureRequest, backend: Backend, database: TestDatabase, firm: FirmOfTest) -> Any:
    return await pause(backend, database, firm, with_messages=request.param)


class TestResuming:
    async def test_saves_what_waited_and_goes_on(self, backend: Backend, firm: FirmOfTest, paused: Any) -> None:
        script = Script(["Noted, Bluebook."])
        message = await resume(script.assistant(backend), firm.a, paused, approved=True)
        assert message.content == "Noted, Bluebook."
        assert [memory.content for memory in message.saved] == [CONTENT]
        assert script.told()[-1]["outcome"] == "saved"
        thread = await get_thread(backend, firm.a, paused)
        assert not thread.paused and thread.messages[-1].id == message.id

    async def test_saves_nothing_when_it_is_not_wanted(self, backend: Backend, firm: FirmOfTest, paused: Any) -> None:
        script = Script(["Then not."])
        message = await resume(script.assistant(backend), firm.a, paused, approved=False)
        assert message.saved == () and await everything(backend, firm.a) == []
        assert "did not want this saved" in script.told()[-1]
        assert not (await get_thread(backend, firm.a, paused)).paused

    async def test_takes_messages_again(self, backend: Backend, firm: FirmOfTest, paused: Any) -> None:
        await resume(Script(["Noted."]).assistant(backend), firm.a, paused, approved=True)
        script = Script(["Bluebook."])
        assert (await run_turn(script.assistant(backend), firm.a, paused, "How do I cite?")).content == "Bluebook."
        parts = [type(part).__name__ for message in script.requests[-1] for part in message.parts]
        assert parts == ["UserPromptPart", "ToolCallPart", "ToolReturnPart", "TextPart", "UserPromptPart"]

    async def test_happens_once(self, backend: Backend, firm: FirmOfTest, paused: Any) -> None:
        assistant = Script(["Noted."]).assistant(backend)
        await resume(assistant, firm.a, paused, approved=True)
        with pytest.raises(ThreadNotPaused):
            await resume(assistant, firm.a, paused, approved=True)

    async def test_of_two_at_once_stores_one_answer(self, backend: Backend, firm: FirmOfTest, paused: Any) -> None:
        both = [Script(["Noted."]), Script(["Noted."])]
        results = await asyncio.gather(
            *(resume(script.assistant(backend), firm.a, paused, approved=True) for script in both),
            return_exceptions=True,
        )
        assert sorted(type(result).__name__ for result in results) == ["Message", "ThreadNotPaused"]
        assert await everything(backend, firm.a) == [CONTENT]
        answers = [each.content for each in (await get_thread(backend, firm.a, paused)).messages if each.content]
        assert answers == [SAID, "Noted."]

    async def test_waits_on_when_the_model_is_away(self, backend: Backend, firm: FirmOfTest, paused: Any) -> None:
        with pytest.raises(ModelUnavailable):
            await resume(Script([DOWN]).assistant(backend), firm.a, paused, approved=True)
        assert (await get_thread(backend, firm.a, paused)).paused
        await resume(Script(["Noted."]).assistant(backend), firm.a, paused, approved=True)
        assert await everything(backend, firm.a) == [CONTENT]

    async def test_is_its_owners_alone(
        self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest, paused: Any
    ) -> None:
        for caller in (firm.b, rival.a):
            with pytest.raises(ThreadNotFound):
                await resume(Script().assistant(backend), caller, paused, approved=True)


class TestANewMessage:
    async def test_resumes_first_and_is_answered(self, backend: Backend, firm: FirmOfTest, paused: Any) -> None:
        script = Script(["Saved; and Bluebook."])
        message = await run_turn(script.assistant(backend), firm.a, paused, "How do I cite?")
        assert [memory.content for memory in message.saved] == [CONTENT]
        parts = [type(part).__name__ for each in script.requests[-1] for part in each.parts]
        assert parts == ["UserPromptPart", "ToolCallPart", "ToolReturnPart", "UserPromptPart"]
        assert not (await get_thread(backend, firm.a, paused)).paused
        again = Script(["Yes."])
        await run_turn(again.assistant(backend), firm.a, paused, "Sure?")
        parts = [type(part).__name__ for each in again.requests[-1] for part in each.parts]
        assert parts[:5] == ["UserPromptPart", "ToolCallPart", "ToolReturnPart", "UserPromptPart", "TextPart"]


class TestSurfaces:
    async def test_rest_resumes_a_thread(self, backend: Backend, firm: FirmOfTest, paused: Any) -> None:
        _, secret = await create_token(backend, firm.a, "test")
        model = FunctionModel(stream_function=Script(["Noted."]))
        async with client_of(api_app(backend, model), secret) as client:
            assert (await client.get(f"/threads/{paused}")).json()["paused"] is True
            reply = await client.post(f"/threads/{paused}/resume", json={"approved": True})
            assert reply.status_code == 200, reply.text
            assert (reply.json()["reply"], reply.json()["saved"][0]["content"]) == ("Noted.", CONTENT)
            again = await client.post(f"/threads/{paused}/resume", json={"approved": True})
            assert_problem(again, 409, "thread_not_paused")

    @pytest.mark.parametrize(("save", "live"), [("true", [CONTENT]), ("false", [])])
    async def test_the_page_shows_what_waits_and_one_control_each_way(
        self, backend: Backend, firm: FirmOfTest, paused: Any, save: str, live: list[str]
    ) -> None:
        app = web_app(backend, FunctionModel(stream_function=Script(["As you wish."])))
        async with browser_of(app) as client:
            await enter(client, backend, firm.ana)
            page = page_of(await client.get(f"/chat/{paused}"))
            assert f"Not saved yet: {CONTENT} Save it Do not save it" in page.text
            assert 'class="message from-north" id=' not in page.body
            done = await client.post(f"/chat/{paused}/resume", data={"save": save})
            assert done.status_code == 303, done.text
            page = page_of(await client.get(f"/chat/{paused}"))
            assert "As you wish." in page.text and "Not saved yet" not in page.text
        assert await everything(backend, firm.a) == live
