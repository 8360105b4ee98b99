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


Slots = tuple[dict[str, str], dict[str, str]]
"""The words of a memory's two sentences, by kind."""


def memories(seed: int) -> Iterator[str]:
    """Memories without end, two sentences each."""
    draw = random.Random(seed)
    for number in itertools.count(1):
        yield memory((_words(draw), _words(draw)), number, draw)


def memory(slots: Slots, number: int, draw: random.Random) -> str:
    """One memory about these words, on a date that is drawn."""
    one, other = slots
    return (
        f"{one['person']}, the {one['role']}, {one['verb']} the {one['subject']} {one['paper']} no. {number} in "
        f"{one['place']} on {draw.randint(1, 28)} {one['month']} ({one['reason'].replace('-', ' ')}). The "
        f"{other['subject']} {other['paper']} of {other['person']} is {other['state']}."
    )


def slots(seed: int) -> Iterator[Slots]:
    """The words of memories without end."""
    draw = random.Random(seed)
    while True:
        yield _words(draw), _words(draw)


def varied(known: Slots, draw: random.Random, share: float = 0.4) -> Slots:
    """The same words but for a share of them, which are drawn anew."""
    one, other = (
        {kind: fresh[kind] if draw.random() < share else word for kind, word in words.items()}
        for words, fresh in zip(known, (_words(draw), _words(draw)), strict=True)
    )
    return one, other


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
    word = {kind: draw.choice(words) for kind, words in WORDS.items()}
    # A thousand surnames out of two, so that a name tells memories apart as it does in a firm.
    return word | {"person": word["person"] + draw.choice(WORDS["person"]).lower()}
