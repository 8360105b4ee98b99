"""Claude: conversations with their branches, what Claude remembers (`memories.json`), and projects' instructions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal

from north.connectors.chat_history.shapes import Broken, Conversation, ExplicitMemory, Item, Kind, Skipped, Turn
from north.connectors.chat_history.values import clean, fingerprint, identifier, moment, record, sequence, title_of
from north.connectors.chat_history.walled import walled_in

SOURCE = "claude"
_ROLES: dict[object, Literal["user", "assistant"]] = {"human": "user", "assistant": "assistant"}
_MEMORIES = ("conversations_memory", "project_memories", "memory_files")
_TOOL_FIELDS = ("name", "integration_name", "mcp_server_url")


def fits_conversation(keys: frozenset[str]) -> bool:
    """Whether an object with these keys is one of Claude's conversations."""
    return "chat_messages" in keys


def fits_memories(keys: frozenset[str]) -> bool:
    """Whether an object with these keys holds what Claude remembers of an account."""
    return not keys.isdisjoint(_MEMORIES)


def fits_project(keys: frozenset[str]) -> bool:
    """Whether an object with these keys is one of Claude's projects."""
    return "prompt_template" in keys or {"uuid", "name", "docs"} <= keys


def read_conversation(element: dict[str, Any]) -> Iterator[Item]:
    """The conversation along its newest branch. Reasoning, tools and attached documents are none of its turns."""
    title = title_of(element.get("name"), title_of(element.get("title")))
    made = moment(element.get("created_at"))
    messages = element.get("chat_messages")
    if not isinstance(messages, list):
        yield Broken(SOURCE, title, "It has no messages: its `chat_messages` are missing.")
        return
    said = [message for message in messages if isinstance(message, dict)]
    turns = tuple(_turns(said, _branch(said)))
    key = identifier(element.get("uuid")) or fingerprint(title, str(made), turns[0].text if turns else "")
    if not any(turn.role == "user" for turn in turns):
        yield Skipped(SOURCE, key, title, "empty")
        return
    walled = walled_in(name for message in said for name in _tools(message))
    at = made or next((turn.at for turn in turns if turn.at), None)
    yield Conversation(SOURCE, key, title, _label(title, element), at, turns, walled)


def read_memories(element: dict[str, Any]) -> Iterator[Item]:
    """What Claude remembers of the account, in each project, and in files of its own."""
    at = moment(element.get("updated_at")) or moment(element.get("created_at"))
    yield from _memory("account", "memory", element.get("conversations_memory"), at, "Claude · Memory")
    for project, text in record(element.get("project_memories")).items():
        yield from _memory(project, "memory", text, at, f"Claude · Memory of project {title_of(project)}")
    for file in sequence(element.get("memory_files")):
        path, text = record(file).get("path"), record(file).get("content")
        yield from _memory(f"file {path}", "memory", text, at, f"Claude · Memory file {title_of(path)}")


def read_project(element: dict[str, Any]) -> Iterator[Item]:
    """A project's instructions and description. Its documents are documents, and Claude's own example is nobody's."""
    if element.get("is_starter_project"):
        return
    place = identifier(element.get("uuid"))
    at = moment(element.get("updated_at")) or moment(element.get("created_at"))
    label = f"Claude · Project {title_of(element.get('name'))}"
    instructions = element.get("prompt_template") or element.get("instructions")
    yield from _memory(place, "instructions", instructions, at, label)
    yield from _memory(place, "memory", element.get("description"), at, label)


def _memory(place: str, kind: Kind, text: object, at: datetime | None, label: str) -> Iterator[ExplicitMemory]:
    if written := clean(text):
        yield ExplicitMemory(SOURCE, fingerprint(SOURCE, kind, place, written), written, kind, at, label)


def _branch(messages: list[dict[str, Any]]) -> list[int]:
    """The places of the messages from the first to the newest that nothing answers.

    A message that names no parent follows the one before it in the list. Where no parent is known at all, the list is
    the conversation.
    """
    places: dict[str, int] = {}
    for place, message in enumerate(messages):
        places.setdefault(str(message.get("uuid")), place)
    parents = [_parent(place, message, places) for place, message in enumerate(messages)]
    if all(parent is None for parent in parents):
        return list(range(len(messages)))
    leaves = [place for place in range(len(messages)) if place not in set(parents)] or list(range(len(messages)))
    at: int | None = max(leaves, key=lambda place: (_seconds(messages[place]), place))
    seen: dict[int, None] = {}
    while at is not None and at not in seen:
        seen[at] = None
        at = parents[at]
    return list(reversed(seen))


def _parent(place: int, message: dict[str, Any], places: dict[str, int]) -> int | None:
    parent = message.get("parent_message_uuid")
    if isinstance(parent, str):
        return places.get(parent)
    return place - 1 if place else None


def _seconds(message: dict[str, Any]) -> float:
    at = moment(message.get("created_at"))
    return at.timestamp() if at else 0.0


def _turns(messages: list[dict[str, Any]], branch: list[int]) -> Iterator[Turn]:
    keys = set()
    for place in branch:
        message = messages[place]
        sender = message.get("sender")
        role = _ROLES.get(sender) if isinstance(sender, str) else None
        if role and (text := _words(message)):
            key = identifier(message.get("uuid")) or fingerprint(role, str(place), text)
            if key not in keys:
                keys.add(key)
                yield Turn(key, role, text, moment(message.get("created_at")))


def _words(message: dict[str, Any]) -> str:
    blocks = [record(block) for block in sequence(message.get("content"))]
    texts = [clean(block.get("text")) for block in blocks if block.get("type") == "text"]
    return "\n\n".join(text for text in texts if text) or clean(message.get("text"))


def _tools(message: dict[str, Any]) -> Iterator[object]:
    for block in sequence(message.get("content")):
        if "tool" in str(record(block).get("type")):
            yield from (record(block).get(field) for field in _TOOL_FIELDS)


def _label(title: str, element: dict[str, Any]) -> str:
    project = record(element.get("project"))
    identity = identifier(project.get("uuid")) or identifier(element.get("project_uuid"))
    name = title_of(project.get("name"), identity)
    return f"Claude · {title} · Project {name}" if name else f"Claude · {title}"
