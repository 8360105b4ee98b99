"""The elements of a JSON text that is larger than memory, one at a time, each for itself.

An element is decoded where it lies in a rolling window of text. Only where that fails, because the element is damaged
or goes on beyond the window, its end is sought by brackets and quotes. So a broken element costs nobody but itself, and
one that is too large is passed over without ever being held.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from north.connectors.chat_history.brackets import Brackets
from north.connectors.chat_history.decoding import DECODER, is_too_heavy
from north.connectors.chat_history.document import LONGEST
from north.connectors.chat_history.outline import keys_of
from north.connectors.chat_history.values import title_of

Fits = Callable[[frozenset[str]], bool]
"""Whether an object with these keys is an element of the kind that is read."""
_FIRST_STEP = 64 * 1024
_STEP = 2 * 1024 * 1024
"""Characters that are read at a time: few at the beginning, so that of a small file, too, one sees how far it is."""
NEXT = re.compile(r"(?<=[\s,}])(?<!:\s)\{")
"""Where an object begins that may be an element: one that is neither a field's value nor the first of a list."""
_BETWEEN = re.compile(r"[\s,}]*+")
_TITLE = re.compile(r'"(?:title|name)"\s*+:\s*+("(?:[^"\\]|\\.)*+")')
_MOST_CANDIDATES = 5_000


@dataclass(frozen=True, slots=True)
class Damaged:
    """An element that cannot be given; `title` is what its text says, or where it stood."""

    title: str
    reason: str


def elements(pieces: Iterator[str], start: int, in_list: bool, fits: Fits) -> Iterator[Any]:
    """Decoded elements and `Damaged` ones, in the order of the text.

    Args:
        pieces: the text.
        start: how many characters stand before the first element.
        in_list: whether they stand in a list, which has to end; else they follow one another to the end of the text.
        fits: after damage, reading goes on at the next object that fits.
    """
    window = _Window(pieces, fits)
    window.skip(start)
    number = 0
    while window.find_next():
        if window.text[window.at] == "]":
            window.at += 1
            if in_list:
                return
            continue
        number += 1
        yield window.element(number)
    if in_list and not window.cut:
        yield Damaged(f"After conversation {number}", f"The file ends too early, after {window.place:,} characters.")


class _Window:
    """The part of the text that is held, and how far it has been read."""

    def __init__(self, pieces: Iterator[str], fits: Fits) -> None:
        self.text = ""
        self.at = 0
        self.cut = False
        """Whether the text ended within an element."""
        self._step = min(_FIRST_STEP, _STEP)
        self._pieces = pieces
        self._fits = fits
        self._before = 0

    @property
    def place(self) -> int:
        """Characters of the text before `at`."""
        return self._before + self.at

    def skip(self, count: int) -> None:
        """Pass over characters."""
        while count > len(self.text) - self.at:
            count -= len(self.text) - self.at
            self.at = len(self.text)
            if not self._more():
                return
        self.at += count

    def find_next(self) -> bool:
        """Go to the next character that is not between elements; False at the end of the text."""
        while True:
            found = _BETWEEN.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.text):
                return True
            if not self._more():
                return False

    def element(self, number: int) -> Any:
        """The element that begins here, or why there is none; afterwards `at` stands behind it."""
        try:
            value, self.at = DECODER.raw_decode(self.text, self.at)
        except RecursionError:
            return self._by_its_end(number, 0)
        except ValueError as error:
            return self._by_its_end(number, getattr(error, "pos", self.at) - self.at)
        return value

    def _more(self) -> bool:
        """Let go of what has been read and hold a step more; False at the end of the text."""
        parts, length = [self.text[self.at :]], 0
        self._before += self.at
        self.text, self.at = "", 0
        for piece in self._pieces:
            parts.append(piece)
            length += len(piece)
            if length >= self._step:
                break
        self._step = min(2 * self._step, _STEP)
        self.text = "".join(parts)
        return length > 0

    def _by_its_end(self, number: int, wrong: int) -> Any:
        """The element, once all of it is held; it could not be decoded from its character `wrong` on."""
        brackets = Brackets()
        while (end := brackets.end(self.text, self.at)) is None:
            if len(self.text) - self.at > LONGEST:
                return self._too_large(number, wrong, brackets)
            if not self._more():
                return self._cut_off(number, wrong)
        if is_too_heavy(self.text, self.at, end):
            return self._damaged(number, "It has too many parts to be read.", end)
        try:
            value, self.at = DECODER.raw_decode(self.text, self.at)
        except RecursionError:
            return self._damaged(number, "It is nested too deeply to be read.", end)
        except ValueError as error:
            wrong = getattr(error, "pos", self.at) - self.at
            return self._damaged(number, self._damage(wrong), self._resume(wrong, end) or end)
        return value

    def _too_large(self, number: int, wrong: int, brackets: Brackets) -> Damaged:
        if resume := self._resume(wrong, len(self.text)):
            return self._damaged(number, self._damage(wrong), resume)
        start = self.at
        damaged = self._damaged(number, f"It is larger than {LONGEST // 2**20} million characters.", len(self.text))
        while (end := brackets.end(self.text, start)) is None:
            self.at, start = start + brackets.forget(), 0
            if not self._more():
                self.cut = True
                return damaged
        self.at = end
        return damaged

    def _cut_off(self, number: int, wrong: int) -> Damaged:
        if resume := self._resume(wrong, len(self.text)):
            return self._damaged(number, self._damage(wrong), resume)
        self.cut = True
        where = self._before + len(self.text)
        return self._damaged(number, f"The file ends in the middle of it, after {where:,} characters.", len(self.text))

    def _damage(self, wrong: int) -> str:
        return f"Its text is damaged, {self.place + wrong:,} characters into the file."

    def _damaged(self, number: int, reason: str, end: int) -> Damaged:
        title = _title(self.text, self.at, min(end, self.at + 2_000))
        self.at = end
        return Damaged(title or f"Conversation {number}", reason)

    def _resume(self, wrong: int, end: int) -> int | None:
        """Where the next element begins inside of what a lost quote or bracket made one with the damaged one."""
        closed = max(self.text.rfind(mark, self.at, self.at + wrong) for mark in "}\n")
        for count, found in enumerate(NEXT.finditer(self.text, max(closed, self.at + 1), end)):
            if count == _MOST_CANDIDATES:
                break
            if self._fits(keys_of(self.text, found.start())):
                return found.start()
        return None


def _title(text: str, start: int, end: int) -> str:
    found = _TITLE.search(text, start, end)
    try:
        return title_of(DECODER.decode(found[1]), "") if found else ""
    except ValueError:
        return ""
