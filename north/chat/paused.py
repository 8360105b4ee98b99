"""Threads that a release before 0.1 left paused, because it asked before it saved.

Nothing pauses a thread any more. This module is to be removed with the release after 0.1, together with
`db/queries/paused.sql`, `web/templates/parts/paused.html` and the two resume calls; the surfaces then take `run_turn`
and `stream_turn` from `north.chat.turn` again.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, UserPromptPart
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolDenied

from north.chat import history
from north.chat.assistant import Assistant
from north.chat.events import TurnEvent
from north.chat.threads import thread_in, to_message
from north.chat.turn import HISTORY_MESSAGES, Begun, begin, stream_begun, whole
from north.db.connect import Row, Transaction
from north.db.races import retried
from north.errors import ThreadNotPaused
from north.memory.backend import Backend
from north.model import Caller, Message, Origin, Thread

DECLINED = "The lawyer did not want this saved. Go on without it, and do not try again."
NOT_RUN = "This was never done. Go on without it."

_REQUESTS = TypeAdapter(DeferredToolRequests)


async def run_turn(assistant: Assistant, caller: Caller, thread_id: UUID, text: str) -> Message:
    """As `turn.run_turn`; a paused thread goes on first, and what waited in it is saved."""
    return await whole(stream_turn(assistant, caller, thread_id, text))


async def stream_turn(
    assistant: Assistant, caller: Caller, thread_id: UUID, text: str
) -> AsyncGenerator[TurnEvent, None]:
    """As `turn.stream_turn`; a paused thread goes on first, and what waited in it is saved."""
    began = await begin(assistant.backend, caller, thread_id, text)
    events = _going_on(assistant, began, approved=True) if began.thread.paused else stream_begun(assistant, began)
    async with aclosing(events):
        async for event in events:
            yield event


async def resume(assistant: Assistant, caller: Caller, thread_id: UUID, *, approved: bool) -> Message:
    """Let a paused thread go on.

    Args:
        assistant: what answers.
        caller: the lawyer.
        thread_id: the thread.
        approved: whether what waits is saved.

    Raises:
        ThreadNotFound: the lawyer has no such thread.
        ThreadNotPaused: nothing waits in it.
        Unavailable: the model failed; the thread waits as before.
    """
    thread, rows = await _asked(assistant.backend, caller, thread_id)
    asked = next((row for row in reversed(rows) if row["role"] == "user"), None)
    if not thread.paused or asked is None:
        raise ThreadNotPaused
    acting = replace(caller, origin=Origin.CHAT, thread_id=thread_id, message_id=asked["id"])
    began = Begun(acting, thread, to_message(asked, {}), [], prompt=None)
    return await whole(_going_on(assistant, began, approved=approved))


@retried
async def _asked(backend: Backend, caller: Caller, thread_id: UUID) -> tuple[Thread, list[Row]]:
    async with backend.database.tenant(caller, read_only=True) as transaction:
        thread = await thread_in(transaction, thread_id)
        return thread, await transaction.fetch("threads.messages", thread_id=thread_id, limit=HISTORY_MESSAGES)


@retried
async def waiting_in(backend: Backend, caller: Caller, thread: Thread) -> list[str]:
    """What a thread waits to save, as texts; nothing where it is not paused."""
    if not thread.paused:
        return []
    async with backend.database.tenant(caller, read_only=True) as transaction:
        row = await transaction.first("paused.waiting", thread_id=thread.id)
    calls = _calls(_REQUESTS.validate_python(row["deferred_requests"])) if row and row["deferred_requests"] else []
    return [str(call.args_as_dict().get("content", call.tool_name)) for call in calls]


async def _going_on(assistant: Assistant, began: Begun, *, approved: bool) -> AsyncGenerator[TurnEvent, None]:
    """Answer a turn whose thread is paused; when the answer is stored, it is paused no more."""
    caller, thread_id = began.caller, began.thread.id
    row, rows = await _held_in(assistant.backend, caller, thread_id)
    if row is None or row["deferred_requests"] is None:
        raise ThreadNotPaused
    requests = _REQUESTS.validate_python(row["deferred_requests"])
    held = next((each for each in reversed(rows) if _holds(each, requests)), None)
    # What was typed just now is the prompt, and what was typed before the pause is in the opening.
    past = [each for each in rows if each is not held and each["id"] != caller.message_id]
    began = replace(
        began,
        history=history.replayed(past),
        opening=tuple(history.replayed([held]) if held else _made_up(requests, rows, began)),
        answers=_answers(requests, approved=approved),
        beside=partial(_end_wait, thread_id, held),
    )
    async with aclosing(stream_begun(assistant, began)) as events:
        async for event in events:
            yield event


@retried
async def _held_in(backend: Backend, caller: Caller, thread_id: UUID) -> tuple[Row | None, list[Row]]:
    async with backend.database.tenant(caller, read_only=True) as transaction:
        row = await transaction.first("paused.waiting", thread_id=thread_id)
        return row, await transaction.fetch("threads.model_history", thread_id=thread_id, limit=HISTORY_MESSAGES)


def _calls(requests: DeferredToolRequests) -> list[ToolCallPart]:
    return [*requests.approvals, *requests.calls]


def _holds(row: Row, requests: DeferredToolRequests) -> bool:
    """Whether a stored turn ends in what waits."""
    waiting = {call.tool_call_id for call in _calls(requests)}
    messages: list[Any] = row["model_messages"] or []
    return any(part.get("tool_call_id") in waiting for message in messages for part in message.get("parts", ()))


def _made_up(requests: DeferredToolRequests, rows: list[Row], began: Begun) -> list[ModelMessage]:
    """The turn that waits, where only its calls were stored."""
    typed = [
        row for row in rows if row["role"] == "user" and (began.prompt is None or row["id"] != began.user_message.id)
    ]
    prompt = typed[-1]["content"] if typed else began.user_message.content
    return [ModelRequest([UserPromptPart(prompt)]), ModelResponse(_calls(requests))]


def _answers(requests: DeferredToolRequests, *, approved: bool) -> DeferredToolResults:
    return DeferredToolResults(
        approvals={call.tool_call_id: approved or ToolDenied(DECLINED) for call in requests.approvals},
        calls={call.tool_call_id: NOT_RUN for call in requests.calls},
    )


async def _end_wait(thread_id: UUID, held: Row | None, transaction: Transaction) -> None:
    """With the answer's own transaction; of two answers at once, the second is not stored."""
    if await transaction.first("paused.goes_on", thread_id=thread_id) is None:
        raise ThreadNotPaused
    if held:
        await transaction.send("paused.move_messages", message_id=held["id"])
