"""The elements of a JSON text that is larger than memory, one at a time, each for itself.

An element is decoded where it lies in a rolling window of text. Only where that fails, because the element is damaged
or goes on beyond the window, its end is sought by brackets and quotes. So a broken element costs nobody but itself, and
one that is too large is passed over without ever being held.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from north.connectors.chat_history.document import LONGEST
from north.connectors.chat_history.outline import STRUCTURE, keys_of
from north.connectors.chat_history.values import title_of

_STEP = 2 * 1024 * 1024
_MOST_MEMORY = 160 * 1024 * 1024
_NEXT = re.compile(r"\}\s*,\s*(?=\{)")
_BETWEEN = re.compile(r"[\s,}]*+")
_INSIDE = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_SCALAR = re.compile(r"[^\s,\[\]{}\"]*+")
_TITLE = re.compile(r'"(?:title|name)"\s*+:\s*+("(?:[^"\\]|\\.)*+")')
_MOST_CANDIDATES = 1_000
_LONGEST_NUMBER = 4_000


@dataclass(frozen=True, slots=True)
class Damaged:
    """An element that cannot be given; `title` is what its text says, or where it stood."""

    title: str
    reason: str


def _whole(digits: str) -> float:
    return int(digits) if len(digits) < _LONGEST_NUMBER else float(digits)


_DECODER = json.JSONDecoder(strict=False, parse_int=_whole)


def elements(pieces: Iterator[str], start: int, in_list: bool, fits: Callable[[frozenset[str]], bool]) -> Iterator[Any]:
    """Decoded elements and `Damaged` ones, in the order of the text.

    Args:
        pieces: the text.
        start: how many characters stand before the first element.
        in_list: whether they stand in a list, which has to end; else they follow one another to the end of the text.
        fits: whether an object with these keys is an element; after damage, reading goes on at the next that is.
    """
    window = _Window(pieces)
    window.skip(start)
    number = 0
    while window.next_element():
        if window.text[window.at] == "]":
            if in_list:
                return
            window.at += 1
            continue
        number += 1
        yield window.element(number, fits)
    if in_list and not window.cut:
        yield Damaged(f"After conversation {number}", f"The file ends after {window.place:,} characters, too early.")


class _Window:
    """The part of the text that is held, and how far it has been read."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self.text = ""
        self.at = 0
        self.cut = False
        """Whether an element was cut off by the end of the text."""
        self._pieces = pieces
        self._before = 0

    @property
    def place(self) -> int:
        """Characters of the text before `at`."""
        return self._before + self.at

    def more(self) -> bool:
        """Let go of what has been read and hold a step more; False at the end of the text."""
        parts, length = [self.text[self.at :]], 0
        self.text = ""
        for piece in self._pieces:
            parts.append(piece)
            length += len(piece)
            if length >= _STEP:
                break
        self._before += self.at
        self.text, self.at = "".join(parts), 0
        return length > 0

    def skip(self, count: int) -> None:
        while count > len(self.text) - self.at:
            count -= len(self.text) - self.at
            self.at = len(self.text)
            if not self.more():
                return
        self.at += count

    def next_element(self) -> bool:
        while True:
            found = _BETWEEN.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.text):
                return True
            if not self.more():
                return False

    def element(self, number: int, fits: Callable[[frozenset[str]], bool]) -> Any:
        """The element that begins here, or why there is none; afterwards `at` stands behind it."""
        try:
            value, end = _DECODER.raw_decode(self.text, self.at)
        except (ValueError, RecursionError):
            return self._element_by_its_end(number, fits)
        self.at = end
        return value

    def _element_by_its_end(self, number: int, fits: Callable[[frozenset[str]], bool]) -> Any:
        brackets = _Brackets()
        while (end := brackets.end(self.text, self.at)) is None:
            if len(self.text) - self.at > LONGEST:
                return self._too_large(number, brackets, fits)
            if not self.more():
                return self._cut_off(number, fits)
        if _memory(self.text, self.at, end) > _MOST_MEMORY:
            return self._damaged(number, "It has too many parts to be read.", end)
        try:
            value, self.at = _DECODER.raw_decode(self.text, self.at)
        except RecursionError:
            return self._damaged(number, "It is nested too deeply to be read.", end)
        except ValueError as error:
            wrong = getattr(error, "pos", self.at)
            reason = f"Its text is damaged {self._before + wrong:,} characters into the file."
            return self._damaged(number, reason, self._resume(wrong, end, fits) or end)
        return value

    def _too_large(self, number: int, brackets: _Brackets, fits: Callable[[frozenset[str]], bool]) -> Damaged:
        if resume := self._resume(self._error_position(), len(self.text), fits):
            return self._damaged(number, f"Its text is damaged; it begins {self.place:,} characters in.", resume)
        damaged = self._damaged(number, f"It is larger than {LONGEST // 2**20} million characters.", len(self.text))
        while (end := brackets.end(self.text, self.at)) is None:
            self.at = brackets.seen_in(self.text)
            brackets.forget()
            if not self.more():
                self.cut = True
                break
        self.at = len(self.text) if end is None else end
        return damaged

    def _cut_off(self, number: int, fits: Callable[[frozenset[str]], bool]) -> Damaged:
        where = f"{self._before + len(self.text):,}"
        if resume := self._resume(self._error_position(), len(self.text), fits):
            return self._damaged(number, f"Its text is damaged; it begins {self.place:,} characters in.", resume)
        self.cut = True
        return self._damaged(number, f"The file ends in the middle of it, after {where} characters.", len(self.text))

    def _damaged(self, number: int, reason: str, end: int) -> Damaged:
        found = _TITLE.search(self.text, self.at, min(end, self.at + 2_000))
        title = json.loads(found[1], strict=False) if found else None
        self.at = end
        return Damaged(title_of(title, f"Conversation {number}"), reason)

    def _error_position(self) -> int:
        try:
            _DECODER.raw_decode(self.text, self.at)
        except ValueError as error:
            return int(getattr(error, "pos", self.at))
        except RecursionError:
            pass
        return self.at

    def _resume(self, wrong: int, end: int, fits: Callable[[frozenset[str]], bool]) -> int | None:
        """Where the next element begins inside of what a lost quote or bracket made one with the damaged one."""
        for count, found in enumerate(_NEXT.finditer(self.text, wrong, end)):
            if count == _MOST_CANDIDATES:
                break
            if fits(keys_of(self.text, found.end())):
                return found.end()
        return None
