"""The turns of a thread as the model library's own messages: how they are stored, and what the model is replayed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)

from north.db.connect import Row


def to_json(messages: Sequence[ModelMessage]) -> Any:
    """A turn's messages as JSON. The instructions carry the memory of that moment, so they are not stored."""
    bare = [replace(each, instructions=None) if isinstance(each, ModelRequest) else each for each in messages]
    return storable(ModelMessagesTypeAdapter.dump_python(bare, mode="json"))


def storable(said: Any) -> Any:
    """What a model said, however deep in its messages, without NUL and half surrogate pairs: Postgres takes neither."""
    match said:
        case str():
            return said.replace("\0", "").encode("utf-8", "replace").decode()
        case dict():
            return {key: storable(value) for key, value in said.items()}
        case list():
            return [storable(value) for value in said]
        case _:
            return said


def replayed(rows: Sequence[Row]) -> list[ModelMessage]:
    """The answered turns, as the model is to be replayed them. A stopped answer is replayed as far as it came."""
    history: list[ModelMessage] = []
    asked: Row | None = None
    for row in rows:
        if row["role"] == "user":
            asked = row
        elif row["model_messages"]:
            history.extend(ModelMessagesTypeAdapter.validate_python(row["model_messages"]))
        elif asked and row["content"]:
            history.append(ModelRequest([UserPromptPart(asked["content"])]))
            history.append(ModelResponse([TextPart(row["content"])]))
    return history
