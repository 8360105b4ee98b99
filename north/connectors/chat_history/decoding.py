"""JSON of strangers: decoded leniently where that harms nobody, and never into more memory than there is."""

from __future__ import annotations

import json

_MOST_MEMORY = 128 * 1024 * 1024
_LONGEST_NUMBER = 4_000


def _whole(digits: str) -> float:
    return int(digits) if len(digits) < _LONGEST_NUMBER else float(digits)


DECODER = json.JSONDecoder(strict=False, parse_int=_whole)
"""Takes line feeds and NULs within strings, NaN, and numbers that are too long for an `int`."""


def is_too_heavy(text: str, start: int, end: int) -> bool:
    """Whether the value would take too much memory once it is decoded: many small ones take thirty times their text.

    By what CPython needs for objects, lists, strings, numbers and their places.
    """
    objects, lists, quotes, commas = (text.count(mark, start, end) for mark in '{[",')
    return 256 * objects + 96 * lists + 16 * quotes + 40 * commas > _MOST_MEMORY
