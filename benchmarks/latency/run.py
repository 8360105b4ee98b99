"""How long saving and recalling take: `python -m benchmarks.latency.run`.

A firm of 10,000 memories, in buckets of 500, is filled through the door. Then, in turns, so that whatever else the
machine does weighs on all of them alike:

- the floor: one query embedding and one empty tenant transaction (`select 1`), in this process;
- a recall over REST, of a question that was never asked before: in the lawyer's own bucket, and in both buckets;
- a save over REST, on another matter, of a text that was never saved before.

The server is a process of its own. After each call there is a short pause, so that the vector that a save leaves to be
made weighs on no other call. The ratios are those of the medians.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from benchmarks.figures import machine, milliseconds, percentile
from benchmarks.latency.firm import Firm, fill, settle
from benchmarks.latency.server import Client, served
from benchmarks.latency.texts import memories as memory_texts
from benchmarks.latency.texts import questions as question_texts
from benchmarks.temporary import temporary_north
from north.assembly import make_backend, opened
from north.memory.backend import Backend

SHARES = (50, 95, 99)
FLOOR = "floor"
PAUSE_SECONDS = 0.04


@dataclass(frozen=True)
class Measured:
    """Seconds of every call, by what was called."""

    memories: int
    bucket: int
    seconds: dict[str, list[float]]

    def ratio(self, name: str) -> float:
        """The median as a multiple of the floor's."""
        return percentile(self.seconds[name], 50) / percentile(self.seconds[FLOOR], 50)

    def as_json(self) -> dict[str, Any]:
        """Every figure, for scripts."""
        return {
            "machine": machine(),
            "memories": self.memories,
            "bucket": self.bucket,
            "calls": {
                name: {f"p{share}": 1000 * percentile(seconds, share) for share in SHARES}
                | {"ratio": self.ratio(name), "count": len(seconds)}
                for name, seconds in self.seconds.items()
            },
        }

    def __str__(self) -> str:
        lines = [f"A firm of {self.memories} memories in buckets of {self.bucket}; over REST, one client."]
        lines += [
            f"{name:<26}{milliseconds(seconds, SHARES)}   {self.ratio(name):.2f} x floor   ({len(seconds)} calls)"
            for name, seconds in self.seconds.items()
        ]
        return "\n".join([*lines, f"machine {machine()}"])


def calls(
    backend: Backend, client: Client, firm: Firm, texts: Iterator[str], questions: Iterator[str]
) -> dict[str, Callable[[], Awaitable[object]]]:
    """What is measured, by name; each makes one call and checks that it succeeded."""

    async def floor() -> None:
        await backend.embedder.embed([next(questions)], query=True)
        async with backend.database.tenant(firm.caller.organization_id, firm.caller.user_id) as transaction:
            await transaction.send("tenant.alive")

    async def post(path: str, body: dict[str, object]) -> None:
        client.post(path, body)

    recalled, saved = "/api/v1/recall", "/api/v1/memories"
    draft = {"type": "fact", "scope": "matter", "matter": firm.written.number}
    return {
        FLOOR: floor,
        "recall, own bucket": lambda: post(recalled, {"query": next(questions)}),
        "recall, both buckets": lambda: post(recalled, {"query": next(questions), "matter": firm.asked.number}),
        "save": lambda: post(saved, {"content": next(texts), **draft}),
    }


async def measure(
    measured: dict[str, Callable[[], Awaitable[object]]], rounds: int, warm_up: int = 20
) -> dict[str, list[float]]:
    """Call each in turn, `rounds` times after a warm-up; the seconds that each call took."""
    seconds: dict[str, list[float]] = {name: [] for name in measured}
    for turn in range(-warm_up, rounds):
        for name, call in measured.items():
            began = time.perf_counter()
            await call()
            if turn >= 0:
                seconds[name].append(time.perf_counter() - began)
            await asyncio.sleep(PAUSE_SECONDS)
    return seconds


def main(
    memories: Annotated[int, typer.Option(help="How many memories the firm has.")] = 10_000,
    bucket: Annotated[int, typer.Option(help="How many of them are in each bucket.")] = 500,
    rounds: Annotated[int, typer.Option(help="How often each call is made.")] = 300,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
) -> None:
    """Print how long saving and recalling take, and their ratios to the floor."""
    texts, questions = memory_texts(seed=1), question_texts(seed=2)
    with temporary_north() as (settings, place, server):

        async def filled() -> Firm:
            async with opened(make_backend(settings, place)) as backend:
                return await fill(backend, texts, memories, bucket)

        async def run(firm: Firm, port: int) -> Measured:
            async with opened(make_backend(settings, place)) as backend:
                measured = calls(backend, Client(port, firm.token), firm, texts, questions)
                return Measured(firm.memories, bucket, await measure(measured, rounds))

        firm = asyncio.run(filled())
        settle(server)
        with served(settings) as port:
            report = asyncio.run(run(firm, port))
    print(json.dumps(report.as_json(), indent=2) if as_json else report)


if __name__ == "__main__":
    typer.run(main)
