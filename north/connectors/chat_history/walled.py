"""Which walled sources a conversation consulted, told by the names of the tools that it called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_NAMES = {
    "netdocuments": re.compile(r"net[\s_-]?documents|netvoyage|north__nd_", re.IGNORECASE),
    "imanage": re.compile(r"imanage(?!r|ment)|(?<![a-z])i[\s_-]manage(?![a-z])", re.IGNORECASE),
}
"""The tools and servers of each source, as their makers name them, and North's own. A name too many costs a label, one
too few costs the wall: so these are wide.
"""


def walled_in(names: Iterable[object]) -> tuple[str, ...]:
    """The walled sources among names and addresses of tools, which may stand within lists and objects."""
    told = "\n".join(_texts(names))
    return tuple(source for source, pattern in _NAMES.items() if pattern.search(told))


def _texts(names: Iterable[object]) -> Iterator[str]:
    waiting: list[object] = list(names)
    while waiting:
        name = waiting.pop()
        if isinstance(name, str):
            yield name
        elif isinstance(name, dict):
            waiting += name.values()
        elif isinstance(name, list):
            waiting += name
