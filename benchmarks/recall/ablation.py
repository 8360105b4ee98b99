"""The score with one of its terms left out, or one alone: what each adds."""

from __future__ import annotations

from dataclasses import replace

from north.memory.ranking import WEIGHTS, Weights

VARIANTS: dict[str, Weights] = {
    "all terms": WEIGHTS,
    "without words": replace(WEIGHTS, words=0.0, meaning=1.0),
    "without meaning": replace(WEIGHTS, words=1.0, meaning=0.0),
    "without neighbours": replace(WEIGHTS, neighbours=0.0),
    "without dates": replace(WEIGHTS, dates=False),
    "without recency": replace(WEIGHTS, recency=0.0),
    "without type": replace(WEIGHTS, type=0.0),
    "words and meaning alone": replace(WEIGHTS, neighbours=0.0, recency=0.0, type=0.0),
    "words alone": Weights(words=1.0, meaning=0.0, neighbours=0.0, recency=0.0, type=0.0),
    "meaning alone": Weights(words=0.0, meaning=1.0, neighbours=0.0, recency=0.0, type=0.0),
}
