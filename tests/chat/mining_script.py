"""A model that mines as a test tells it to, and what it was asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from north.chat.mining import Miner, make_miner, mine_thread
from north.memory.backend import Backend
from north.memory.mining import WINDOW_CHARACTERS, Kept
from north.model import Caller
from tests.memory.conversing import mining

Json = dict[str, Any]


def mined(content: str, evidence: str, **others: object) -> Json:
    found = {"content": content, "type": "preference", "scope": "user_private", "confidence": "high"}
    return {**found, "evidence": evidence, "updates": None, **others}


SAID = "For the record, I always cite in Bluebook form."
BLUEBOOK = "The lawyer always cites in Bluebook form."
FOUND = mined(BLUEBOOK, "I always cite in Bluebook form")


class Reader:
    """Answers each request with the next list of memories, raw arguments, or failure."""

    def __init__(self, *answers: Sequence[Json] | str | Exception) -> None:
        self._answers = list(answers)
        self.requests: list[list[ModelMessage]] = []
        self.instructions: list[str] = []

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.requests.append(list(messages))
        self.instructions.append(info.instructions or "")
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        arguments = answer if isinstance(answer, str) else json.dumps({"memories": list(answer)})
        return ModelResponse([ToolCallPart(info.output_tools[0].name, arguments)])

    def miner(self, backend: Backend, window: int = WINDOW_CHARACTERS) -> Miner:
        return make_miner(backend, FunctionModel(self, model_name="scripted"), window=window)

    def prompt(self, request: int = 0) -> str:
        """What the model was given to read."""
        parts = [part for message in self.requests[request] for part in message.parts]
        (text,) = [part.content for part in parts if isinstance(part, UserPromptPart)]
        assert isinstance(text, str)
        return text

    def lines(self, request: int = 0) -> list[Json]:
        """The lines of JSON in it."""
        return [json.loads(line) for line in self.prompt(request).splitlines() if line.startswith("{")]

    def complaint(self) -> str:
        """Why the model was asked again."""
        parts = [part for message in self.requests[-1] for part in message.parts]
        (text,) = [part.model_response_str() for part in parts if isinstance(part, ToolReturnPart)]
        return text


async def mine(miner: Miner, caller: Caller, thread_id: UUID) -> Kept:
    return await mine_thread(miner, mining(caller, thread_id), thread_id)
