"""The wording of everything that the offline assistant says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from north.chat.offline.known import Known

INTRODUCTION = (
    "I am North's built-in offline assistant: simple rules, no language model. I remember what you tell me and "
    "answer from it. For a real model, set ANTHROPIC_API_KEY or NORTH_MODEL."
)
GREETING = "Hello. Tell me what I should know, or ask me what I remember."
ALL_RIGHT = "All right."
WELCOME = "You're welcome."
NOTHING_TO_DO = "I found nothing in that to remember, and no question that I can answer from memory."
CANNOT_WORK = "I cannot draft, research or edit: that needs a language model."
NOT_REMEMBERED = "I did not remember any of that."
NOTHING_KNOWN = "I know nothing about that yet."
NOTHING_AT_ALL = "I remember nothing here yet."
WHICH_FORGET = "I do not know which memory you mean. Name it in a few words, or delete it in Settings → Memory."
WHICH_UPDATE = "I do not know which memory to correct. Say it as a whole sentence, and I will remember that."

_MODEL_DIRECTION = re.compile(r"\s*(?:Tell the lawyer|Save it with|Call again)\b.*$", re.DOTALL)
_LIST_LIMIT = 40


def noted(contents: Sequence[str]) -> str:
    """What was saved just now."""
    return _listed("Noted", contents)


def already_known(contents: Sequence[str]) -> str:
    """What did not need saving."""
    return _listed("I know that already", contents)


def updated(contents: Sequence[str]) -> str:
    """What memories say after their correction."""
    return _listed("Corrected", contents)


def forgotten(contents: Sequence[str]) -> str:
    """What was deleted just now."""
    return _listed("Forgotten", contents)


def refused(message: str) -> str:
    """Why something was not saved, from the tool's own message, without what that says to a model."""
    reason = _MODEL_DIRECTION.sub("", message).strip()
    if not reason:
        return "Not saved."
    return reason if reason.lower().startswith("not saved") else f"Not saved: {reason}"


def ambiguous(contents: Sequence[str]) -> str:
    """Several memories could be meant."""
    return _bullets("Several memories could be meant, so I changed nothing. Which one?", contents)


def from_memory(memories: Sequence[Known]) -> str:
    """An answer that quotes memories, with the day since when each is known."""
    if len(memories) == 1:
        return f"From memory: {_quoted(memories[0])}"
    return _bullets("From memory:", [_quoted(memory) for memory in memories])


def closest(memory: Known) -> str:
    """For want of an answer, the nearest memory."""
    return f"I remember nothing that clearly answers that. The closest is: {_quoted(memory)}"


def everything(personal: Sequence[Known], matter: Sequence[Known], matter_number: str | None) -> str:
    """A list of what is known, by bucket; at most 40 of each."""
    parts = []
    if personal:
        parts.append(_bullets("What I remember about you:", [_quoted(memory) for memory in personal]))
    if matter:
        parts.append(
            _bullets(f"What I remember about {matter_number or 'this matter'}:", [_quoted(memory) for memory in matter])
        )
    return "\n\n".join(parts) or NOTHING_AT_ALL


def bearing_on_it(memories: Sequence[Known]) -> str:
    """What is remembered that somebody who does the work should know."""
    return _bullets("What I remember that bears on it:", [_quoted(memory) for memory in memories])


def _quoted(memory: Known) -> str:
    return f"{memory.content} (noted {_day(memory.date)})" if memory.date else memory.content


def _day(written: str) -> str:
    try:
        day = date.fromisoformat(written)
    except ValueError:
        return written
    return f"{day.day} {day:%B %Y}"


def _listed(lead: str, contents: Sequence[str]) -> str:
    return f"{lead}: {contents[0]}" if len(contents) == 1 else _bullets(f"{lead}:", contents)


def _bullets(lead: str, contents: Sequence[str]) -> str:
    lines = [f"- {content}" for content in contents[:_LIST_LIMIT]]
    if len(contents) > _LIST_LIMIT:
        lines.append(f"- and {len(contents) - _LIST_LIMIT} more, all of them in Settings → Memory")
    return "\n".join([lead, *([""] if lines else []), *lines])
