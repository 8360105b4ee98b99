"""What the configured miner finds in labelled conversations, and what it should not: `make bench-mining`.

There are two sets. `exchanges.jsonl` has short exchanges of a lawyer and the assistant, one a line: `turns`, `matter`
(whether it is on one), `known` (what is remembered before) and `expect`, the memories that it should lead to. Of such a
memory it says which words it has (`has`, each with its alternatives) and has not (`hasnt`), and its scope; the wording
is the miner's. An empty `expect` says that nothing may be kept.

The exchanges were written before the miner had seen any of them. When they were new, the offline rules had a precision
of 0.97 and a recall of 0.64; since then one fault that they showed, in the wording of "we no longer", was put right.

LoCoMo's observations (Maharana and others, 2024) are facts about two people with the turns that prove them. The first
person is taken as the lawyer. A finding is right when its evidence is in a turn that proves a fact of that person's,
and a fact is found when one of its turns led to a finding. It is talk of daily life, which a law firm's assistant is
not made to keep: rules written for lawyers find next to nothing in it.

`NORTH_MINER_MODEL`, or `NORTH_MODEL`, says which miner; without either the offline rules mine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.recall.locomo import read_sessions
from north.assembly import Place, make_backend
from north.chat.mining import Miner, configured_miner, find
from north.memory.mining import Finding, Passage, Said, first_turns
from north.memory.text import content_key
from north.model import Confidence, Matter, Memory, MemoryType, Origin, Scope, new_id
from north.settings import Settings

EXCHANGES = Path(__file__).with_name("exchanges.jsonl")
LOCOMO = Path(__file__).parents[3] / "shared" / "data" / "recall" / "locomo-dev.json"
NOW = datetime(2027, 6, 1, 9, 0, tzinfo=UTC)
AT_ONCE = 4


@dataclass
class Score:
    """Counts over some conversations."""

    right: int = 0
    wrong: list[str] = field(default_factory=list)
    found: int = 0
    missed: list[str] = field(default_factory=list)
    duplicates: int = 0
    wrong_scope: int = 0
    without_evidence: int = 0

    @property
    def precision(self) -> float:
        """Share of the findings that should be."""
        return _share(self.right, self.right + len(self.wrong))

    @property
    def recall(self) -> float:
        """Share of what should be found that was."""
        return _share(self.found, self.found + len(self.missed))

    def line(self, name: str) -> str:
        """The figures of one category."""
        return (
            f"{name:<20}{self.right + len(self.wrong):>9}{self.precision:>11.2f}{self.recall:>8.2f}"
            f"{self.duplicates:>12}{self.wrong_scope:>13}{self.without_evidence:>18}"
        )


HEADING = (
    f"{'':<20}{'findings':>9}{'precision':>11}{'recall':>8}{'duplicates':>12}"
    f"{'wrong scope':>13}{'without evidence':>18}"
)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


# --- exchanges ----------------------------------------------------------------------------------------------


def read_exchanges(path: Path = EXCHANGES) -> list[dict[str, Any]]:
    """The labelled exchanges."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def passage_of(exchange: dict[str, Any]) -> Passage:
    """An exchange as the miner reads it, its turns a minute apart."""
    matter = Matter(new_id(), "HV-1001", "Harbor v. Vance") if exchange["matter"] else None
    roles = {"lawyer": "user", "assistant": "assistant"}
    said = tuple(
        Said(new_id(), roles[turn["who"]], turn["said"], NOW + timedelta(minutes=number))
        for number, turn in enumerate(exchange["turns"])
    )
    return Passage(new_id(), matter, None, said)


def known_of(exchange: dict[str, Any], matter: Matter | None) -> list[Memory]:
    """What is remembered before the exchange."""
    return [
        Memory(
            id=new_id(),
            content=each["content"],
            type=MemoryType(each["type"]),
            scope=Scope(each["scope"]),
            matter=matter if each["scope"] == "matter" else None,
            status="active",
            confidence=Confidence.HIGH,
            origin=Origin.CHAT,
            created_at=NOW - timedelta(days=7),
            captured_by=None,
            source=None,
        )
        for each in exchange["known"]
    ]


