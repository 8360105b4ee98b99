"""How much of the evidence recall finds: `python -m benchmarks.recall.run`.

Every turn of the LoCoMo development conversations is saved through the door, one matter a conversation, and every
question of categories 1 to 4 is asked through the product's own recall, as `north_app` under row-level security. So are
the facts that were observed in them, with `--observed`.

Evidence recall@k of a question is the share of its evidence turns among the first k memories; the figures are means
over the questions.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any
from uuid import UUID

import typer

from benchmarks.figures import machine, milliseconds, percentile
from benchmarks.recall.ablation import VARIANTS
from benchmarks.recall.locomo import (
    CATEGORIES,
    Conversation,
    Question,
    read_conversations,
    read_observed,
    with_lone_texts,
)
from benchmarks.temporary import temporary_north
from north.access.firms import add_user, create_firm
from north.assembly import make_backend, opened
from north.memory.backend import Backend
from north.memory.both_buckets import rank_buckets
from north.memory.matters import create_matter
from north.memory.ranking import Weights
from north.memory.recall import recall
from north.memory.save import save
from north.model import AlreadyKnown, Caller, Origin, Saved

DATA = Path(__file__).parents[3] / "shared" / "data" / "recall" / "locomo-dev.json"
DEPTHS = (5, 10, 20)


@dataclass
class Found:
    """The share of the evidence among the first k memories, for every question, by category and k."""

    shares: dict[tuple[int, int], list[float]] = field(default_factory=dict)

    def add(self, question: Question, ranked: Sequence[frozenset[str]]) -> None:
        """Count one question; `ranked` are the turns that stand behind each memory, the best memory first."""
        for depth in DEPTHS:
            seen = frozenset[str]().union(*ranked[:depth])
            share = len(question.evidence & seen) / len(question.evidence)
            self.shares.setdefault((question.category, depth), []).append(share)

    def at(self, depth: int, category: int | None = None) -> float:
        """Evidence recall@`depth`, over one category or all."""
        chosen = CATEGORIES if category is None else (category,)
        return fmean(share for each in chosen for share in self.shares.get((each, depth), ()))

    def questions(self, category: int) -> int:
        """How many questions were asked."""
        return len(self.shares.get((category, DEPTHS[0]), ()))


@dataclass
class Times:
    """Seconds for each call."""

    save: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)


Remembered = Mapping[UUID, frozenset[str]]
"""Which turns stand behind a memory: several of a fact, or where somebody said the same twice."""


async def remember(backend: Backend, caller: Caller, conversation: Conversation, times: Times) -> Remembered:
    """Save a conversation, one memory a text, on a matter of its name."""
    await create_matter(backend, caller, conversation.name, f"Conversation {conversation.name}")
    remembered: dict[UUID, frozenset[str]] = {}
    for text in conversation.texts:
        began = time.perf_counter()
        (outcome,) = await save(backend, caller, [text.draft(conversation.name)])
        times.save.append(time.perf_counter() - began)
        assert isinstance(outcome, Saved | AlreadyKnown)
        remembered[outcome.memory.id] = remembered.get(outcome.memory.id, frozenset()) | text.turns
    return remembered


async def ask(
    backend: Backend, caller: Caller, conversation: Conversation, remembered: Remembered, found: Found, times: Times
) -> None:
    """Ask what is asked about a conversation, as an agent would."""
    for question in conversation.questions:
        began = time.perf_counter()
        answer = await recall(backend, caller, question.text, conversation.name, limit=max(DEPTHS))
        times.recall.append(time.perf_counter() - began)
        found.add(question, [remembered[hit.memory.id] for hit in answer.matter])


async def ablate(
    backend: Backend, caller: Caller, memories: Sequence[tuple[Conversation, Remembered]], weights: Weights
) -> Found:
    """The same questions with another weighting of the score's terms."""
    found = Found()
    for conversation, remembered in memories:
        for question in conversation.questions:
            answer = await rank_buckets(
                backend, caller, question.text, conversation.name, limit=max(DEPTHS), weights=weights
            )
            found.add(question, [remembered[hit.memory.id] for hit in answer.matter])
    return found


