"""Exports as the providers write them, made to measure; and what is read from them."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from north.connectors.chat_history.export import open_export
from north.connectors.chat_history.shapes import Broken, Conversation, ExplicitMemory, Item, Skipped

Kind = TypeVar("Kind", Conversation, ExplicitMemory, Skipped, Broken)
BEGUN = 1_756_000_000


def node(
    name: str,
    parent: str | None,
    text: str | None,
    role: str = "user",
    *,
    content: dict[str, Any] | None = None,
    **message: Any,
) -> dict[str, Any]:
    """A node of ChatGPT's tree; without text and content it has no message."""
    said: dict[str, Any] | None = None
    if text is not None or content is not None:
        said = {
            "id": name,
            "author": {"role": role, "name": None, "metadata": {}},
            "create_time": None,
            "content": content or {"content_type": "text", "parts": [text]},
            "weight": 1.0,
            "metadata": {},
            "recipient": "all",
        } | message
    return {"id": name, "parent": parent, "children": [], "message": said}


def chatgpt(*nodes: dict[str, Any], current: object = None, **fields: Any) -> dict[str, Any]:
    """One of ChatGPT's conversations; its current node is the last one when left out."""
    return {
        "title": "Governing law",
        "create_time": BEGUN,
        "update_time": BEGUN,
        "mapping": {each["id"]: each for each in nodes},
        "current_node": current or (nodes[-1]["id"] if nodes else None),
        "conversation_id": "conversation-1",
        "id": "conversation-1",
    } | fields


def simple(number: int, text: str = "Always use New York law.") -> dict[str, Any]:
    """A conversation of ChatGPT with one message of the user."""
    return chatgpt(
        node("root", None, None),
        node(f"said-{number}", "root", text),
        conversation_id=f"conversation-{number}",
        title=f"Title {number}",
    )


def claude(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """One of Claude's conversations."""
    return {
        "uuid": "c1",
        "name": "Governing law",
        "created_at": "2026-05-01T10:00:00Z",
        "updated_at": "2026-05-01T10:00:00Z",
        "chat_messages": list(messages),
    } | fields


def said(uuid: str, text: str, sender: str = "human", **fields: Any) -> dict[str, Any]:
    """A message of Claude's."""
    return {"uuid": uuid, "sender": sender, "text": text, "content": [{"type": "text", "text": text}]} | fields


def read(path: Path) -> list[Item]:
    """Everything that an export gives."""
    with open_export(path) as export:
        items = list(export)
        assert export.position == export.size
    return items


def read_text(folder: Path, text: str | bytes, name: str = "export") -> list[Item]:
    """What a file of this text gives."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return read(path)


def read_json(folder: Path, value: object) -> list[Item]:
    """What a file of this value gives."""
    return read_text(folder, json.dumps(value))


def read_one(folder: Path, value: object) -> Item:
    """The one item that a file of this value gives."""
    [item] = read_json(folder, value)
    return item


def of_kind(items: Iterable[Item], kind: type[Kind]) -> list[Kind]:
    """The items of one kind."""
    return [item for item in items if isinstance(item, kind)]


def texts(item: Item) -> list[str]:
    """What was said in a conversation."""
    assert isinstance(item, Conversation), item
    return [turn.text for turn in item.turns]


def counts(items: Iterable[Item]) -> dict[str, int]:
    """How many items of each kind there are."""
    return dict(sorted(Counter(type(item).__name__ for item in items).items()))


def zipped(folder: Path, members: Mapping[str, str | bytes], name: str = "export.zip") -> Path:
    """A zip of these members."""
    path = folder / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return path
