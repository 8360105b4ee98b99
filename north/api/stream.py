"""A turn as server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any
from uuid import UUID

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request

from north.api.edge import log_fault
from north.api.problems import problem
from north.api.shapes import memory_shape
from north.chat.assistant import Assistant
from north.chat.events import (
    CaptureRefused,
    MemoryChanged,
    MemoryForgotten,
    MemorySaved,
    Recalling,
    TextDelta,
    TurnEvent,
    TurnFailed,
    TurnFinished,
)
from north.chat.paused import stream_turn
from north.model import Caller, Memory

EVENT_STREAM = "text/event-stream"

STREAM_DESCRIPTION = """\
The answer. With `Accept: text/event-stream`, events of which each has JSON data: `recalled` {memories}, then `delta`
{text} for each piece of the answer, `saved`, `changed` and `forgotten` {memory} and `refused` {reason} as they happen,
and at the end `done` {reply, saved, recalled, message_id}, or `error` with a problem."""


async def stream_reply(
    assistant: Assistant, caller: Caller, thread_id: UUID, text: str, request: Request
) -> EventSourceResponse:
    """Answer a message as a stream. Closing it stops the answer.

    Raises:
        ThreadNotFound, InvalidInput: before the stream begins.
    """
    turn = stream_turn(assistant, caller, thread_id, text)
    first = await anext(turn)
    return EventSourceResponse(_events(first, turn, request))


async def _events(
    first: TurnEvent, rest: AsyncGenerator[TurnEvent, None], request: Request
) -> AsyncIterator[ServerSentEvent]:
    async with aclosing(rest):
        try:
            yield _event(first)
            async for event in rest:
                yield _event(event)
        except Exception as error:
            yield _sent("error", problem(log_fault(error, request)))


def _event(event: TurnEvent) -> ServerSentEvent:
    match event:
        case Recalling(memories):
            return _sent("recalled", {"memories": _memories(memories)})
        case TextDelta(text):
            return _sent("delta", {"text": text})
        case MemorySaved(memory):
            return _sent("saved", {"memory": _memory(memory)})
        case MemoryChanged(memory):
            return _sent("changed", {"memory": _memory(memory)})
        case MemoryForgotten(memory):
            return _sent("forgotten", {"memory": _memory(memory)})
        case CaptureRefused(reason):
            return _sent("refused", {"reason": reason})
        case TurnFinished(message=message):
            return _sent(
                "done",
                {
                    "reply": message.content,
                    "saved": _memories(message.saved),
                    "recalled": _memories(message.recalled),
                    "message_id": str(message.id),
                },
            )
        case TurnFailed(error):
            return _sent("error", problem(error))


def _sent(name: str, data: dict[str, Any]) -> ServerSentEvent:
    # As ASCII, because a piece of an answer may end within a character's surrogate pair.
    return ServerSentEvent(json.dumps(data), event=name)


def _memory(memory: Memory) -> dict[str, Any]:
    return memory_shape(memory).model_dump(mode="json")


def _memories(memories: Sequence[Memory]) -> list[dict[str, Any]]:
    return [_memory(memory) for memory in memories]
