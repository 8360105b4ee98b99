"""How well the offline assistant tells what to keep: `python -m benchmarks.offline.run`.

Reads `sentences.jsonl`, one message a line: `text`, `matter` (whether it is said on a matter), `category` and
`expect`, the list of {kind, type, scope} that it should lead to, empty when nothing may be kept. Precision and
recall count messages: kept at all, or not. Type and scope are counted on the saves among the rightly kept.

The sentences came in four rounds (`round`), each written before the rules had seen any of it. What the rules scored
on a round when it was new tells how they do on sentences that nobody has tuned them to; the figures that this prints
do not. Precision and recall when new: round 2 0.82 and 0.62, round 3 0.97 and 0.83, round 4 0.96 and 0.86.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from north.chat.offline import Recognised, recognise

SENTENCES = Path(__file__).with_name("sentences.jsonl")
NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


@dataclass
class Score:
    """Counts over some messages."""

    kept: int = 0
    missed: list[str] = field(default_factory=list)
    wrongly_kept: list[str] = field(default_factory=list)
    rightly_left: int = 0
    wrong_reading: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        """Share of the kept messages that should be kept."""
        return _share(self.kept, self.kept + len(self.wrongly_kept))

    @property
    def recall(self) -> float:
        """Share of the messages to keep that were kept."""
        return _share(self.kept, self.kept + len(self.missed))


def evaluate(path: Path = SENTENCES) -> dict[str, Score]:
    """The scores by category, and over all under "all"."""
    scores: dict[str, Score] = defaultdict(Score)
    for line in path.read_text(encoding="utf-8").splitlines():
        example = json.loads(line)
        found = recognise(example["text"], on_matter=example["matter"], now=NOW)
        for category in (example["category"], "all"):
            _count(scores[category], example, found)
    return scores


def _count(score: Score, example: dict[str, Any], found: list[Recognised]) -> None:
    wanted = [_reading(**expected) for expected in example["expect"]]
    got = [_reading(item.kind, item.type, item.scope) for item in found]
    if wanted and got:
        score.kept += 1
        if wanted != got:
            score.wrong_reading.append(f"{example['text']!r}: {got}, not {wanted}")
    elif wanted:
        score.missed.append(example["text"])
    elif got:
        score.wrongly_kept.append(example["text"])
    else:
        score.rightly_left += 1


def _reading(kind: str, type: str | None, scope: str | None) -> tuple[str, ...]:
    """What is compared; a correction keeps the type and scope of the memory that it changes."""
    return (kind, str(type), str(scope)) if kind == "save" else (kind,)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def main() -> None:
    """Print the figures, and every sentence that came out wrong."""
    scores = evaluate()
    print(f"{'category':<18}{'kept':>6}{'missed':>8}{'wrongly kept':>14}{'left':>6}{'wrong type/scope':>18}")
    for category, score in scores.items():
        counts = (score.kept, len(score.missed), len(score.wrongly_kept), score.rightly_left, len(score.wrong_reading))
        print(f"{category:<18}{counts[0]:>6}{counts[1]:>8}{counts[2]:>14}{counts[3]:>6}{counts[4]:>18}")
    total = scores["all"]
    print(f"\nprecision {total.precision:.3f}   recall {total.recall:.3f}")
    for title, sentences in (
        ("missed", total.missed),
        ("wrongly kept", total.wrongly_kept),
        ("wrong type, scope or count", total.wrong_reading),
    ):
        for sentence in sentences:
            print(f"{title}: {sentence}")


if __name__ == "__main__":
    main()
