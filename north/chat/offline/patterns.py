"""What a table of statements is made of."""

from __future__ import annotations

import re
from typing import NamedTuple

from north.model import MemoryType


class Statement(NamedTuple):
    """One named pattern; `type` is what a match says about the sentence."""

    name: str
    regex: re.Pattern[str]
    type: MemoryType


def table(type_: MemoryType, patterns: dict[str, str]) -> tuple[Statement, ...]:
    """The `patterns`, by name, as statements of one type. They ignore case and match from the sentence's start."""
    return tuple(Statement(name, re.compile(regex, re.IGNORECASE), type_) for name, regex in patterns.items())
