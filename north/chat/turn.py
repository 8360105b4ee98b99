"""One turn: what the lawyer typed is stored, the model answers with the memory in its prompt, the answer is stored."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import structlog
from psycopg.types.json import Jsonb
from pydantic_ai import AgentRunResultEvent
from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import (
    ModelMessage,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from pydantic_ai.tools import DeferredToolResults
from pydantic_ai.usage import UsageLimits

from north.chat import history
from north.chat.assistant import Assistant
from north.chat.events import Recalling, TextDelta, TurnEvent, TurnFailed, TurnFinished
from north.chat.instructions import instructions_for
from north.chat.models import failure_of
from north.chat.threads import check_message, thread_in, title_of, to_message
from north.chat.tools import Turn
from north.db.connect import Transaction
from north.db.races import retried
from north.errors import NorthError
from north.memory.backend import Backend
from north.memory.recall import inject, note_uses
from north.model import Caller, Message, Origin, Thread, new_id

log = structlog.get_logger(__name__)

HISTORY_MESSAGES = 60
REQUESTS_PER_TURN = 12
STOPPED = "stopped"
"""The `error_code` of an answer that the lawyer stopped: what had been said so far is stored."""

_turns: set[asyncio.Task[None]] = set()
"""The turns under way: the event loop alone would not keep them, and a stopped one has still to be stored."""


async def run_turn(assistant: Assistant, caller: Caller, thread_id: UUID, text: str) -> Message:
    """Answer a message, whole.

    Raises:
        ThreadNotFound: the lawyer has no such thread.
        InvalidInput: the text cannot be a message.
        Unavailable: the model failed; the message is stored and can be sent again.
    """
    return await whole(stream_turn(assistant, caller, thread_id, text))


async def whole(events: AsyncGenerator[TurnEvent, None]) -> Message:
    """The answer of a turn, when it is complete.

    Raises:
        NorthError: why there is none.
    """
    async for event in events:
        if isinstance(event, TurnFailed):
            raise event.error
        if isinstance(event, TurnFinished):
            return event.message
    raise AssertionError("a turn ends by finishing or by failing")


async def stream_turn(
    assistant: Assistant, caller: Caller, thread_id: UUID, text: str
) -> AsyncGenerator[TurnEvent, None]:
    """Answer a message, event by event. Closing the stream stops the answer; what was said so far is stored.

    Sending the text of the thread's last, unanswered message again answers that message.

    Raises:
        ThreadNotFound: the lawyer has no such thread; before the first event.
        InvalidInput: the text cannot be a message; before the first event.
    """
    began = await begin(assistant.backend, caller, thread_id, text)
    async with aclosing(stream_begun(assistant, began)) as events:
        async for event in events:
            yield event


async def stream_begun(assistant: Assistant, began: Begun) -> AsyncGenerator[TurnEvent, None]:
    """Answer a turn that has begun, event by event. Closing the stream stops the answer."""
    events: asyncio.Queue[TurnEvent | None] = asyncio.Queue()
    running = asyncio.create_task(_run(assistant, began, events), name="north-turn")
    _turns.add(running)
    running.add_done_callback(_ended)
    try:
        while (event := await events.get()) is not None:
            yield event
    finally:
        running.cancel()
        # Not `await running`: a server that is cancelled over and over would cancel the storing of the answer too.
        await asyncio.wait([running])


async def turns_ended(seconds: float) -> None:
    """Wait until what was said in the turns under way is stored, at most so many seconds."""
    if _turns:
        await asyncio.wait(_turns, timeout=seconds)


def _ended(turn: asyncio.Task[None]) -> None:
    _turns.discard(turn)
    if not turn.cancelled() and (error := turn.exception()):
        log.warning("answer_not_stored", error=type(error).__name__)


@dataclass(frozen=True, slots=True)
class Begun:
    """A turn that has begun: what the model is given, and where the thread stands.

    `opening` are messages that stand before the answer's own and are stored with them; `answers` are the results of
    tool calls that they leave open; `beside` writes more in the answer's transaction. `prompt` is None where the model
    only goes on.
    """

    caller: Caller
    thread: Thread
    user_message: Message
    history: list[ModelMessage]
    prompt: str | None
    opening: tuple[ModelMessage, ...] = ()
    answers: DeferredToolResults | None = None
    beside: Callable[[Transaction], Awaitable[None]] | None = None


@retried
async def begin(backend: Backend, caller: Caller, thread_id: UUID, text: str) -> Begun:
    """Store what was typed, before anything can fail, and read the thread so far.

    Raises:
        ThreadNotFound: the lawyer has no such thread.
        InvalidInput: the text cannot be a message.
    """
    text = check_message(text)
    async with backend.database.tenant(caller) as transaction:
        past = await transaction.send("threads.model_history", thread_id=thread_id, limit=HISTORY_MESSAGES)
        thread = await thread_in(transaction, thread_id)
        rows = await past.fetchall()
        last = rows[-1] if rows else None
        if last and last["role"] == "user" and last["content"] == text:
            message_id = last["id"]
            await transaction.send("threads.set_error", message_id=message_id, error_code=None)
        else:
            message_id = new_id(after=last["id"] if last else None)
            await transaction.send("threads.insert_message", **_message(message_id, thread_id, "user", text))
        await transaction.send("threads.touch", thread_id=thread_id, title=title_of(text))
    acting = replace(caller, origin=Origin.CHAT, thread_id=thread_id, message_id=message_id)
    thread = thread if thread.title else replace(thread, title=title_of(text))
    return Begun(
        acting, thread, Message(message_id, "user", text, backend.database.now()), history.replayed(rows), text
    )


async def _run(assistant: Assistant, began: Begun, events: asyncio.Queue[TurnEvent | None]) -> None:
    turn = Turn(assistant.backend, began.caller, began.thread, events.put_nowait)
    said: list[str] = []
    complete = False
    try:
        messages = await _answer(assistant, turn, began, said)
        complete = True
        message = await _to_its_end(_store(turn, "".join(said), messages, None, began.beside))
        events.put_nowait(TurnFinished(began.user_message, message, began.thread))
    except asyncio.CancelledError:
        if not complete:
            await _store(turn, "".join(said), None, STOPPED)
        raise
    except Exception as error:
        failure = await _failed(assistant, turn, error)
        events.put_nowait(TurnFailed(failure, replace(began.user_message, error_code=failure.code)))
    finally:
        events.put_nowait(None)


async def _to_its_end(work: Coroutine[Any, Any, Message]) -> Message:
    """Await `work`; a cancellation meanwhile waits until it is done."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


