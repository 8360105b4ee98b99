"""Where a JSON value ends, by its brackets and quotes alone, over as many pieces of text as it takes."""

from __future__ import annotations

import re

STRUCTURE = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(")?|[\[\]{}]', re.DOTALL)
"""A string, whose group is there when it is closed, or a bracket. Possessive, so linear."""
_INSIDE = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_SCALAR = re.compile(r'[^\s,\[\]{}"]*+')


class Brackets:
    """Follows one value from its first character."""

    def __init__(self) -> None:
        self._seen = 0
        self._depth = 0
        self._in_string = False
        self._scalar: bool | None = None

    def forget(self) -> int:
        """Count from here: the caller lets go of this many characters, which have been looked at."""
        seen, self._seen = self._seen, 0
        return seen

    def end(self, text: str, start: int) -> int | None:
        """The place behind the value, or None when the text ends before it. Call again with more text.

        Args:
            text: what is held of the text.
            start: where in it the value begins, or what is left of it after `forget`.
        """
        at = start + self._seen
        if self._scalar is None:
            self._scalar = text[at] not in '[]{}"'
        end = self._end_of_scalar(text, at) if self._scalar else self._end_of_structure(text, at)
        complete = self._depth <= 0 and not self._in_string and (end < len(text) or not self._scalar)
        self._seen = end - start
        return end if complete else None

    def _end_of_scalar(self, text: str, at: int) -> int:
        found = _SCALAR.match(text, at)
        return found.end() if found else at

    def _end_of_structure(self, text: str, at: int) -> int:
        """Read on to the end of the value, or to the last character that is understood."""
        if self._in_string:
            found = _INSIDE.match(text, at)
            at = found.end() if found else at
            if text[at : at + 1] != '"':
                return at
            self._in_string = False
            at += 1
            if self._depth == 0:
                return at
        for token in STRUCTURE.finditer(text, at):
            mark = token[0][0]
            if mark in "[{":
                self._depth += 1
            elif mark in "]}":
                self._depth -= 1
            elif token[1] is None:
                self._in_string = True
                return token.end()
            if self._depth <= 0:
                return token.end()
        return len(text)
