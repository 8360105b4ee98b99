"""Conversations over REST: the answer whole, and as a stream."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel

from north.access.tokens import create_token
from north.memory.backend import Backend
from tests.api.conftest import NEVER_AN_ID, Client, api_app, assert_problem, client_of
from tests.conftest import FirmOfTest

BLUEBOOK = "I always want citations in Bluebook form."
STREAM = {"Accept": "text/event-stream"}


async def thread_of(client: Client, **fields: str) -> str:
    thread_id: str = (await client.post("/threads", json=fields)).json()["id"]
    return thread_id


def events_of(reply: httpx2.Response) -> list[tuple[str, Any]]:
    """The stream's events, in order."""
    assert reply.headers["content-type"].startswith("text/event-stream")
    blocks = [block.split("\r\n") for block in reply.text.split("\r\n\r\n") if block.startswith("event:")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


@pytest.fixture
async def unanswered(backend: Backend, firm: FirmOfTest) -> AsyncIterator[Client]:
    """Ana's client where the model breaks off in the middle of its answer."""

    async def breaks_off(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "In Blue"
        raise ModelAPIError("claude-test", "connection lost to 10.0.0.1")

    _, secret = await create_token(backend, firm.a, "test")
    async with client_of(api_app(backend, FunctionModel(stream_function=breaks_off)), secret) as client:
        yield client


async def test_what_is_said_in_one_thread_is_known_in_the_next(ana: Client) -> None:
    first = (await ana.post(f"/threads/{await thread_of(ana)}/messages", json={"text": BLUEBOOK})).json()
    assert set(first) == {"reply", "saved", "recalled"}
    assert "Bluebook" in first["saved"][0]["content"]
    assert first["saved"][0]["origin"] == "chat"
    second = (
        await ana.post(f"/threads/{await thread_of(ana)}/messages", json={"text": "How do I cite a case?"})
    ).json()
    assert "Bluebook" in second["reply"]
    assert [memory["id"] for memory in second["recalled"]] == [first["saved"][0]["id"]]


async def test_a_colleague_on_the_matter_gets_what_was_said_there(ana: Client, ben: Client) -> None:
    said = {"text": "The client is a Delaware LLC."}
    saved = (await ana.post(f"/threads/{await thread_of(ana, matter='HV-1001')}/messages", json=said)).json()["saved"]
    asked = {"text": "What kind of company is the client?"}
    for thread_id, expected in ((await thread_of(ben, matter="HV-1001"), saved), (await thread_of(ben), [])):
        answer = (await ben.post(f"/threads/{thread_id}/messages", json=asked)).json()
        assert [memory["id"] for memory in answer["recalled"]] == [memory["id"] for memory in expected]


async def test_a_thread_keeps_its_messages(ana: Client, firm: FirmOfTest) -> None:
    reply = await ana.post("/threads", json={"matter": "HV-1001"})
    thread = reply.json()
    assert reply.status_code == 201
    assert set(thread) == {"id", "title", "matter", "paused", "created_at"}
    assert thread["matter"]["id"] == str(firm.matter.id) and thread["paused"] is False
    await ana.post(f"/threads/{thread['id']}/messages", json={"text": BLUEBOOK})
    found = (await ana.get(f"/threads/{thread['id']}")).json()
    assert [message["role"] for message in found["messages"]] == ["user", "assistant"]
    assert found["messages"][0]["content"] == found["title"] == BLUEBOOK
    assert len(found["messages"][1]["saved"]) == 1
    await ana.post("/threads")
    listed = (await ana.get("/threads")).json()["threads"]
    assert len(listed) == 2 and "messages" not in listed[0]


async def test_a_stream_tells_what_happens_as_it_happens(ana: Client) -> None:
    reply = await ana.post(f"/threads/{await thread_of(ana)}/messages", json={"text": BLUEBOOK}, headers=STREAM)
    events = events_of(reply)
    names = [name for name, _ in events]
    assert names[0] == "recalled" and names[-1] == "done"
    assert "saved" in names and "delta" in names
    done = events[-1][1]
    assert set(done) == {"reply", "saved", "recalled", "message_id"}
    assert "".join(data["text"] for name, data in events if name == "delta") == done["reply"]
    assert [data["memory"] for name, data in events if name == "saved"] == done["saved"]
    assert reply.headers["cache-control"] == "no-store"


async def test_a_model_that_breaks_off_is_said_and_the_message_is_kept(unanswered: Client, ana: Client) -> None:
    thread_id = await thread_of(ana)
    failed = await unanswered.post(f"/threads/{thread_id}/messages", json={"text": BLUEBOOK})
    detail = assert_problem(failed, 503, "model_unavailable")["detail"]
    assert "is kept" in detail and "10.0.0.1" not in detail
    assert int(failed.headers["retry-after"]) > 0
    (message,) = (await ana.get(f"/threads/{thread_id}")).json()["messages"]
    assert (message["content"], message["error_code"]) == (BLUEBOOK, "model_unavailable")
    answered = await ana.post(f"/threads/{thread_id}/messages", json={"text": BLUEBOOK})
    assert answered.status_code == 200
    assert len((await ana.get(f"/threads/{thread_id}")).json()["messages"]) == 2


async def test_a_stream_without_an_answer_ends_in_a_problem(unanswered: Client) -> None:
    thread_id = await thread_of(unanswered)
    reply = await unanswered.post(f"/threads/{thread_id}/messages", json={"text": BLUEBOOK}, headers=STREAM)
    name, problem = events_of(reply)[-1]
    assert (name, problem["code"], problem["status"]) == ("error", "model_unavailable", 503)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "content_empty"),
        (" \n", "content_empty"),
        ("a\0b", "content_not_text"),
        ("x" * 100_001, "message_too_long"),
    ],
)
@pytest.mark.parametrize("headers", [{}, STREAM])
async def test_what_cannot_be_said_is_explained(ana: Client, headers: dict[str, str], text: str, code: str) -> None:
    thread_id = await thread_of(ana)
    assert_problem(await ana.post(f"/threads/{thread_id}/messages", json={"text": text}, headers=headers), 422, code)
    assert (await ana.get(f"/threads/{thread_id}")).json()["messages"] == []


async def test_a_thread_that_does_not_exist_or_is_a_colleagues_is_not_found(ana: Client, ben: Client) -> None:
    thread_id = await thread_of(ana, matter="HV-1001")
    for headers in ({}, STREAM):
        said = [
            await ben.post(f"/threads/{name}/messages", json={"text": "Hello."}, headers=headers)
            for name in (thread_id, NEVER_AN_ID, "zzz")
        ]
        seen = [await ben.get(f"/threads/{name}") for name in (thread_id, NEVER_AN_ID, "zzz")]
        for reply in (*said, *seen):
            assert_problem(reply, 404, "thread_not_found")
        assert len({reply.content for reply in (*said, *seen)}) == 1
    assert (await ana.get(f"/threads/{thread_id}")).json()["messages"] == []
    assert (await ben.get("/threads")).json() == {"threads": []}


async def test_a_thread_on_an_unknown_matter_cannot_be_opened(ana: Client) -> None:
    assert_problem(await ana.post("/threads", json={"matter": "HV-9"}), 404, "matter_not_found")
