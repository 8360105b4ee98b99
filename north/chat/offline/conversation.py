"""The conversation as the offline assistant sees it: read anew from the messages at every request, nothing is kept."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from north.chat.offline.known import Known, matter_in, memory_in


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. `result` is what the tool returned; empty while the call is only planned."""

    tool: str
    arguments: Mapping[str, Any]
    result: Mapping[str, Any]

    @property
    def outcome(self) -> str:
        """The tool's own word for what happened, or empty."""
        return str(self.result.get("outcome", ""))

    @property
    def memory(self) -> Known | None:
        """The memory that the tool saved, changed or deleted."""
        return _known(self.result.get("memory"))

    def hits(self) -> list[Known]:
        """What a recall found in both buckets, best first."""
        rows = [row for bucket in ("personal", "matter") for row in self.result.get(bucket) or ()]
        ranked = sorted((row for row in rows if isinstance(row, dict)), key=lambda row: -_number(row.get("score")))
        return [memory for row in ranked if (memory := _known(row))]

    def candidates(self) -> list[Known]:
        """The memories between which an update could not choose."""
        return [memory for row in self.result.get("candidates") or () if (memory := _known(row))]


@dataclass(frozen=True, slots=True)
class Conversation:
    """What one request of the model sees.

    `text` is the lawyer's latest message and `now` its time; `done` are the tool calls made for it so far.
    `known` is the injected memory; `touched` what earlier turns saved or changed, latest last.
    """

    text: str
    now: datetime
    matter: str | None
    known: tuple[Known, ...]
    touched: tuple[Known, ...]
    done: tuple[Call, ...]
    last_answer: str
    is_first: bool
    tools: frozenset[str]

    @property
    def memories(self) -> tuple[Known, ...]:
        """The injected memory and what was touched and is not among it, each once."""
        seen = {memory.id for memory in self.known}
        return (*self.known, *(memory for memory in self.touched if memory.id not in seen))


def read(messages: Sequence[ModelMessage], instructions: str, tools: frozenset[str]) -> Conversation:
    """The conversation in `messages`, whose latest user message is the one to answer."""
    start = max((place for place, message in enumerate(messages) if _prompt(message)), default=0)
    prompt = _prompt(messages[start]) if messages else None
    before = messages[:start]
    answers = [text for message in before if (text := _answer(message))]
    return Conversation(
        text=_text(prompt) if prompt else "",
        now=prompt.timestamp if prompt else datetime.now(UTC),
        matter=matter_in(instructions),
        known=memory_in(instructions),
        touched=_touched(before),
        done=tuple(_calls(messages[start:])),
        last_answer=answers[-1] if answers else "",
        is_first=not answers,
        tools=tools,
    )


def _prompt(message: ModelMessage) -> UserPromptPart | None:
    if not isinstance(message, ModelRequest):
        return None
    return next((part for part in message.parts if isinstance(part, UserPromptPart)), None)


def _text(prompt: UserPromptPart) -> str:
    if isinstance(prompt.content, str):
        return prompt.content
    pieces = (piece.content if isinstance(piece, TextContent) else piece for piece in prompt.content)
    return "\n".join(piece for piece in pieces if isinstance(piece, str))


def _answer(message: ModelMessage) -> str:
    if not isinstance(message, ModelResponse):
        return ""
    return "".join(part.content for part in message.parts if isinstance(part, TextPart))


def _calls(messages: Sequence[ModelMessage]) -> Iterator[Call]:
    """The calls in `messages` that have been answered, in their order."""
    asked: dict[str, ToolCallPart] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                asked[part.tool_call_id] = part
            elif isinstance(part, ToolReturnPart) and part.tool_call_id in asked:
                arguments = asked[part.tool_call_id].args_as_dict()
                yield Call(part.tool_name, arguments, _result(part))


def _result(part: ToolReturnPart) -> Mapping[str, Any]:
    content: object = part.content
    if isinstance(content, str):
        try:
            content = json.loads(content)
        except ValueError:
            content = {"message": content}
    result = dict(content) if isinstance(content, Mapping) else {"message": str(content)}
    if part.outcome != "success":
        return {"message": part.model_response_str(), **result, "outcome": "failed"}
    return result


def _touched(messages: Sequence[ModelMessage]) -> tuple[Known, ...]:
    touched: dict[str, Known] = {}
    for call in _calls(messages):
        memory = call.memory
        if memory is None:
            continue
        touched.pop(str(call.arguments.get("memory_id", "")), None)  # an update leaves a new version
        touched.pop(memory.id, None)
        if call.outcome in {"saved", "already_known", "updated"}:
            touched[memory.id] = memory
    return tuple(touched.values())


def _known(row: object) -> Known | None:
    if not isinstance(row, Mapping) or not row.get("id") or not row.get("content"):
        return None
    fields = {name: str(row[name]) for name in ("type", "date", "scope") if row.get(name)}
    return Known(str(row["id"]), html.unescape(str(row["content"])), **fields)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