async def _answer(assistant: Assistant, turn: Turn, began: Begun, said: list[str]) -> list[ModelMessage]:
    """Let the model answer; what it says is added to `said` as it comes."""
    backend, caller = turn.backend, turn.caller
    memory = await inject(backend, caller, began.user_message.content, turn.matter)
    turn.recalled.extend(memory.memories)
    turn.emit(Recalling(memory.memories))
    await note_uses(backend, caller, memory.memories, caller.message_id)
    result = None
    async with assistant.agent.run_stream_events(
        began.prompt,
        message_history=[*began.history, *began.opening],
        deferred_tool_results=began.answers,
        instructions=instructions_for(began.thread, memory.text, backend.database.now(), documents=assistant.documents),
        deps=turn,
        usage_limits=UsageLimits(request_limit=REQUESTS_PER_TURN),
    ) as stream:
        async for event in stream:
            match event:
                case PartStartEvent(part=TextPart(content=text)) if text:
                    _say(turn, said, text, new_part=True)
                case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                    _say(turn, said, text)
                case AgentRunResultEvent():
                    result = event.result
                case _:
                    pass
    assert result is not None
    return [*began.opening, *result.new_messages()]


def _say(turn: Turn, said: list[str], text: str, *, new_part: bool = False) -> None:
    if new_part and said and not said[-1].endswith("\n"):
        text = "\n\n" + text  # the model spoke, called a tool, and speaks again
    said.append(text)
    turn.emit(TextDelta(text))


@retried
async def _store(
    turn: Turn,
    text: str,
    messages: Sequence[ModelMessage] | None,
    error_code: str | None,
    beside: Callable[[Transaction], Awaitable[None]] | None = None,
) -> Message:
    """Store the answer with what it did."""
    caller, message_id = turn.caller, new_id(after=turn.caller.message_id)
    assert caller.thread_id is not None
    effects = {
        "saved": [str(memory.id) for memory in turn.saved],
        "recalled": [str(memory.id) for memory in turn.recalled],
        "refused": turn.refused,
        "forgotten": [str(memory.id) for memory in turn.forgotten],
    }
    row = _message(message_id, caller.thread_id, "assistant", history.storable(text), error_code)
    row["effects"] = Jsonb(effects)
    row["model_messages"] = Jsonb(history.to_json(messages)) if messages else None
    async with turn.backend.database.tenant(caller) as transaction:
        await transaction.send("threads.insert_message", **row)
        await transaction.send("threads.touch", thread_id=caller.thread_id, title="")
        if beside:
            await beside(transaction)
    memories = {memory.id: memory for memory in (*turn.recalled, *turn.saved, *turn.forgotten)}
    return to_message({**row, "effects": effects, "created_at": turn.backend.database.now()}, memories)


async def _failed(assistant: Assistant, turn: Turn, error: Exception) -> NorthError:
    """Note on the lawyer's message why it has no answer; it stays, and can be sent again."""
    if isinstance(error, NorthError):
        failure = error
    else:
        failure = failure_of(error, assistant.model)
        expected = isinstance(error, AgentRunError)
        log.warning("turn_failed", code=failure.code, error=type(error).__name__, exc_info=not expected)
    with suppress(NorthError):  # the database may be what failed
        await _note_failure(turn, failure)
    return failure


@retried
async def _note_failure(turn: Turn, failure: NorthError) -> None:
    caller = turn.caller
    async with turn.backend.database.tenant(caller) as transaction:
        await transaction.send("threads.set_error", message_id=caller.message_id, error_code=failure.code)


def _message(
    message_id: UUID, thread_id: UUID, role: str, content: str, error_code: str | None = None
) -> dict[str, Any]:
    return {
        "id": message_id,
        "thread_id": thread_id,
        "role": role,
        "content": content,
        "model_messages": None,
        "effects": None,
        "error_code": error_code,
    }
