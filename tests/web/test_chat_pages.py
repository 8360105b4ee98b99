from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel

from north.chat.threads import create_thread, get_thread, list_threads
from north.memory.backend import Backend
from north.memory.listing import MemoryFilter, list_memories
from north.model import new_id
from tests.conftest import FirmOfTest
from tests.web.conftest import HTMX, STREAM, client_of, enter, page_of, remember, web_app

BLUEBOOK = "I always want citations in Bluebook form."
MARKDOWN = "# Heading\n\n**Bold** and ![seal](https://evil.test/x.png)\n\n- one\n- two\n\n<script>alert(1)</script>"


def events_of(response: httpx2.Response) -> list[tuple[str, dict[str, Any]]]:
    """The events of a streamed answer, in order."""
    assert response.headers["Content-Type"].startswith("text/event-stream")
    found = re.findall(r"event: (\w+)\r\ndata: (.*)\r\n", response.text)
    return [(name, json.loads(data)) for name, data in found]


async def writes_markdown(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[str]:
    for start in range(0, len(MARKDOWN), 5):
        yield MARKDOWN[start : start + 5]


async def is_down(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[str]:
    if messages:
        raise ModelHTTPError(503, "down")
    yield ""


class TestANewChat:
    async def test_offers_the_firms_matters_and_none_by_default(
        self, ana: httpx2.AsyncClient, firm: FirmOfTest
    ) -> None:
        page = page_of(await ana.get("/chat"))
        assert '<option value="">No matter · personal</option>' in page.body
        assert "HV-1001 · Harbor v. Vance · shared with the firm" in page.text
        assert "selected" not in page.body

    async def test_becomes_a_conversation_with_its_first_message(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        response = await ana.post("/chat", data={"text": BLUEBOOK, "matter": str(firm.matter.id)})
        [thread] = await list_threads(backend, firm.a)
        assert response.headers["Location"] == f"/chat/{thread.id}#latest"
        page = page_of(await ana.get(f"/chat/{thread.id}"))
        assert "Matter HV-1001 · Harbor v. Vance" in page.text
        assert BLUEBOOK in page.text
        assert "Saved to memory:" in page.text
        [memory] = (await list_memories(backend, firm.a, MemoryFilter())).memories
        assert f'action="/settings/memory/{memory.id}/delete"' in page.body
        assert 'name="matter"' not in page.body

    @pytest.mark.parametrize(
        ("form", "status", "reason"),
        [
            ({"text": "   "}, 422, "The message is empty."),
            ({"text": "nul \x00"}, 422, "cannot be stored"),
            ({"text": "Hello", "matter": "NO-SUCH"}, 404, "There is no such matter."),
            ({"text": "Hello", "matter": str(new_id())}, 404, "There is no such matter."),
        ],
    )
    async def test_that_cannot_begin_says_why_and_leaves_no_empty_conversation(
        self,
        ana: httpx2.AsyncClient,
        backend: Backend,
        firm: FirmOfTest,
        form: dict[str, str],
        status: int,
        reason: str,
    ) -> None:
        page = page_of(await ana.post("/chat", data=form))
        assert page.status == status
        assert reason in page.text
        streamed = await ana.post("/chat", data=form, headers=STREAM)
        assert streamed.status_code == status
        assert reason in streamed.text
        assert await list_threads(backend, firm.a) == []


class TestAConversation:
    async def test_on_no_matter_says_so(self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest) -> None:
        thread = await create_thread(backend, firm.a, None)
        assert "No matter · personal" in page_of(await ana.get(f"/chat/{thread.id}")).text

    async def test_shows_which_memory_an_answer_used(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        memory = await remember(backend, firm.a, BLUEBOOK)
        response = await ana.post("/chat", data={"text": "How should I cite a case?"})
        page = page_of(await ana.get(response.headers["Location"]))
        assert "Used 1 memory See them" in page.text
        [used] = re.findall(r'<a href="(/chat/[^"]*/used)">See them</a>', page.body)
        for headers in ({}, HTMX):
            rows = page_of(await ana.get(used, headers=headers))
            assert BLUEBOOK in rows.text
            assert f'action="/settings/memory/{memory.id}/delete"' in rows.body

    async def test_of_a_colleague_or_another_firm_answers_as_if_there_were_none(
        self, ben: httpx2.AsyncClient, rhea: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        thread = await create_thread(backend, firm.a, "HV-1001")
        none = new_id()
        for client in (ben, rhea):
            for headers in ({}, STREAM):
                replies = [
                    (
                        await client.get(f"/chat/{each}", headers=headers),
                        await client.post(f"/chat/{each}/messages", data={"text": "Hi"}, headers=headers),
                    )
                    for each in (thread.id, none)
                ]
                theirs, missing = [[(reply.status_code, reply.text) for reply in pair] for pair in replies]
                assert theirs == missing
                assert {status for status, _ in theirs} == {404}
        assert (await get_thread(backend, firm.a, thread.id)).messages == ()

    async def test_shows_hostile_messages_as_text(self, ana: httpx2.AsyncClient) -> None:
        hostile = "</div><script>alert(1)</script>"
        response = await ana.post("/chat", data={"text": hostile})
        page = page_of(await ana.get(response.headers["Location"]))
        assert "<script>alert" not in page.body
        assert hostile in page.text


class TestAStreamedAnswer:
    async def test_of_a_new_chat_names_its_conversation_first(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        events = events_of(await ana.post("/chat", data={"text": BLUEBOOK, "matter": "HV-1001"}, headers=STREAM))
        [thread] = await list_threads(backend, firm.a)
        assert events[0][0] == "thread"
        assert events[0][1]["address"] == f"/chat/{thread.id}"
        assert events[0][1]["title"] == thread.title == BLUEBOOK
        assert "Matter HV-1001 · Harbor v. Vance" in events[0][1]["head"]

    async def test_tells_what_was_saved_and_ends_with_the_notes(self, ana: httpx2.AsyncClient) -> None:
        events = events_of(await ana.post("/chat", data={"text": BLUEBOOK}, headers=STREAM))
        names = [name for name, _ in events]
        assert names.index("recalled") < names.index("saved") < names.index("done")
        assert names[-1] == "done"
        assert "Saved to memory" in events[-1][1]["notes"]

    async def test_shows_in_pieces_what_the_page_shows_afterwards(self, backend: Backend, firm: FirmOfTest) -> None:
        async with client_of(web_app(backend, FunctionModel(stream_function=writes_markdown))) as client:
            await enter(client, backend, firm.ana)
            events = events_of(await client.post("/chat", data={"text": "Write."}, headers=STREAM))
            pieces = [data for name, data in events if name == "delta"]
            streamed = "".join(piece["settled"] for piece in pieces) + pieces[-1]["open"]
            [address] = [data["address"] for name, data in events if name == "thread"]
            assert f'<div class="prose">{streamed}</div>' in (await client.get(address)).text
        assert events[-1][1]["answer"] is None
        assert len(pieces) > 5
        assert "<img" not in streamed
        assert "<script" not in streamed

    async def test_that_fails_says_why(self, backend: Backend, firm: FirmOfTest) -> None:
        async with client_of(web_app(backend, FunctionModel(stream_function=is_down, model_name="claude"))) as client:
            await enter(client, backend, firm.ana)
            events = events_of(await client.post("/chat", data={"text": "Hello"}, headers=STREAM))
        assert events[-1][0] == "failed"
        assert "The model claude cannot be reached. Your message is kept" in events[-1][1]["reason"]


class TestAFailedAnswer:
    async def test_leaves_the_message_in_place_to_be_sent_again_once(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        async with client_of(web_app(backend, FunctionModel(stream_function=is_down, model_name="claude"))) as client:
            await enter(client, backend, firm.ana)
            failed = page_of(await client.post("/chat", data={"text": BLUEBOOK}))
        assert failed.status == 503
        assert "The model claude cannot be reached." in failed.text
        [thread] = await list_threads(backend, firm.a)
        later = page_of(await ana.get(f"/chat/{thread.id}"))
        assert "The model could not be reached, so this message has no answer." in later.text
        assert f'<input type="hidden" name="text" value="{BLUEBOOK}">' in later.body
        await ana.post(f"/chat/{thread.id}/messages", data={"text": BLUEBOOK})
        messages = (await get_thread(backend, firm.a, thread.id)).messages
        assert [message.role for message in messages] == ["user", "assistant"]
        assert f'name="text" value="{BLUEBOOK}"' not in (await ana.get(f"/chat/{thread.id}")).text
