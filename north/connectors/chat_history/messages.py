"""Plain lists of messages, as programs that speak to models keep them: `role` and `content`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Literal

from north.connectors.chat_history.elements import Damaged
from north.connectors.chat_history.shapes import Broken, Conversation, Item, Skipped, Turn
from north.connectors.chat_history.values import clean, fingerprint, identifier, moment, record, sequence, title_of
from north.connectors.chat_history.walled import walled_in

SOURCE = "messages"
_ROLES: dict[object, Literal["user", "assistant"]] = {"user": "user", "human": "user", "assistant": "assistant"}
_TEXTS = ("text", "input_text", "output_text", None)
_TIMES = ("created_at", "create_time", "timestamp")
_MOST_HELD = 48 * 1024 * 1024
_OVERHEAD = 1024
"""Bytes that a turn takes beside its text, about."""


def fits_message(keys: frozenset[str]) -> bool:
    """Whether an object with these keys is a message."""
    return {"role", "content"} <= keys


def fits_conversation(keys: frozenset[str]) -> bool:
    """Whether an object with these keys is a conversation of messages."""
    return "messages" in keys


def read_conversation(element: dict[str, Any]) -> Iterator[Item]:
    """One conversation out of an object that holds its messages."""
    messages = element.get("messages")
    title = title_of(element.get("title"), title_of(element.get("name"), ""))
    if not isinstance(messages, list):
        yield Broken(SOURCE, title or "Untitled", "It has no messages: its `messages` are no list.")
        return
    yield _Spoken(messages).conversation(title, identifier(element.get("id")), _time(element))


def read_messages(found: Iterable[object], title: str) -> Iterator[Item]:
    """All messages of a file as one conversation; `title` is the file's name."""
    spoken = _Spoken()
    for element in found:
        if isinstance(element, Damaged):
            yield Broken(SOURCE, element.title, element.reason)
        elif spoken.weight <= _MOST_HELD:
            spoken.add(element)
    if spoken.weight > _MOST_HELD:
        yield Broken(SOURCE, title, f"It takes more than {_MOST_HELD // 2**20} MiB.")
    else:
        yield spoken.conversation(title, spoken.fingerprint(), None)


class _Spoken:
    """The turns of one conversation, and the walled sources that it consulted, as its messages come."""

    def __init__(self, messages: Iterable[object] = ()) -> None:
        self.weight = 0
        self._turns: dict[str, Turn] = {}
        self._walled: set[str] = set()
        self._place = 0
        for message in messages:
            self.add(message)

    def add(self, found: object) -> None:
        message = record(found)
        self._place += 1
        self._walled |= set(walled_in(_tools(message)))
        role = _ROLES.get(message.get("role")) if isinstance(message.get("role"), str) else None
        if role and (text := _words(message.get("content"))):
            key = identifier(message.get("id")) or fingerprint(role, str(self._place), text)
            self._turns.setdefault(key, Turn(key, role, text, _time(message)))
            self.weight += _OVERHEAD + sys.getsizeof(text)

    def fingerprint(self) -> str:
        """A key that does not change when the file is renamed or the conversation goes on."""
        return fingerprint(SOURCE, *(turn.text for turn in list(self._turns.values())[:1]))

    def conversation(self, title: str, key: str, at: datetime | None) -> Item:
        turns = tuple(self._turns.values())
        words = next((turn.text for turn in turns if turn.role == "user"), "")
        title = title or title_of(words[:60])
        key = key or fingerprint(SOURCE, title, words)
        if not words:
            return Skipped(SOURCE, key, title, "empty")
        at = at or next((turn.at for turn in turns if turn.at), None)
        return Conversation(SOURCE, key, title, f"Messages · {title}", at, turns, tuple(sorted(self._walled)))


def _words(content: object) -> str:
    if isinstance(content, str):
        return clean(content)
    texts = (
        part if isinstance(part, str) else record(part).get("text") if record(part).get("type") in _TEXTS else None
        for part in sequence(content)
    )
    return "\n".join(text for part in texts if (text := clean(part)))


def _time(message: dict[str, Any]) -> datetime | None:
    return next((at for field in _TIMES if (at := moment(message.get(field)))), None)


def _tools(message: dict[str, Any]) -> Iterator[object]:
    if message.get("role") in ("tool", "function"):
        yield message.get("name")
    yield from (record(record(call).get("function")).get("name") for call in sequence(message.get("tool_calls")))
    parts = map(record, sequence(message.get("content")))
    yield from (part.get("name") for part in parts if part.get("type") == "tool_use")
