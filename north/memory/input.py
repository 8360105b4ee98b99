"""Checks of short input: names, numbers, phrases, search words."""

from __future__ import annotations

import re

from north.errors import InvalidInput
from north.memory.text import visible

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_WILDCARD = re.compile(r"([%_\\])")
_WORDS = 8


def check_line(text: str, what: str, limit: int) -> str:
    """`text` without white space around it, when it is one line of 1 to `limit` characters.

    Raises:
        InvalidInput: nothing of it can be seen, it is longer, or it holds control characters, line breaks or half
            surrogate pairs.
    """
    line = text.strip()
    if len(line) > limit:
        raise InvalidInput(reason=f"the {what} has {len(line)} characters; at most {limit} are allowed")
    if not visible(line):
        raise InvalidInput(reason=f"the {what} is empty")
    if _UNPRINTABLE.search(line):
        raise InvalidInput(reason=f"the {what} holds a control character or a line break; remove it")
    return line


def like_patterns(query: str | None) -> list[str] | None:
    """One ILIKE pattern for each word of a search, in which nothing of the word is a wildcard."""
    words = _UNPRINTABLE.sub(" ", query or "").split()[:_WORDS]
    return ["%" + _WILDCARD.sub(r"\\\1", word) + "%" for word in words] or None
