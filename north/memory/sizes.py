"""How large buckets were when this process last looked: it decides how a recall looks at them, and nothing else."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

SMALL = 2_000
"""The most memories of a bucket that one statement ranks; with more, a second round trip takes less time."""
LARGE = 20_000
"""The most memories of a bucket that are all compared with the question; of more, a first pass chooses."""
KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Size:
    """How many memories a bucket holds."""

    documents: float

    @property
    def small(self) -> bool:
        """Whether one statement ranks the bucket."""
        return self.documents <= SMALL

    @property
    def large(self) -> bool:
        """Whether a first pass chooses what is compared."""
        return self.documents > LARGE


class Sizes:
    """The sizes of the buckets that were recalled last."""

    def __init__(self) -> None:
        self._known: OrderedDict[Hashable, Size] = OrderedDict()

    def of(self, bucket: Hashable) -> Size:
        """What is known of a bucket. One that was not seen before may be of any size: what suits a middling one costs a
        small one a round trip, and a large one some more time."""
        return self._known.get(bucket, Size(SMALL + 1))

    def note(self, bucket: Hashable, documents: float) -> None:
        """Remember what a statement said of a bucket."""
        self._known[bucket] = Size(documents)
        self._known.move_to_end(bucket)
        if len(self._known) > KEPT:
            self._known.popitem(last=False)
