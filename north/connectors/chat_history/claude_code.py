"""Claude Code: transcripts of one record a line, of one or of several sessions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from north.connectors.chat_history.decoding import DECODER, is_too_heavy
from north.connectors.chat_history.document import LONGEST, Document
from north.connectors.chat_history.gathering import Gathered, Gathering
from north.connectors.chat_history.shapes import Broken, Conversation, Item, Skipped, Turn
from north.connectors.chat_history.values import clean, fingerprint, identifier, moment, record, sequence, title_of
from north.connectors.chat_history.walled import walled_in

SOURCE = "claude_code"
_NOT_THE_USERS = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
_WRAPPED = re.compile(
    r"<(command-[a-z]+|local-command-[a-z]+|bash-[a-z]+|system-reminder|task-notification|user-memory-input|"
    r"environment_context|ide_[a-z_]+|user-prompt-submit-hook)>.*?(?:</\1>|\Z)",
    re.DOTALL,
)
"""What the program writes into a user's message: commands and their output, reminders, what stands in the editor."""
_HARNESS = (
    "[Request interrupted by user",
    "Caveat: The messages below were generated",
    "Your final response is captured verbatim",
    "This session is being continued from a previous conversation",
)
"""How messages begin that the program sends in the user's name."""
_TITLES = {"ai-title": "aiTitle", "custom-title": "customTitle"}
_MOST_SUMMARIES = 10_000


def fits(keys: frozenset[str]) -> bool:
    """Whether an object with these keys is a record of a transcript."""
    return "type" in keys and ("sessionId" in keys or "leafUuid" in keys or {"message", "timestamp"} <= keys)


def read(document: Document) -> Iterator[Item]:
    """Each session as one conversation, in one pass; see `gathering` for sessions larger than memory."""
    gathering, summaries = Gathering(), _Summaries()
    for number, line in enumerate(document.lines(), 1):
        decoded = _decoded(line, number)
        if isinstance(decoded, Broken):
            yield decoded
        elif decoded.get("type") == "summary":
            summaries.add(decoded)
        elif decoded:
            _gather(gathering, summaries, decoded)
            for gathered in gathering.overflow():
                yield _conversation(gathered)
    for gathered in gathering.rest():
        yield _conversation(gathered)


class _Summaries:
    """Titles that stand before the session they belong to, by the id of a message of it."""

    def __init__(self) -> None:
        self._by_leaf: dict[str, str] = {}

    def add(self, found: dict[str, Any]) -> None:
        leaf = found.get("leafUuid")
        if isinstance(leaf, str) and len(self._by_leaf) < _MOST_SUMMARIES:
            self._by_leaf[leaf] = title_of(found.get("summary"), "")

    def of(self, found: dict[str, Any]) -> str:
        identity = found.get("uuid")
        return self._by_leaf.get(identity, "") if isinstance(identity, str) else ""


def _decoded(line: str | None, number: int) -> dict[str, Any] | Broken:
    title = f"Line {number}"
    if line is None:
        return Broken(SOURCE, title, f"It is longer than {LONGEST // 2**20} million characters.")
    if is_too_heavy(line, 0, len(line)):
        return Broken(SOURCE, title, "It has too many parts to be read.")
    try:
        return record(DECODER.decode(line)) if line.strip() else {}
    except (ValueError, RecursionError):
        reason = "It is damaged." if line.endswith("\n") else "The file ends in the middle of it."
        return Broken(SOURCE, title, reason)


def _gather(gathering: Gathering, summaries: _Summaries, found: dict[str, Any]) -> None:
    session = gathering.of(identifier(found.get("sessionId")))
    session.title = _title(found) or session.title or summaries.of(found)
    blocks = [record(block) for block in sequence(record(found.get("message")).get("content"))]
    session.walled |= set(walled_in(block.get("name") for block in blocks if block.get("type") == "tool_use"))
    if turn := _turn(found, blocks):
        gathering.add(session, turn)


def _title(found: dict[str, Any]) -> str:
    kind = found.get("type")
    return title_of(found.get(_TITLES[kind]), "") if isinstance(kind, str) and kind in _TITLES else ""


def _turn(found: dict[str, Any], blocks: list[dict[str, Any]]) -> Turn | None:
    if any(found.get(mark) for mark in _NOT_THE_USERS):
        return None
    at = moment(found.get("timestamp"))
    content = record(found.get("message")).get("content")
    kind = found.get("type")
    if kind == "attachment":
        text, kind = _of_user(_queued(record(found.get("attachment")))), "user"
    elif kind == "user" and record(found.get("origin")).get("kind") in (None, "human"):
        text = _of_user(content if isinstance(content, str) else _of_blocks(blocks))
    elif kind == "assistant":
        text = clean(content) or clean(_of_blocks(blocks))
    else:
        return None
    if not text:
        return None
    key = identifier(found.get("uuid")) or fingerprint(str(kind), str(at), text)
    return Turn(key, "user" if kind == "user" else "assistant", text, at)


def _queued(attachment: dict[str, Any]) -> str:
    """What the user wrote while the assistant was still at work."""
    prompt = attachment.get("prompt")
    if attachment.get("type") != "queued_command" or attachment.get("commandMode") not in ("prompt", None):
        return ""
    return prompt if isinstance(prompt, str) else _of_blocks([record(block) for block in sequence(prompt)])


def _of_blocks(blocks: list[dict[str, Any]]) -> str:
    """The texts; none where a tool's result stands beside them, since then the program wrote them."""
    if any(block.get("type") == "tool_result" for block in blocks):
        return ""
    return "\n\n".join(text for block in blocks if block.get("type") == "text" and (text := clean(block.get("text"))))


def _of_user(text: str) -> str:
    written = clean(_WRAPPED.sub("", text))
    return "" if written.startswith(_HARNESS) else written


def _conversation(session: Gathered) -> Item:
    words = next((turn.text for turn in session.turns if turn.role == "user"), "")
    title = session.title or title_of(words[:60])
    key = session.name or fingerprint(SOURCE, *(f"{turn.at} {turn.text}" for turn in session.turns[:1]))
    if not words:
        return Skipped(SOURCE, key, title, "empty")
    at = next((turn.at for turn in session.turns if turn.at), None)
    return Conversation(
        SOURCE, key, title, f"Claude Code · {title}", at, tuple(session.turns), tuple(sorted(session.walled))
    )