def count_exchange(
    scores: Iterable[Score], exchange: dict[str, Any], known: Sequence[Memory], findings: Sequence[Finding]
) -> None:
    """Count what was found in an exchange. What the door would know already, word for word, does not count."""
    texts = {content_key(memory.content) for memory in known}
    findings = [finding for finding in findings if content_key(finding.draft.content) not in texts]
    expected = exchange["expect"]
    hits: dict[int, list[Finding]] = defaultdict(list)
    stray: list[Finding] = []
    for finding in findings:
        meant = next((number for number, each in enumerate(expected) if says(finding.draft.content, each)), None)
        (stray if meant is None else hits[meant]).append(finding)
    missed = [each for number, each in enumerate(expected) if number not in hits]
    for score in scores:
        score.right += sum(map(len, hits.values()))
        score.wrong += [f"{exchange['category']}: {finding.draft.content}" for finding in stray]
        score.found += len(hits)
        score.missed += [f"{exchange['category']}: {' … '.join(each['has'])}" for each in missed]
        score.duplicates += sum(len(each) - 1 for each in hits.values())
        score.wrong_scope += sum(
            finding.draft.scope != expected[number]["scope"] for number, each in hits.items() for finding in each
        )
        score.without_evidence += sum(finding.draft.evidence is None for finding in findings)


def says(content: str, expected: dict[str, Any]) -> bool:
    """Whether a wording says what is expected: each of `has` in one of its forms, and nothing of `hasnt`."""
    text = content.casefold()
    return all(re.search(words, text) for words in map(str.casefold, expected["has"])) and not any(
        words in text for words in expected.get("hasnt", ())
    )


async def mine_exchanges(miner: Miner) -> dict[str, Score]:
    """The scores by category, and over all under "all"."""
    scores: dict[str, Score] = defaultdict(Score)

    async def mine(exchange: dict[str, Any]) -> None:
        passage = passage_of(exchange)
        known = known_of(exchange, passage.matter)
        async with turn:
            findings = await find(miner, passage, known)
        count_exchange([scores[exchange["category"]], scores["all"]], exchange, known, findings)

    turn = asyncio.Semaphore(AT_ONCE)
    await asyncio.gather(*map(mine, read_exchanges()))
    return scores


# --- LoCoMo -------------------------------------------------------------------------------------------------


async def mine_locomo(miner: Miner, path: Path) -> Score:
    """The score over every session of every conversation."""
    score = Score()
    for session in read_sessions(path):
        said = {
            turn.id: Said(new_id(), "user" if turn.speaker == session.speaker else "assistant", turn.text, turn.said_at)
            for turn in session.turns
        }
        turn_of = {message.id: turn for turn, message in said.items()}
        rest = list(said.values())
        found: list[Finding] = []
        while part := first_turns(rest, miner.window):
            rest = rest[len(part) :]
            found += await find(miner, Passage(new_id(), None, None, part), ())
        proving = frozenset().union(*(fact.evidence for fact in session.facts))
        turns = {turn_of[finding.said.id] for finding in found}
        for finding in found:
            if turn_of[finding.said.id] in proving:
                score.right += 1
            else:
                score.wrong.append(finding.draft.content)
        score.without_evidence += sum(finding.draft.evidence is None for finding in found)
        for fact in session.facts:
            if fact.evidence & turns:
                score.found += 1
            else:
                score.missed.append(fact.text)
    return score


async def run(path: Path, *, details: bool) -> None:
    """Mine both sets and print the figures."""
    settings = Settings(embedder="none")
    backend = make_backend(settings, Place("postgresql://not-used", "x" * 32))  # nothing here is stored
    miner = configured_miner(backend, settings)
    exchanges = await mine_exchanges(miner)
    total = exchanges.pop("all")
    print(f"miner: {miner.model}\n\n{len(read_exchanges())} exchanges\n{HEADING}")
    for category, score in exchanges.items():
        print(score.line(category))
    print(total.line("all"))
    if path.exists():
        print(f"\nLoCoMo observations\n{HEADING}\n{(await mine_locomo(miner, path)).line('all')}")
    if details:
        for title, texts in (("missed", total.missed), ("wrong", total.wrong)):
            for text in texts:
                print(f"{title}: {text}")


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description="What the configured miner finds in labelled conversations.")
    parser.add_argument("--locomo", type=Path, default=LOCOMO, help="a LoCoMo file; left out when it is not there")
    parser.add_argument("--details", action="store_true", help="print what was missed and what was wrong")
    options = parser.parse_args()
    asyncio.run(run(options.locomo, details=options.details))


if __name__ == "__main__":
    main()
