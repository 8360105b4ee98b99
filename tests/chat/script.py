"""A model that says what a test tells it to, and shorthands for turns with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from north.chat.assistant import Assistant, make_assistant
from north.chat.events import TurnEvent
from north.chat.threads import create_thread
from north.chat.turn import stream_turn
from north.memory.backend import Backend
from north.model import Caller


@dataclass(frozen=True)
class Call:
    """The model calls a tool."""

    tool: str
    arguments: dict[str, Any]


def call(tool: str, **arguments: Any) -> Call:
    return Call(tool, arguments)


Step = str | Call | asyncio.Event | Exception


class Script:
    """One list of steps for each request to the model. What the model was given stays in `requests`."""

    def __init__(self, *answers: Sequence[Step]) -> None:
        self._answers = iter(answers)
        self.requests: list[list[ModelMessage]] = []
        self.instructions: list[str] = []
        self.asked = asyncio.Event()

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        self.requests.append(list(messages))
        self.instructions.append(info.instructions or "")
        self.asked.set()
        for number, step in enumerate(next(self._answers)):
            match step:
                case str():
                    yield step
                case Call(tool, arguments):
                    at = f"call-{len(self.requests)}-{number}"
                    yield {number: DeltaToolCall(tool, json.dumps(arguments), tool_call_id=at)}
                case asyncio.Event():
                    await step.wait()
                case Exception():
                    raise step

    def assistant(self, backend: Backend) -> Assistant:
        return make_assistant(backend, FunctionModel(stream_function=self, model_name="scripted"))

    def told(self) -> list[Any]:
        """What the tools answered, in the order of the calls."""
        return [
            part.content
            for message in self.requests[-1]
            if isinstance(message, ModelRequest)
            for part in message.parts
            if isinstance(part, ToolReturnPart)
        ]


async def open_thread(backend: Backend, caller: Caller, matter: str | None = None) -> UUID:
    return (await create_thread(backend, caller, matter)).id


async def events_of(assistant: Assistant, caller: Caller, thread_id: UUID, text: str) -> list[TurnEvent]:
    return [event async for event in stream_turn(assistant, caller, thread_id, text)]
