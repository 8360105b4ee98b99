"""What every reader gives, whatever the file looked like."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Kind = Literal["profile", "instructions", "memory"]
"""What an explicit memory is about: who the user is, how they want things done, or anything else."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One visible message; `key` is the provider's id for it, or a hash of what it holds."""

    key: str
    role: Literal["user", "assistant"]
    text: str
    at: datetime | None
    """When it was said, with a time zone; None when the export does not tell."""


@dataclass(frozen=True, slots=True)
class ExplicitMemory:
    """What the provider remembered of its user, or was told to: kept without a model reading it."""

    source: str
    key: str
    """The same in every export that holds the same text of the same place."""
    text: str
    """One statement, or a whole document of them; of any length."""
    kind: Kind
    at: datetime | None
    label: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of one conversation, oldest first, along the branch that the user last saw."""

    source: str
    """Which reader: `chatgpt`, `claude`, `claude_code`, `copilot`, `gemini`, `messages` or `pasted`."""
    key: str
    """The provider's id for it, or a hash of what it holds."""
    title: str
    label: str
    """Where it came from, for people: the provider, the title, and its project or custom assistant."""
    at: datetime | None
    turns: tuple[Turn, ...]
    walled: tuple[str, ...] = ()
    """The walled sources that it consulted, by the names in `north.model`: `netdocuments`, `imanage`."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A conversation that is not to be read; `reason` is a stable code such as `do_not_remember` or `empty`."""

    source: str
    key: str
    title: str
    reason: str


@dataclass(frozen=True, slots=True)
class Broken:
    """A conversation, or the rest of a file, that cannot be read; `reason` is a sentence for people."""

    source: str
    title: str
    reason: str


Item = ExplicitMemory | Conversation | Skipped | Broken
