"""What a server does at once, and what a flood costs the neighbour: `python -m benchmarks.throughput.run`.

Two firms, each with a bucket of 1,000 memories. The neighbour recalls ten times a second, in turns alone and while 96
clients of the other firm recall without a pause. Only the neighbour's times are told: the flood gets what it is given,
and 429 with `Retry-After` for the rest, after which its clients ask again at once. Then 16 clients recall, and then
save, as fast as they are answered: calls a second at saturation.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from benchmarks.figures import machine, milliseconds, percentile
from benchmarks.latency.bulk import make_pool
from benchmarks.latency.firm import settle
from benchmarks.latency.firms import Desk, fill, make_desks
from benchmarks.latency.server import served
from benchmarks.latency.texts import memories as memory_texts
from benchmarks.latency.texts import questions as question_texts
from benchmarks.latency.wire import Wire
from benchmarks.temporary import temporary_north
from north.assembly import make_backend, opened

BUCKET = 1_000
SATURATING = 16
FLOODING = 96
A_SECOND = 10
SHARES = (50, 95, 99)
TURNS = 3

Body = Callable[[], dict[str, str]]


@dataclass
class Measured:
    """Calls a second at saturation, and the seconds of the neighbour's recalls."""

    recalls: float = 0.0
    saves: float = 0.0
    quiet: list[float] = field(default_factory=list)
    flooded: list[float] = field(default_factory=list)
    neighbour: Counter[int] = field(default_factory=Counter)
    flood: Counter[int] = field(default_factory=Counter)

    @property
    def ratio(self) -> float:
        """The neighbour's p99 beside a flood, as a multiple of its p99 alone."""
        return percentile(self.flooded, 99) / percentile(self.quiet, 99)

    def as_json(self) -> dict[str, Any]:
        """Every figure, for scripts."""
        cores = os.cpu_count() or 1
        return {
            "machine": machine(),
            "recalls_per_second_and_core": self.recalls / cores,
            "saves_per_second_and_core": self.saves / cores,
            "neighbour": {
                name: {f"p{share}": 1000 * percentile(seconds, share) for share in SHARES}
                for name, seconds in (("quiet", self.quiet), ("flooded", self.flooded))
            },
            "ratio": self.ratio,
            "neighbour_statuses": dict(self.neighbour),
            "flood_statuses": dict(self.flood),
        }

    def __str__(self) -> str:
        cores = os.cpu_count() or 1
        return "\n".join(
            (
                f"recalls  {self.recalls:.0f} a second, {self.recalls / cores:.0f} a second and core",
                f"saves    {self.saves:.0f} a second, {self.saves / cores:.0f} a second and core",
                f"neighbour alone           {milliseconds(self.quiet, SHARES)}",
                f"neighbour beside a flood  {milliseconds(self.flooded, SHARES)}   p99 x {self.ratio:.2f}",
                f"answers to the neighbour {dict(self.neighbour)}, to the flood {dict(self.flood)}",
                f"machine {machine()}",
            )
        )


async def saturate(port: int, desk: Desk, path: str, body: Body, seconds: float) -> float:
    """Calls a second that 16 clients of one firm get answered."""
    until, answered = time.perf_counter() + seconds, 0

    async def client() -> None:
        nonlocal answered
        wire = Wire(port, desk.token)
        while time.perf_counter() < until:
            await wire.rest("POST", path, body())
            answered += 1
        wire.close()

    began = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(SATURATING)))
    return answered / (time.perf_counter() - began)


async def recall_steadily(
    port: int, desk: Desk, questions: Iterator[str], seconds: float
) -> tuple[list[float], Counter[int]]:
    """The seconds of recalls, ten of which begin each second, and their statuses."""
    wire, times, statuses = Wire(port, desk.token), list[float](), Counter[int]()
    for _ in range(int(seconds * A_SECOND)):
        began = time.perf_counter()
        reply = await wire.call("POST", "/api/v1/recall", {"query": next(questions)})
        statuses[reply.status] += 1
        times.append(time.perf_counter() - began)
        await asyncio.sleep(max(0.0, 1 / A_SECOND - times[-1]))
    wire.close()
    return times, statuses


async def flood(port: int, desk: Desk, questions: Iterator[str], statuses: Counter[int], over: asyncio.Event) -> None:
    """Recall without a pause, from many connections, whatever is answered."""

    async def client() -> None:
        wire = Wire(port, desk.token)
        while not over.is_set():
            statuses[(await wire.call("POST", "/api/v1/recall", {"query": next(questions)})).status] += 1
        wire.close()

    await asyncio.gather(*(client() for _ in range(FLOODING)))


async def measure(port: int, flooding: Desk, neighbour: Desk, seconds: float) -> Measured:
    """Both firms at work."""
    measured = Measured()
    texts, questions = memory_texts(seed=21), question_texts(seed=22)
    await recall_steadily(port, neighbour, questions, 2)
    for _ in range(TURNS):
        times, statuses = await recall_steadily(port, neighbour, questions, seconds)
        measured.quiet += times
        measured.neighbour += statuses
        over = asyncio.Event()
        raging = asyncio.create_task(flood(port, flooding, questions, measured.flood, over))
        await asyncio.sleep(1)
        times, statuses = await recall_steadily(port, neighbour, questions, seconds)
        measured.flooded += times
        measured.neighbour += statuses
        over.set()
        await raging
    measured.recalls = await saturate(port, flooding, "/recall", lambda: {"query": next(questions)}, seconds)
    measured.saves = await saturate(
        port, flooding, "/memories", lambda: {"content": next(texts), "type": "fact", "scope": "user_private"}, seconds
    )
    return measured


def main(
    seconds: Annotated[float, typer.Option(help="How long each part lasts; there are eight.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
) -> None:
    """Print calls a second at saturation, and a neighbour's times beside a flood."""
    with temporary_north() as (settings, place, server):

        async def founded() -> tuple[Any, list[Desk], list[Desk]]:
            async with opened(make_backend(settings, place)) as backend:
                flooding, calm = (
                    await make_desks(backend, "flood", [BUCKET]),
                    await make_desks(backend, "calm", [BUCKET]),
                )
                return await make_pool(backend, seed=1), flooding, calm

        pool, flooding, calm = asyncio.run(founded())
        for desks in (flooding, calm):
            fill(server.superuser_url("north"), pool, desks, [])
        settle(server)
        with served(settings) as port:
            measured = asyncio.run(measure(port, flooding[0], calm[0], seconds))
    print(json.dumps(measured.as_json(), indent=2) if as_json else measured)


if __name__ == "__main__":
    typer.run(main)
