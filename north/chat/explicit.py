"""What another assistant remembered of the lawyer, as single statements: no model reads it, and no word is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from north.chat.history import storable
from north.chat.offline.rules import recognise
from north.connectors.chat_history.shapes import ExplicitMemory
from north.memory.text import normalise, visible
from north.model import CONTENT_LIMIT, MemoryType

PREFIX_LIMIT = 200
"""The longest heading that goes before each of its statements; a longer one is a statement itself."""

_HEADING = re.compile(r"#{1,6}\s+(?P<marked>.+?)\s*#*|\*\*(?P<bold>[^*]+)\*\*:?|__(?P<underlined>[^_]+)__:?")
_BULLET = re.compile(r"(?P<indent>\s*)(?:[-*+•–]|\(?\d{1,3}[.)])\s+(?P<text>\S.*)")
_RULE = re.compile(r"\s*(?:[-*_=]\s*){3,}")
_MARKS = re.compile(r"\*\*|__(?=\S)|(?<=\S)__")
_ENDS = re.compile(r"[.!?…。！？:;][\"'”’)\]]*$")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*(?:\s+|$)|\n")
_USER = re.compile(r"^(?:the )?user(?P<own>'s)?\s+(?:(?P<be>is|was)\b|(?P<verb>has|[a-z]+s)\b)?", re.IGNORECASE)
_OF_KIND = {"profile": MemoryType.IDENTITY, "instructions": MemoryType.INSTRUCTION}


@dataclass(slots=True)
class _Heading:
    """A heading, or the beginning of a list, that goes before what stands under it; `level` says how far that goes."""

    level: int
    text: str
    used: bool = False


_LINES = 100
"""The level of a line that ends in a colon: below every heading, above every bullet."""


def statements(document: str) -> list[str]:
    """The statements of a document that stand alone: items of lists, lines and paragraphs, under their headings.

    Each has at most `CONTENT_LIMIT` characters; a longer one is split at the ends of sentences, then at spaces. A
    heading goes before each of its statements; one without any is a statement.
    """
    return [part for whole in _wholes(normalise(document)) if visible(whole) for part in _parts(whole)]


def type_of(statement: str, memory: ExplicitMemory, now: datetime) -> MemoryType:
    """What kind of statement it is: what the memory was, else what the offline assistant's rules say, else a fact."""
    if memory.kind in _OF_KIND:
        return _OF_KIND[memory.kind]
    for said in (statement, _first_person(statement)):
        found = next((each for each in recognise(said, on_matter=False, now=now) if each.kind == "save"), None)
        if found:
            return found.type
    return MemoryType.FACT


def text_of(memory: ExplicitMemory) -> str:
    """The memory's text as it can be stored."""
    text: str = storable(memory.text)
    return text


def _wholes(document: str) -> Iterator[str]:
    headings: list[_Heading] = []
    lines: list[str] = []

    def ended() -> Iterator[str]:
        if lines:
            yield _under(headings, " ".join(lines))
            lines.clear()

    def enter(level: int, text: str = "") -> Iterator[str]:
        """Leave what stands at this level or deeper, and begin a new one where there is a text."""
        while headings and headings[-1].level >= level:
            left = headings.pop()
            if not left.used:
                yield _under(headings, left.text)
        if text:
            headings.append(_Heading(level, text))

    for line in document.split("\n"):
        text = line.strip()
        heading, bullet = _HEADING.fullmatch(text), _BULLET.fullmatch(line)
        if not text or _RULE.fullmatch(line):
            yield from ended()
        elif heading and len(text) <= PREFIX_LIMIT:
            yield from ended()
            title = heading["marked"] or heading["bold"] or heading["underlined"]
            yield from enter(_depth(text), _MARKS.sub("", title).strip())
        elif bullet:
            yield from ended()
            level = _LINES + 1 + len(bullet["indent"].expandtabs())
            item = _MARKS.sub("", bullet["text"])
            opens = item.endswith(":") and len(item) <= PREFIX_LIMIT
            yield from enter(level, item if opens else "")
            lines.extend([] if opens else [item])
        elif lines and _goes_on(lines[-1], line):
            lines.append(_MARKS.sub("", text))
        else:
            yield from ended()
            opens = text.endswith(":") and len(text) <= PREFIX_LIMIT
            if opens or not (headings and headings[-1].level == _LINES and not headings[-1].used):
                yield from enter(_LINES, _MARKS.sub("", text) if opens else "")
            lines.extend([] if opens else [_MARKS.sub("", text)])
    yield from ended()
    yield from enter(0)


def _depth(heading: str) -> int:
    return len(heading) - len(heading.lstrip("#")) or 50  # bold lines stand below what is marked as a heading


def _goes_on(before: str, line: str) -> bool:
    """Whether a line goes on with the one before: it is indented under it, or in the middle of its sentence."""
    return line[:1].isspace() or (line[:1].islower() and not _ENDS.search(before))


def _under(headings: list[_Heading], text: str) -> str:
    for heading in headings:
        heading.used = True
    titles = [heading.text.rstrip(":").strip() for heading in headings]
    return ": ".join([*filter(None, titles), text])


def _parts(text: str) -> Iterator[str]:
    """A text in pieces that can be stored, cut where it hurts least."""
    while len(text) > CONTENT_LIMIT:
        head = text[:CONTENT_LIMIT]
        cut = max((end.end() for end in _SENTENCE_END.finditer(head)), default=0) or head.rfind(" ") + 1
        cut = cut or CONTENT_LIMIT
        if visible(text[:cut]):
            yield text[:cut].strip()
        text = text[cut:]
    if visible(text):
        yield text.strip()


def _first_person(statement: str) -> str:
    """A statement about "the user" as the user would say it, as far as the rules need."""

    def turned(found: re.Match[str]) -> str:
        if found["own"]:
            return "my " + (found["be"] or found["verb"] or "")
        if found["be"]:
            return "I am" if found["be"].lower() == "is" else "I was"
        verb = found["verb"] or ""
        return "I " + ("have" if verb.lower() == "has" else verb.removesuffix("s"))

    return _USER.sub(turned, statement.rpartition(": ")[2], count=1)
