"""How large buckets were when this process last looked: it decides how a recall looks at them, and nothing else."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

LARGE = 10_000
"""The most memories of a bucket that are all compared with the question; of more, a first pass chooses."""
FRESH_SECONDS = 60.0
"""For how long the size of a large bucket is not counted again, which costs a fifth of a recall there."""
KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Size:
    """The memories of a bucket, and how many terms one of them has on average."""

    documents: float
    mean: float
    seen_at: float = field(default_factory=time.monotonic)

    @property
    def large(self) -> bool:
        """Whether a first pass chooses what is compared."""
        return self.documents > LARGE

    @property
    def stale(self) -> bool:
        """Whether it is time to count again."""
        return time.monotonic() - self.seen_at > FRESH_SECONDS


UNKNOWN = Size(0, 1)


class Sizes:
    """The sizes of the buckets that were recalled last."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, Size] = OrderedDict()

    def of(self, bucket: Hashable) -> Size:
        """What is known of a bucket; of one that was not seen before, that it is small."""
        return self._known.get(bucket, UNKNOWN)

    def note(self, bucket: Hashable, row: Mapping[str, Any] | None) -> None:
        """Remember what a statement said of a bucket."""
        if row is None:
            return
        self._known[bucket] = Size(row["documents"], row["mean"])
        self._known.move_to_end(bucket)
        if len(self._known) > KEPT:
            self._known.popitem(last=False)
