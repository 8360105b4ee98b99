"""How well a memory answers a query: the terms of its score, and what each weighs.

The score is their weighted sum. `north.memory.scoring` makes its first three terms out of columns of ids and numbers,
and the last two are added from the rows of those that can still be among the best (`recall.best`, `recall.whole`):

- words: BM25, divided by the bucket's highest; a date that the question names is a word that every memory has which was
  captured then (`north.memory.dates`);
- meaning: cosine, min-max normalised over the bucket; both at equal weight, since weighted fusion found more than
  either alone and than reciprocal-rank fusion;
- neighbours: what those two gain by one other memory, of the two captured before this one and the two after it from the
  same source (a thread, a source's label, or what one lawyer saved in one sitting), since an answer often stands beside
  the sentence that shares the question's words. It is the one that completes it best: each word of the question counts
  at least half of what it counts for that one, and of its meaning half of what is above the middle is added. So a
  memory never loses by its neighbours, and gains nothing by having some that are as unrelated as most;
- recency: 1 for a new memory, half of it for every 90 days: a later statement usually corrects an earlier one;
- type: 1 for standing instructions and preferences, which apply to most questions; facts apply only to some.

The last two are small: they order what is otherwise close, and never lift the unrelated over the related. What each
term adds on public conversations, `python -m benchmarks.recall.run --ablate` prints.
"""

from __future__ import annotations

from dataclasses import dataclass

from north.model import MemoryType


@dataclass(frozen=True, slots=True)
class Weights:
    """What each term of the score weighs.

    `neighbours` is the share of theirs that a memory borrows, and `dates` is whether they count as words.
    """

    words: float = 0.5
    meaning: float = 0.5
    neighbours: float = 0.5
    recency: float = 0.02
    type: float = 0.01
    dates: bool = True


WEIGHTS = Weights()
RECENCY_HALF_LIFE_DAYS = 90.0
STANDING_TYPES = (MemoryType.INSTRUCTION, MemoryType.PREFERENCE, MemoryType.PLAYBOOK_RULE)
