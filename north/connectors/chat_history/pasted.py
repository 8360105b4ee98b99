"""What somebody pasted or a provider lists: "[2025-03-01] - text", a statement a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from north.connectors.chat_history.document import LONGEST, Document
from north.connectors.chat_history.shapes import Broken, ExplicitMemory, Item
from north.connectors.chat_history.values import clean, fingerprint, moment

SOURCE = "pasted"
_DATE = r"\d{4}[-/]\d{2}[-/]\d{2}(?:[T ]\d{2}:\d{2}[\d:.]*(?:Z|[+-]\d{2}:?\d{2})?)?"
_DATED = re.compile(
    rf"""\s*+(?:[-*•]\s++|\d{{1,5}}[.)]\s++)?\**+  # a bullet or a number, perhaps bold
    (?:[\[(](?P<boxed>{_DATE}|unknown|undated|no\ date)[\])]\**+\s*+[-–—:.]*+  # a date in brackets
    |(?P<bare>{_DATE})\**+\s*+[-–—:]++)  # or a date before a dash
    \s*+(?P<text>\S.*)""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_NUMBERED = re.compile(r"\s*+\d{1,5}[.)]\s++(?P<text>\S.*)", re.DOTALL)
_FRAME = re.compile(r"\s*+(?:#|```|~~~)")
"""Headings, and the fence of a code block around the list."""
_MOST_BEFORE = 20
_OVERHEAD = 64
"""What a line counts beside its characters, so that empty ones come to an end, too."""

Statement = tuple[datetime | None, str | None]
"""When it was noted, and what; the text is None when it is longer than `LONGEST` characters."""


def is_list(text: str) -> bool:
    """Whether one of the first lines is a dated statement."""
    lines = [line for line in text.split("\n") if line.strip()]
    return any(_DATED.match(line) for line in lines[:_MOST_BEFORE])


def read(document: Document) -> Iterator[Item]:
    """Every statement of the list as an explicit memory with its date."""
    for number, (at, text) in enumerate(statements(document.lines()), 1):
        if text is None:
            yield Broken(SOURCE, f"Statement {number}", f"It is larger than {LONGEST // 2**20} million characters.")
        else:
            yield ExplicitMemory(SOURCE, fingerprint(SOURCE, text), text, "memory", at, "Pasted list")


def statements(lines: Iterable[str | None], undated: bool = False) -> Iterator[Statement]:
    """Each dated statement, with the lines that go on from it; what stands before the first is left out.

    Args:
        lines: as they stand in the text; None for one that is too long.
        undated: whether a number alone begins a statement too.
    """
    at: datetime | None = None
    parts: list[str] = []
    length = 0
    for line in lines:
        if line is None:
            length = LONGEST + 1
        elif found := _DATED.match(line):
            yield from _complete(at, parts, length)
            at = moment((found["boxed"] or found["bare"]).replace("/", "-"))
            parts, length = [found["text"]], len(line)
        elif undated and (found := _NUMBERED.match(line)):
            yield from _complete(at, parts, length)
            at, parts, length = None, [found["text"]], len(line)
        elif parts and length <= LONGEST and not _FRAME.match(line):
            parts.append(line)
            length += len(line) + _OVERHEAD
    yield from _complete(at, parts, length)


def _complete(at: datetime | None, parts: list[str], length: int) -> Iterator[Statement]:
    if length > LONGEST:
        yield at, None
    elif text := clean("".join(part if part.endswith("\n") else part + "\n" for part in parts)):
        yield at, text
