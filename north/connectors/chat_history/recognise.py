"""Which reader a file belongs to, by the shape of its beginning and never by its name."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from north.connectors.chat_history import chatgpt, claude, claude_code, copilot, gemini, messages, pasted
from north.connectors.chat_history.document import Document, encoding_of
from north.connectors.chat_history.elements import NEXT, Damaged, Fits, elements
from north.connectors.chat_history.outline import keys_of, outline
from north.connectors.chat_history.shapes import Broken, Item
from north.connectors.chat_history.values import title_of

Reader = Callable[[Document], Iterator[Item]]
_FIRST_LOOK = 512
_LOOK = 256 * 1024
_LOOK_AT_PAGE = 1024 * 1024
"""Bytes: a page's styles stand before what it says."""
_MOST_TRIED = 1_000
"""Objects that are looked at when damage hides where the first one stands."""
_IN_WRAPPER = 2
"""Brackets around an element of a list that is a field of an object, such as `{"conversations": [{…}]}`."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """Objects of one kind: how to tell them by their keys, and what to read from each."""

    source: str
    fits: Fits
    read: Callable[[dict[str, Any]], Iterator[Item]]


_KINDS = (
    _Kind(chatgpt.SOURCE, chatgpt.fits, chatgpt.read),
    _Kind(claude.SOURCE, claude.fits_conversation, claude.read_conversation),
    _Kind(claude.SOURCE, claude.fits_memories, claude.read_memories),
    _Kind(claude.SOURCE, claude.fits_project, claude.read_project),
    _Kind(gemini.SOURCE, gemini.fits, gemini.read_activity),
    _Kind(messages.SOURCE, messages.fits_conversation, messages.read_conversation),
)
"""In the order in which they are tried."""


def recognise(document: Document) -> tuple[str, Reader] | None:
    """The source and the reader of a document, or None when it is nothing that anybody reads here."""
    beginning = document.beginning(_FIRST_LOOK)
    start = _text(beginning).lstrip()[:1]
    if b"\0" in beginning and encoding_of(beginning) == "utf-8" and start not in ("[", "{"):
        return None
    text = _text(document.beginning(_LOOK))
    if start == "<":
        page = _text(document.beginning(_LOOK_AT_PAGE))
        return (gemini.SOURCE, gemini.read_page) if gemini.is_page(page) else None
    if start in ("[", "{") and (reader := _recognise_json(text)):
        return reader
    if copilot.is_header(text.lstrip().split("\n", 1)[0]):
        return copilot.SOURCE, copilot.read
    return (pasted.SOURCE, pasted.read) if pasted.is_list(text) else None


def _text(data: bytes) -> str:
    return codecs.getincrementaldecoder(encoding_of(data))(errors="replace").decode(data).lstrip("\ufeff")


def _recognise_json(text: str) -> tuple[str, Reader] | None:
    objects = outline(text)
    in_list = text.lstrip().startswith("[")
    if not in_list and any(claude_code.fits(frozenset(found.keys)) for found in objects if found.depth == 0):
        return claude_code.SOURCE, claude_code.read
    for found in objects:
        of_list = found.depth == (1 if in_list else 0)
        wrapped = found.depth == _IN_WRAPPER and found.list_start > 0
        keys = frozenset(found.keys)
        if (of_list or wrapped) and (reader := _reader_of(keys, found.list_start, with_messages=of_list)):
            return reader
    return _recognise_after_damage(text) if in_list else None


def _recognise_after_damage(text: str) -> tuple[str, Reader] | None:
    """By any object that may be an element, for a list whose first one is damaged and hides where the others stand."""
    for place in islice(NEXT.finditer(text), _MOST_TRIED):
        if reader := _reader_of(keys_of(text, place.start()), text.index("[") + 1, with_messages=False):
            return reader
    return None


def _reader_of(keys: frozenset[str], list_start: int, *, with_messages: bool) -> tuple[str, Reader] | None:
    """The reader for elements with these keys, which begin at `list_start`, or at 0 where there is no list."""
    for kind in _KINDS:
        if kind.fits(keys):
            return kind.source, partial(_read_objects, kind, list_start)
    if with_messages and messages.fits_message(keys):
        return messages.SOURCE, partial(_read_messages, list_start)
    return None


def _read_objects(kind: _Kind, list_start: int, document: Document) -> Iterator[Item]:
    for element in elements(document.pieces(), list_start, list_start > 0, kind.fits):
        if isinstance(element, Damaged):
            yield Broken(kind.source, element.title, element.reason)
        elif isinstance(element, dict):
            yield from kind.read(element)
        else:
            yield Broken(kind.source, "Untitled", "It is no conversation.")


def _read_messages(list_start: int, document: Document) -> Iterator[Item]:
    found = elements(document.pieces(), list_start, list_start > 0, messages.fits_message)
    yield from messages.read_messages(found, title_of(document.name))
