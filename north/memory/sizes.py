"""How large buckets were when this process last looked: it decides how a recall looks at them, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from cachetools import LRUCache

LARGE = 20_000
"""The most memories of a bucket that are all compared with the question; of more, a first pass chooses."""
SMALL = 700
"""The most memories that are read whole, of both buckets together. Of more, to read the best alone takes less."""
SLOW = 8_000
"""The most memories, of both buckets together, that are looked at in less time than a question's vector takes."""
KEPT = 10_000


class Sizes:
    """The sizes of the buckets that were recalled last.

    Args:
        large: the most memories of a bucket that is not large.
        small: the most memories that are read whole for one question.
    """

    def __init__(self, large: float = LARGE, small: float = SMALL) -> None:
        self._large, self._small = large, small
        self._known: LRUCache[Hashable, float] = LRUCache(KEPT)

    def large(self, bucket: Hashable) -> bool:
        """Whether a first pass chooses what of a bucket is compared; not of one that was never seen."""
        return self._known.get(bucket, 0) > self._large

    def small(self, buckets: Sequence[Hashable]) -> bool:
        """Whether all of these are read whole, so that nothing is left to be asked; not one that was never seen."""
        return sum(self._known.get(bucket, math.inf) for bucket in buckets) <= self._small

    def slow(self, buckets: Sequence[Hashable]) -> bool:
        """Whether a look at these takes longer than the question's vector; not of any that were never seen."""
        return sum(self._known.get(bucket, 0) for bucket in buckets) > SLOW

    def note(self, bucket: Hashable, documents: float) -> None:
        """Remember what a statement said of a bucket."""
        self._known[bucket] = documents
