"""What a JSON text looks like from its beginning alone, complete or not: which objects stand where, with which keys."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from north.connectors.chat_history.brackets import STRUCTURE

_COLON = re.compile(r"\s*+:")
_DEEPEST = 2
_LONGEST_KEYS = 8 * 1024


@dataclass(slots=True)
class Outlined:
    """An object: how many brackets enclose it, its keys as far as the text goes, and where its list begins."""

    depth: int
    list_start: int
    """The place behind the bracket of the list that holds it; 0 when none does."""
    keys: set[str] = field(default_factory=set)
    closed: bool = False


def outline(text: str) -> list[Outlined]:
    """The objects that at most two brackets enclose, in the order of the text."""
    objects: list[Outlined] = []
    open_objects: list[Outlined | None] = []
    list_starts: list[int] = []
    for token in STRUCTURE.finditer(text):
        mark = token[0][0]
        if mark in "[{":
            depth = len(open_objects)
            this = Outlined(depth, list_starts[-1] if list_starts else 0) if mark == "{" and depth <= _DEEPEST else None
            if this:
                objects.append(this)
            open_objects.append(this)
            list_starts.append(token.end() if mark == "[" else 0)
        elif mark in "]}":
            if open_objects:
                list_starts.pop()
                if closed := open_objects.pop():
                    closed.closed = True
        elif open_objects and (this := open_objects[-1]) and token[1] and _COLON.match(text, token.end()):
            this.keys.add(token[0][1:-1])
    return objects


def keys_of(text: str, start: int) -> frozenset[str]:
    """The keys of the object that begins at `start`, as far as `_LONGEST_KEYS` characters show them."""
    depth = 0
    keys = set()
    for token in STRUCTURE.finditer(text, start, start + _LONGEST_KEYS):
        mark = token[0][0]
        if mark in "[{":
            depth += 1
        elif mark in "]}":
            depth -= 1
            if depth <= 0:
                break
        elif depth == 1 and token[1] and _COLON.match(text, token.end()):
            keys.add(token[0][1:-1])
    return frozenset(keys)
