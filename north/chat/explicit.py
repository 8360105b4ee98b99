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
    """The statements as they stand there, of any length."""
    lines = _Lines()
    for line in document.split("\n"):
        yield from lines.add(line)
    yield from lines.end()


class _Lines:
    """The lines of a statement that is not complete, and the headings over it."""

    def __init__(self) -> None:
        self._headings: list[_Heading] = []
        self._lines: list[str] = []

    def add(self, line: str) -> Iterator[str]:
        """Read a line; gives what is complete by it."""
        text = line.strip()
        heading, bullet = _HEADING.fullmatch(text), _BULLET.fullmatch(line)
        if not text or _RULE.fullmatch(line):
            yield from self._complete()
        elif heading and len(text) <= PREFIX_LIMIT:
            title = heading["marked"] or heading["bold"] or heading["underlined"]
            yield from self._enter(_depth(text), _MARKS.sub("", title).strip())
        elif bullet:
            yield from self._begin(bullet["text"], _LINES + 1 + len(bullet["indent"].expandtabs()))
        elif self._lines and _goes_on(self._lines[-1], line):
            self._lines.append(_MARKS.sub("", text))
        else:
            yield from self._begin(text, _LINES)

    def end(self) -> Iterator[str]:
        """What is left at the end."""
        yield from self._enter(0)

    def _begin(self, text: str, level: int) -> Iterator[str]:
        """A new statement, or a line that ends in a colon, under which others stand."""
        text = _MARKS.sub("", text)
        opens = text.endswith(":") and len(text) <= PREFIX_LIMIT
        yield from self._complete()
        awaits = self._headings and self._headings[-1].level == level == _LINES and not self._headings[-1].used
        if opens or not awaits:
            yield from self._enter(level, text if opens else "")
        self._lines += [] if opens else [text]

    def _complete(self) -> Iterator[str]:
        if self._lines:
            yield self._under_headings(" ".join(self._lines))
            self._lines.clear()

    def _enter(self, level: int, text: str = "") -> Iterator[str]:
        """Leave what stands at this level or deeper, and begin a heading where there is a text."""
        yield from self._complete()
        while self._headings and self._headings[-1].level >= level:
            left = self._headings.pop()
            if not left.used:
                yield self._under_headings(left.text)
        if text:
            self._headings.append(_Heading(level, text))

    def _under_headings(self, text: str) -> str:
        for heading in self._headings:
            heading.used = True
        titles = [heading.text.rstrip(":").strip() for heading in self._headings]
        return ": ".join([*filter(None, titles), text])


def _depth(heading: str) -> int:
    return len(heading) - len(heading.lstrip("#")) or 50  # bold lines stand below what is marked as a heading


def _goes_on(before: str, line: str) -> bool:
    """Whether a line goes on with the one before: it is indented under it, or in the middle of its sentence."""
    return line[:1].isspace() or (line[:1].islower() and not _ENDS.search(before))


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