@dataclass(frozen=True)
class Report:
    """What the run found."""

    embedder: str
    memories: int
    found: Found
    times: Times
    ablation: Mapping[str, Found]

    def as_json(self) -> dict[str, Any]:
        """Every figure, for scripts."""
        return {
            "machine": machine(),
            "embedder": self.embedder,
            "memories": self.memories,
            "recall": {f"@{depth}": self.found.at(depth) for depth in DEPTHS},
            "by_category": {
                name: {"questions": self.found.questions(category)}
                | {f"@{depth}": self.found.at(depth, category) for depth in DEPTHS}
                for category, name in CATEGORIES.items()
            },
            "milliseconds": {
                name: {f"p{share}": 1000 * percentile(seconds, share) for share in (50, 95)}
                for name, seconds in (("save", self.times.save), ("recall", self.times.recall))
            },
            "ablation": {
                name: {f"@{depth}": found.at(depth) for depth in DEPTHS} for name, found in self.ablation.items()
            },
        }

    def __str__(self) -> str:
        lines = [
            f"Evidence recall on {sum(map(self.found.questions, CATEGORIES))} questions, {self.memories} memories, "
            f"embedder {self.embedder}",
            "(mean share of a question's evidence turns among the first k memories)",
            "",
            f"{'category':<22}{'questions':>10}" + "".join(f"{f'@{depth}':>8}" for depth in DEPTHS),
            *(
                f"{f'{category} {name}':<22}{self.found.questions(category):>10}"
                + "".join(f"{self.found.at(depth, category):>8.3f}" for depth in DEPTHS)
                for category, name in CATEGORIES.items()
            ),
            f"{'all':<22}{sum(map(self.found.questions, CATEGORIES)):>10}"
            + "".join(f"{self.found.at(depth):>8.3f}" for depth in DEPTHS),
            "",
            f"save    {milliseconds(self.times.save)}   (one client, its own vectors being made meanwhile)",
            f"recall  {milliseconds(self.times.recall)}   (limit {max(DEPTHS)})",
            f"machine {machine()}",
        ]
        if self.ablation:
            lines += ["", f"{'score':<32}" + "".join(f"{f'@{depth}':>8}" for depth in DEPTHS)]
            lines += [
                f"{name:<32}" + "".join(f"{found.at(depth):>8.3f}" for depth in DEPTHS)
                for name, found in self.ablation.items()
            ]
        return "\n".join(lines)


async def measure(backend: Backend, conversations: Sequence[Conversation], with_ablation: bool) -> Report:
    """Save everything, wait for the vectors, ask everything."""
    organization_id = await create_firm(backend, "bench", "Benchmark")
    lawyer = await add_user(backend, organization_id, "lawyer@bench.test", "Lawyer", "no secret at all")
    caller = Caller(organization_id, lawyer.id, Origin.API)
    times, found = Times(), Found()
    memories = [(each, await remember(backend, caller, each, times)) for each in conversations]
    await backend.backlog.settled(organization_id, seconds=600)
    for conversation, remembered in memories:
        await ask(backend, caller, conversation, remembered, found, times)
    variants = VARIANTS if with_ablation else {}
    ablation = {name: await ablate(backend, caller, memories, weights) for name, weights in variants.items()}
    return Report(backend.embedder.name, sum(len(each) for _, each in memories), found, times, ablation)


def main(
    embedder: Annotated[str, typer.Option(help="`local`, or `none` for words alone.")] = "local",
    observed: Annotated[
        bool, typer.Option("--observed", help="The facts observed in them, and not each turn.")
    ] = False,
    lone: Annotated[bool, typer.Option("--lone", help="Without a source for half of the texts.")] = False,
    ablate: Annotated[bool, typer.Option("--ablate", help="Leave out each term of the score in turn.")] = False,
    data: Annotated[Path, typer.Option(help="A file of LoCoMo conversations.")] = DATA,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
) -> None:
    """Print how much of the evidence recall finds, and how long it takes."""
    if not data.exists():
        print(f"Skipped: {data} is not there.", file=sys.stderr)
        return
    conversations = (read_observed if observed else read_conversations)(data)
    if lone:
        conversations = [with_lone_texts(each) for each in conversations]

    with temporary_north(embedder) as (settings, place, _):

        async def run() -> Report:
            async with opened(make_backend(settings, place)) as backend:
                return await measure(backend, conversations, ablate)

        report = asyncio.run(run())
    print(json.dumps(report.as_json(), indent=2) if as_json else report)


if __name__ == "__main__":
    typer.run(main)
