"""Made-up memories and questions of a law firm: no two alike, and the same in every run."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path

WORDS: dict[str, list[str]] = {
    kind: words.split() for kind, words in json.loads(Path(__file__).with_name("words.json").read_text()).items()
}


def memories(seed: int) -> Iterator[str]:
    """Memories without end, two sentences each."""
    draw = random.Random(seed)
    for number in itertools.count(1):
        one, other = _words(draw), _words(draw)
        yield (
            f"{one['person']}, the {one['role']}, {one['verb']} the {one['subject']} {one['paper']} no. {number} in "
            f"{one['place']} on {draw.randint(1, 28)} {one['month']} ({one['reason'].replace('-', ' ')}). The "
            f"{other['subject']} {other['paper']} of {other['person']} is {other['state']}."
        )


def questions(seed: int) -> Iterator[str]:
    """Questions about such memories, without end, so that none is answered from a cache."""
    draw = random.Random(seed)
    for number in itertools.count(1):
        word = _words(draw)
        yield (
            f"What did {word['person']} say about the {word['subject']} {word['paper']} in {word['place']}, and who "
            f"{word['verb']} no. {number}?"
        )


def _words(draw: random.Random) -> dict[str, str]:
    return {kind: draw.choice(words) for kind, words in WORDS.items()}
