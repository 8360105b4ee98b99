"""Conversations whose messages stand scattered over a file, gathered within a bounded memory.

What is open longest without a new message is given first when the memory is full. When more of it follows, that comes
as a conversation of the same key: nothing is lost, and who knows the key takes the new turns alone.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from north.connectors.chat_history.shapes import Turn

MOST_HELD = 64 * 1024 * 1024
"""Bytes that all open conversations take together, about."""
_OVERHEAD = 512
"""Bytes that a conversation or a turn takes beside its text, about."""


@dataclass(slots=True)
class Gathered:
    """A conversation in the making."""

    name: str
    turns: list[Turn] = field(default_factory=list)
    title: str = ""
    walled: set[str] = field(default_factory=set)
    """The walled sources that it consulted."""
    keys: set[str] = field(default_factory=set)
    weight: int = _OVERHEAD


class Gathering:
    """The open conversations by name, the one that was touched last at the end."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, Gathered] = OrderedDict()
        self._weight = 0

    def of(self, name: str) -> Gathered:
        """The open conversation of this name; a new one when there is none."""
        if name not in self._open:
            self._open[name] = Gathered(name)
            self._weight += _OVERHEAD
        self._open.move_to_end(name)
        return self._open[name]

    def add(self, gathered: Gathered, turn: Turn) -> None:
        """Add a turn, unless one of its key is there."""
        if turn.key in gathered.keys:
            return
        gathered.keys.add(turn.key)
        gathered.turns.append(turn)
        weight = sys.getsizeof(turn.text) + _OVERHEAD
        gathered.weight += weight
        self._weight += weight

    def close(self, name: str) -> Gathered:
        """Take a conversation out."""
        gathered = self._open.pop(name)
        self._weight -= gathered.weight
        return gathered

    def overflow(self) -> Iterator[Gathered]:
        """Take out what has waited longest, until the rest fits into memory."""
        while self._weight > MOST_HELD:
            yield self.close(next(iter(self._open)))

    def rest(self) -> Iterator[Gathered]:
        """Take out all that is open, in the order in which it was last touched."""
        while self._open:
            yield self.close(next(iter(self._open)))
