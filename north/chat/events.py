"""What happens in a turn, in the order in which the lawyer sees it."""

from __future__ import annotations

from dataclasses import dataclass

from north.errors import NorthError
from north.model import Memory, Message, Thread


@dataclass(frozen=True, slots=True)
class Recalling:
    """The memory that the assistant was given for this answer, the closest first."""

    memories: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class MemorySaved:
    """A memory is live since this moment."""

    memory: Memory


@dataclass(frozen=True, slots=True)
class MemoryChanged:
    """A new version of a memory is live since this moment."""

    memory: Memory


@dataclass(frozen=True, slots=True)
class MemoryForgotten:
    """A memory was archived."""

    memory: Memory


@dataclass(frozen=True, slots=True)
class CaptureRefused:
    """A save was refused, and why, as a sentence for the lawyer."""

    reason: str


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The answer is complete and stored."""

    user_message: Message
    message: Message
    thread: Thread


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """There is no answer. What the lawyer typed is stored and can be sent again."""

    error: NorthError
    user_message: Message


TurnEvent = (
    Recalling | TextDelta | MemorySaved | MemoryChanged | MemoryForgotten | CaptureRefused | TurnFinished | TurnFailed
)
