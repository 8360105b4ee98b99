"""ChatGPT: `conversations.json` or its shards, a tree of messages each, with what ChatGPT remembers among them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from north.connectors.chat_history.decoding import DECODER
from north.connectors.chat_history.pasted import statements
from north.connectors.chat_history.shapes import Broken, Conversation, ExplicitMemory, Item, Kind, Skipped, Turn
from north.connectors.chat_history.values import clean, fingerprint, identifier, moment, record, sequence, title_of
from north.connectors.chat_history.walled import walled_in

SOURCE = "chatgpt"
_LABELS: dict[Kind, str] = {
    "profile": "ChatGPT · About you",
    "instructions": "ChatGPT · Custom instructions",
    "memory": "ChatGPT · Saved memory",
}
_SHOWN = ("text", "multimodal_text")
"""The kinds of content that state something to the reader. Code, its output, reasoning, pages that were read
(`tether_…`), errors and every kind that is not known are work of the machine.
"""
_SPOKEN = ("text", "audio_transcription")
_TOOL_METADATA = (
    "invoked_plugin",
    "jit_plugin_data",
    "invoked_resource",
    "chatgpt_sdk",
    "connector_id",
    "connector_name",
)
_IDS = ("id", "conversation_id")
_PREAMBLE, _FENCE = "The user provided ", "```"
"""ChatGPT's own words before what the user wrote about themselves, and what stands around that."""


def fits(keys: frozenset[str]) -> bool:
    """Whether an object with these keys is one of ChatGPT's conversations, if need be one that lost its messages."""
    return "mapping" in keys or (
        {"title", "create_time", "update_time"} <= keys and bool({"id", "conversation_id"} & keys)
    )


def read(element: dict[str, Any]) -> Iterator[Item]:
    """What ChatGPT remembered when the conversation was held, then the conversation itself."""
    title = title_of(element.get("title"))
    made = moment(element.get("create_time"))
    key = identifier(element.get("conversation_id")) or identifier(element.get("id")) or fingerprint(title, str(made))
    if element.get("is_do_not_remember"):
        yield Skipped(SOURCE, key, title, "do_not_remember")
        return
    nodes = element.get("mapping")
    if not isinstance(nodes, dict):
        yield Broken(SOURCE, title, "It has no messages: its `mapping` is missing.")
        return
    yield from _remembered(nodes, made)
    turns = tuple(_turns(nodes, _branch(nodes, element.get("current_node"))))
    if not any(turn.role == "user" for turn in turns):
        yield Skipped(SOURCE, key, title, "empty")
        return
    walled = walled_in(name for node in nodes.values() for name in _tools(_message(node)))
    yield Conversation(SOURCE, key, title, _label(title, element), made or _first_time(turns), turns, walled)


def _message(node: object) -> dict[str, Any]:
    return record(record(node).get("message"))


def _branch(nodes: dict[str, Any], current: object) -> list[str]:
    """The ids from the root to the current node, or to the newest leaf when there is no such node."""
    at: object = current if isinstance(current, str) and current in nodes else _newest_leaf(nodes)
    seen: dict[str, None] = {}
    while isinstance(at, str) and at in nodes and at not in seen:
        seen[at] = None
        at = record(nodes[at]).get("parent")
    return list(reversed(seen))


def _newest_leaf(nodes: dict[str, Any]) -> str | None:
    """The node without children whose message is newest; of any nodes when they all have children."""
    parents = {parent for node in nodes.values() if isinstance(parent := record(node).get("parent"), str)}
    leaves = [name for name in nodes if name not in parents] or list(nodes)
    return max(reversed(leaves), key=lambda name: _seconds(_message(nodes[name])), default=None)


def _seconds(message: dict[str, Any]) -> float:
    at = moment(message.get("create_time")) or moment(message.get("update_time"))
    return at.timestamp() if at else 0.0


def _turns(nodes: dict[str, Any], branch: list[str]) -> Iterator[Turn]:
    keys = set()
    for name in branch:
        message = _message(nodes[name])
        role = record(message.get("author")).get("role")
        if role not in ("user", "assistant") or not _is_shown(message):
            continue
        key = identifier(message.get("id")) or identifier(name) or fingerprint(name)
        if key not in keys and (text := _words(record(message.get("content")))):
            keys.add(key)
            yield Turn(key, role, text, moment(message.get("create_time")))


