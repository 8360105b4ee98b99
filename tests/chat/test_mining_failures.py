"""A model that fails, in whatever way, delays mining: nothing is lost and nothing is doubled."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from north.chat.mining import configured_miner, make_miner
from north.chat.models import make_model
from north.errors import (
    Misconfigured,
    ModelConfused,
    ModelOverLimit,
    ModelRejected,
    ModelTooSlow,
    ModelUnavailable,
    NorthError,
)
from north.memory.backend import Backend
from north.memory.mining import Kept
from north.settings import Settings
from tests.chat.mining_script import BLUEBOOK, FOUND, SAID, Json, Reader, mine, mined
from tests.chat.provider import Provider, Reply, provider
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.conversing import conversation, mined_through
from tests.memory.remembering import everything


class TestNonsense:
    @pytest.mark.parametrize(
        "nonsense",
        [
            "{",
            "[]",
            '{"memories": [{"content": "x"}]}',
            json.dumps({"memories": [mined("", SAID)]}),
            json.dumps({"memories": [mined("a" * 2001, SAID)]}),
            json.dumps({"memories": [mined(BLUEBOOK, SAID, type="gossip")]}),
            json.dumps({"memories": [mined(BLUEBOOK, SAID, scope="firm_global")]}),
        ],
        ids=["half", "a list", "fields missing", "empty", "too long", "a type of its own", "firm scope"],
    )
    async def test_leaves_the_conversation_to_be_mined(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest, nonsense: str
    ) -> None:
        thread = await conversation(backend, database, firm.a, SAID)
        with pytest.raises(ModelConfused):
            await mine(Reader(nonsense, nonsense).miner(backend), firm.a, thread)
        assert (await everything(backend, firm.a), mined_through(database, thread)) == ([], None)
        assert await mine(Reader([FOUND]).miner(backend), firm.a, thread) == Kept(saved=1)

    async def test_that_is_put_right_at_once_is_no_failure(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        thread = await conversation(backend, database, firm.a, SAID)
        assert await mine(Reader("{", [FOUND]).miner(backend), firm.a, thread) == Kept(saved=1)

    async def test_in_a_text_is_left_out_when_it_cannot_be_stored(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        thread = await conversation(backend, database, firm.a, SAID)
        found = mined("The lawyer\0 cites.", "\0" + SAID)
        assert await mine(Reader([found]).miner(backend), firm.a, thread) == Kept(saved=1)
        assert await everything(backend, firm.a) == ["The lawyer cites."]


def completion(*memories: Json) -> Reply:
    """What an OpenAI-compatible provider answers when it calls the output tool."""
    function = {"name": "final_result", "arguments": json.dumps({"memories": memories})}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": function}],
    }
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return Reply([json.dumps(body).encode()], content_type="application/json")


def refusal(status: int) -> Reply:
    return Reply([json.dumps({"error": {"message": SAID}}).encode()], status, "application/json")


@pytest.fixture
async def serving(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Provider]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with provider() as running:
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-any-log")
        yield running


class TestProvider:
    async def test_a_real_one_mines(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest, serving: Provider
    ) -> None:
        serving.replies = [completion(FOUND)]
        thread = await conversation(backend, database, firm.a, SAID)
        miner = configured_miner(backend, Settings(model="offline", miner_model="openai-chat:gpt-test"))
        assert await mine(miner, firm.a, thread) == Kept(saved=1)
        assert len(serving.requests) == 1

    @pytest.mark.parametrize(
        ("reply", "error"),
        [
            (refusal(500), ModelUnavailable),
            (refusal(429), ModelOverLimit),
            (refusal(401), ModelRejected),
            (Reply([b"not json"], content_type="application/json"), ModelConfused),
            (Reply([b'{"id": "c", "cho'], content_type="application/json", cut=True), ModelUnavailable),
            (Reply([asyncio.Event()], content_type="application/json"), ModelTooSlow),
        ],
        ids=["down", "over its limit", "refuses", "nonsense", "cut", "slow"],
    )
    async def test_that_fails_loses_and_doubles_nothing(
        self,
        backend: Backend,
        database: TestDatabase,
        firm: FirmOfTest,
        serving: Provider,
        reply: Reply,
        error: type[NorthError],
    ) -> None:
        thread = await conversation(backend, database, firm.a, SAID)
        model = make_model("openai-chat:gpt-test", Settings(model="offline"))
        seconds = 0.3 if error is ModelTooSlow else 30.0
        miner = make_miner(backend, model, request_seconds=seconds)
        serving.replies = [reply]
        with capture_logs() as logs, pytest.raises(error):
            await mine(miner, firm.a, thread)
        for piece in reply.body:
            if isinstance(piece, asyncio.Event):
                piece.set()
        assert SAID not in str(logs)
        assert (await everything(backend, firm.a), mined_through(database, thread)) == ([], None)
        serving.replies = [completion(FOUND)]
        assert await mine(make_miner(backend, model), firm.a, thread) == Kept(saved=1)

    async def test_that_fails_in_the_second_window_resumes_there(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        thread = await conversation(backend, database, firm.a, (SAID, "b" * 400), ("c" * 400, "d"))
        reader = Reader([FOUND], "{", "{", [])
        with pytest.raises(ModelConfused):
            await mine(reader.miner(backend, 500), firm.a, thread)
        assert await everything(backend, firm.a) == [BLUEBOOK]
        assert await mine(reader.miner(backend, 500), firm.a, thread) == Kept()
        assert [line["said"][0] for line in reader.lines(3) if "said" in line] == ["c", "d"]

    async def test_that_does_not_exist_is_found_out_at_the_start(self, backend: Backend) -> None:
        with pytest.raises(Misconfigured):
            configured_miner(backend, Settings(model="offline", miner_model="nobody:nothing"))
