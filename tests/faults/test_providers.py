"""The embedder or the model away, silent or noisy: saving waits for neither, and what is back is used again."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import httpx2
import pytest

from north.chat.assistant import make_assistant
from north.memory.backend import Backend
from north.settings import Settings
from north.worker.tasks import embed_all_missing
from tests.api.conftest import assert_problem
from tests.conftest import FirmOfTest, TestDatabase
from tests.faults.conftest import Client, draft, served, texts
from tests.faults.provider import model_provider
from tests.faults.proxy import FaultProxy, Network, Upstream, fault_proxy
from tests.memory.remembering import stored

FAULTS = [Network.CUT, Network.STALLED, Network.GARBAGE]
FIRST, SECOND, QUESTION = "The client is a Delaware LLC.", "The client moved to Texas.", "Where is the client?"
RECALL_SECONDS = 4.0
"""A recall gives the embedder two seconds."""


@pytest.fixture
async def to_provider(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FaultProxy]:
    """The network between North and a provider of models."""
    async with model_provider() as provider, fault_proxy(Upstream(port=provider.port)) as proxy:
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{proxy.port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield proxy


@pytest.fixture
async def program(
    to_provider: FaultProxy,
    fresh_database: TestDatabase,
    secret: str,
    firm: FirmOfTest,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[tuple[Client, Backend]]:
    """A lawyer's program at a North whose embedder and model are the provider's."""
    monkeypatch.setattr("north.app.make_assistant", partial(make_assistant, first_word_seconds=1.0))
    settings = Settings(
        model="openai-chat:gpt-test", embedder="openai:text-embedding-3-small", public_url="http://north.test"
    )
    headers = {"Authorization": f"Bearer {secret}"}
    async with served(settings, fresh_database.place) as app:
        transport = httpx2.ASGITransport(app)
        async with Client(transport=transport, base_url="http://north.test/api/v1", headers=headers) as client:
            yield client, app.state.backend


def vectors(database: TestDatabase) -> list[Any]:
    query = "select embedding_model from agent_memory_candidate where embedding is not null"
    return [row["embedding_model"] for row in stored(database, query)]


@pytest.mark.parametrize("fault", FAULTS)
async def test_an_embedder_that_fails_delays_no_save_and_leaves_words_to_recall_by(
    program: tuple[Client, Backend], to_provider: FaultProxy, fresh_database: TestDatabase, fault: Network
) -> None:
    client, backend = program
    to_provider.network = fault
    began = time.monotonic()
    assert (await client.post("/memories", json=draft(FIRST))).status_code == 201
    assert time.monotonic() - began < 1
    found = await client.post("/recall", json={"query": QUESTION})
    assert [memory["content"] for memory in found.json()["personal"]] == [FIRST]
    assert (await client.get("/briefing")).status_code == 200
    assert time.monotonic() - began < RECALL_SECONDS
    assert vectors(fresh_database) == []
    to_provider.network = Network.FINE
    assert await embed_all_missing(backend) == 1
    assert len(vectors(fresh_database)) == 1


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_model_that_fails_is_said_and_what_was_typed_is_answered_when_it_is_back(
    program: tuple[Client, Backend], to_provider: FaultProxy, fault: Network
) -> None:
    client, _ = program
    thread = (await client.post("/threads")).json()["id"]
    said = {"text": "Who looked at item 1 of the file?"}
    to_provider.network = fault
    reply = await client.post(f"/threads/{thread}/messages", json=said)
    assert_problem(reply, 503, reply.json()["code"])
    assert reply.json()["code"] in {"model_unavailable", "model_too_slow", "model_confused"}
    assert int(reply.headers["Retry-After"]) > 0
    kept = (await client.get(f"/threads/{thread}")).json()["messages"]
    assert [(message["role"], message["content"]) for message in kept] == [("user", said["text"])]
    assert (await client.post("/memories", json=draft(SECOND))).status_code == 201
    to_provider.network = Network.FINE
    assert (await client.post(f"/threads/{thread}/messages", json=said)).json()["reply"] == "Somebody did."
    assert await texts(client) == [SECOND]