def _is_shown(message: dict[str, Any]) -> bool:
    metadata = record(message.get("metadata"))
    hidden = metadata.get("is_visually_hidden_from_conversation") or metadata.get("is_user_system_message")
    addressed_to_reader = message.get("recipient") in ("all", None)
    return not hidden and addressed_to_reader and message.get("weight") != 0 and message.get("channel") != "analysis"


def _words(content: dict[str, Any]) -> str:
    """What a message says: its texts and transcriptions, without pictures and other attachments."""
    if content.get("content_type") not in _SHOWN:
        return ""
    parts = sequence(content.get("parts")) or [content.get("text")]
    said = (part if isinstance(part, str) else _transcription(record(part)) for part in parts)
    return clean("\n".join(text for text in said if text))


def _transcription(part: dict[str, Any]) -> str:
    text = part.get("text")
    return text if part.get("content_type") in _SPOKEN and isinstance(text, str) else ""


def _tools(message: dict[str, Any]) -> Iterator[object]:
    """The names under which a message calls a tool, or comes from one."""
    author, recipient, metadata = (
        record(message.get("author")),
        message.get("recipient"),
        record(message.get("metadata")),
    )
    if author.get("role") == "tool":
        yield author.get("name")
    yield from (metadata.get(field) for field in _TOOL_METADATA)
    if isinstance(recipient, str) and recipient != "all":
        yield recipient
        yield _path_of_call(record(message.get("content")))


def _path_of_call(content: dict[str, Any]) -> object:
    """The tool behind a general one such as `api_tool.call_tool`, which is told in the arguments alone."""
    parts = sequence(content.get("parts"))
    text = content.get("text") or (parts[0] if parts else None)
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return None
    try:
        arguments = record(DECODER.decode(text))
    except (ValueError, RecursionError):
        return None
    return [value for field in ("path", "uri", "name", "tool_name") if isinstance(value := arguments.get(field), str)]


def _remembered(nodes: dict[str, Any], made: datetime | None) -> Iterator[ExplicitMemory]:
    keys = set()
    for node in nodes.values():
        message = _message(node)
        said_at = moment(message.get("create_time")) or made
        for kind, at, text in _statements(message):
            key = fingerprint(SOURCE, kind, text)
            if key not in keys:
                keys.add(key)
                yield ExplicitMemory(SOURCE, key, text, kind, at or said_at, _LABELS[kind])


def _statements(message: dict[str, Any]) -> Iterator[tuple[Kind, datetime | None, str]]:
    content = record(message.get("content"))
    context = record(record(message.get("metadata")).get("user_context_message_data"))
    editable = content if content.get("content_type") == "user_editable_context" else {}
    for text in (context.get("about_user_message"), editable.get("user_profile")):
        if written := _as_written(text):
            yield "profile", None, written
    for text in (context.get("about_model_message"), editable.get("user_instructions")):
        if written := _as_written(text):
            yield "instructions", None, written
    if content.get("content_type") == "model_editable_context" and (saved := clean(content.get("model_set_context"))):
        listed = list(statements(saved.split("\n"), undated=True))
        yield from (("memory", at, text) for at, text in listed or [(None, saved)] if text)


def _as_written(text: object) -> str:
    written = clean(text)
    begin = written.find(_FENCE) + len(_FENCE)
    end = len(written) - len(_FENCE)
    if written.startswith(_PREAMBLE) and written.endswith(_FENCE) and len(_FENCE) <= begin <= end:
        return written[begin:end].strip()
    return written


def _label(title: str, element: dict[str, Any]) -> str:
    assistant = identifier(element.get("gizmo_id")) or identifier(element.get("conversation_template_id"))
    if not assistant:
        return f"ChatGPT · {title}"
    return f"ChatGPT · {title} · {'Project' if assistant.startswith('g-p-') else 'Custom assistant'} {assistant}"


def _first_time(turns: tuple[Turn, ...]) -> datetime | None:
    return next((turn.at for turn in turns if turn.at), None)
