"""The real adapters, against a provider on this machine that speaks their wire format."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from north.chat.assistant import Assistant, make_assistant
from north.chat.events import TextDelta, TurnFailed
from north.chat.models import make_model
from north.chat.threads import get_thread
from north.chat.turn import run_turn
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
from north.settings import Settings
from tests.chat.provider import DIALECTS, Dialect, Provider, Reply, provider
from tests.chat.script import events_of, open_thread
from tests.conftest import FirmOfTest
from tests.memory.remembering import everything, remember

BLUEBOOK = "I cite in Bluebook form."
KEY = "sk-not-for-any-log"
every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.model.partition(":")[0])


@pytest.fixture
async def serving(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Provider]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with provider() as running:
        point_at(running.url, monkeypatch)
        yield running


def point_at(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def assistant_of(backend: Backend, dialect: Dialect, **patience: float) -> Assistant:
    settings = Settings(model=dialect.model, anthropic_api_key=SecretStr(KEY))
    return make_assistant(backend, make_model(dialect.model, settings), **patience)


@every_dialect
class TestConversation:
    async def test_streams_the_answer(
        self, backend: Backend, firm: FirmOfTest, serving: Provider, dialect: Dialect
    ) -> None:
        serving.replies = [Reply(dialect.text("Good ", "morning", ", 世界."))]
        thread = await open_thread(backend, firm.a)
        events = await events_of(assistant_of(backend, dialect), firm.a, thread, "Hello.")
        assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Good morning, 世界."
        assert sum(isinstance(event, TextDelta) for event in events) >= 2
        assert serving.paths == [dialect.path]

    async def test_saves_by_the_tool_and_answers_from_memory_in_the_next_thread(
        self, backend: Backend, firm: FirmOfTest, serving: Provider, dialect: Dialect
    ) -> None:
        save = dialect.call("save_memory", {"content": BLUEBOOK, "type": "preference"})
        serving.replies = [Reply(save), Reply(dialect.text("Noted.")), Reply(dialect.text("In Bluebook form."))]
        assistant = assistant_of(backend, dialect)
        told = await run_turn(assistant, firm.a, await open_thread(backend, firm.a), BLUEBOOK)
        assert (told.content, [memory.content for memory in told.saved]) == ("Noted.", [BLUEBOOK])
        assert await everything(backend, firm.a) == [BLUEBOOK]
        assert "saved" in json.dumps(serving.requests[1]), "the model hears what its tool did"
        answer = await run_turn(assistant, firm.a, await open_thread(backend, firm.a), "How do I cite?")
        assert [memory.content for memory in answer.recalled] == [BLUEBOOK]
        asked = json.dumps(serving.requests[2])
        assert BLUEBOOK in asked and "<user_memory>" in asked

    async def test_is_offered_the_memory_tools_and_no_tenant(
        self, backend: Backend, firm: FirmOfTest, serving: Provider, dialect: Dialect
    ) -> None:
        serving.replies = [Reply(dialect.text("Hello."))]
        await run_turn(assistant_of(backend, dialect), firm.a, await open_thread(backend, firm.a), "Hello.")
        offered = json.dumps(serving.requests[0]["tools"])
        for tool in ("save_memory", "update_memory", "forget_memory", "recall_memory"):
            assert f'"{tool}"' in offered
        for hidden in ("organization", "user_id", "thread_id", "firm_global"):
            assert hidden not in offered

    async def test_replays_an_earlier_turn_with_its_tool_calls(
        self, backend: Backend, firm: FirmOfTest, serving: Provider, dialect: Dialect
    ) -> None:
        save = dialect.call("save_memory", {"content": BLUEBOOK, "type": "preference"})
        serving.replies = [Reply(save), Reply(dialect.text("Noted.")), Reply(dialect.text("You are welcome."))]
        assistant, thread = assistant_of(backend, dialect), await open_thread(backend, firm.a)
        await run_turn(assistant, firm.a, thread, BLUEBOOK)
        await run_turn(assistant, firm.a, thread, "Thanks.")
        replayed = json.dumps(serving.requests[2])
        assert "save_memory" in replayed and "Noted." in replayed and "Thanks." in replayed


JSON = "application/json"
ERROR = b'{"type": "error", "error": {"type": "some_error", "code": null, "message": "It says: no."}}'
FAILURES: dict[str, tuple[Reply, type[NorthError]]] = {
    "429": (Reply([ERROR], 429, JSON), ModelOverLimit),
    "529": (Reply([ERROR], 529, JSON), ModelOverLimit),
    "503": (Reply([ERROR], 503, JSON), ModelUnavailable),
    "500": (Reply([ERROR], 500, JSON), ModelUnavailable),
    "502 in HTML": (Reply([b"<html>Bad gateway</html>"], 502, "text/html"), ModelUnavailable),
    "401": (Reply([ERROR], 401, JSON), ModelRejected),
    "403": (Reply([ERROR], 403, JSON), ModelRejected),
    "404": (Reply([ERROR], 404, JSON), ModelRejected),
    "400": (Reply([ERROR], 400, JSON), ModelRejected),
    "a page": (Reply([b"<html>Log in to the hotel's network</html>"], 200, "text/html"), ModelConfused),
    "no JSON": (Reply([b"event: message_start\ndata: {no\n\n", b"data: {no\n\n"]), ModelConfused),
    "nothing": (Reply([]), ModelConfused),
}


async def failed(assistant: Assistant, firm: FirmOfTest, serving: Provider | None, dialect: Dialect) -> NorthError:
    """The failure of a turn, after which the message is there and can be sent again."""
    backend, text = assistant.backend, "How do I cite?"
    await remember(backend, firm.a, "I cite in Quokka form.")
    thread = await open_thread(backend, firm.a)
    with capture_logs() as logs:
        last = (await events_of(assistant, firm.a, thread, text))[-1]
    assert isinstance(last, TurnFailed)
    assert not any(secret in str(logs) for secret in ("Quokka", KEY, text))
    (kept,) = (await get_thread(backend, firm.a, thread)).messages
    assert (kept.content, kept.error_code) == (text, last.error.code)
    if serving is not None:
        serving.replies = [Reply(dialect.text("Bluebook."))]
        assert (await run_turn(assistant, firm.a, thread, text)).content == "Bluebook."
        kept, _ = (await get_thread(backend, firm.a, thread)).messages
        assert kept.error_code is None
    return last.error


@every_dialect
class TestFailure:
    @pytest.mark.parametrize(("reply", "error"), FAILURES.values(), ids=FAILURES)
    async def test_has_a_name_and_keeps_the_message(
        self,
        backend: Backend,
        firm: FirmOfTest,
        serving: Provider,
        dialect: Dialect,
        reply: Reply,
        error: type[NorthError],
    ) -> None:
        serving.replies = [reply]
        failure = await failed(assistant_of(backend, dialect), firm, serving, dialect)
        assert type(failure) is error
        assert dialect.model.partition(":")[2] in str(failure)
        assert "Your message is kept" in str(failure) and "It says" not in str(failure)

    async def test_to_answer_at_all_is_unavailable(
        self, backend: Backend, firm: FirmOfTest, dialect: Dialect, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with provider() as gone:
            point_at(gone.url, monkeypatch)
        failure = await failed(assistant_of(backend, dialect), firm, None, dialect)
        assert type(failure) is ModelUnavailable

    @pytest.mark.parametrize("said", [0, 1], ids=["no headers", "no word"])
    async def test_to_answer_in_time_is_too_slow(
        self, backend: Backend, firm: FirmOfTest, serving: Provider, dialect: Dialect, said: int
    ) -> None:
        never = asyncio.Event()
        serving.replies = [Reply([never] if said else [never, *dialect.text("Late.")])]
        failure = await failed(assistant_of(backend, dialect, first_word_seconds=0.3), firm, serving, dialect)
        assert type(failure) is ModelTooSlow
        never.set()

    async def test_to_end_in_time_is_too_slow(
        self, backend: Backend, firm: FirmOfTest, serving: Provider, dialect: Dialect
    ) -> None:
        never, words = asyncio.Event(), dialect.text("In ", "Blue")
        serving.replies = [Reply([*words[:-2], never])]
        failure = await failed(assistant_of(backend, dialect, whole_request_seconds=0.5), firm, serving, dialect)
        assert type(failure) is ModelTooSlow
        never.set()

    async def test_in_the_middle_of_the_answer_is_unavailable(
        self, backend: Backend, firm: FirmOfTest, serving: Provider, dialect: Dialect
    ) -> None:
        serving.replies = [Reply(dialect.text("In ", "Blue")[:-2], cut=True)]
        failure = await failed(assistant_of(backend, dialect), firm, serving, dialect)
        assert type(failure) is ModelUnavailable


class TestName:
    def test_without_a_provider_or_a_key_says_what_to_set(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        for name in ("nobody:model", "anthropic:claude-sonnet-5-5", "openai:gpt-test", "claude", "", ":", "anthropic:"):
            with pytest.raises(Misconfigured, match="NORTH_MODEL"):
                make_model(name, Settings(model=name, anthropic_api_key=None))
