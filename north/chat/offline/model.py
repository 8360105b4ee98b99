"""The offline assistant as a model, so that it runs through the same agent, tools and streaming as a real one."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from north.chat.offline.conversation import Conversation, read
from north.chat.offline.steps import answer, next_calls

_WORDS = re.compile(r"(?:\S+\s*){1,4}|\s+")


def offline_model() -> Model:
    """North's built-in assistant, named `offline`: deterministic rules, with no state but the messages."""
    return FunctionModel(_respond, stream_function=_stream, model_name="offline")


def _conversation(messages: list[ModelMessage], info: AgentInfo) -> Conversation:
    return read(messages, info.instructions or "", frozenset(tool.name for tool in info.function_tools))


def _respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    conversation = _conversation(messages, info)
    calls = next_calls(conversation)
    if calls:
        return ModelResponse([ToolCallPart(call.tool, dict(call.arguments)) for call in calls])
    return ModelResponse([TextPart(answer(conversation))])


async def _stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    conversation = _conversation(messages, info)
    calls = next_calls(conversation)
    if calls:
        yield {place: DeltaToolCall(call.tool, json.dumps(dict(call.arguments))) for place, call in enumerate(calls)}
        return
    for words in _WORDS.findall(answer(conversation)):
        yield words
