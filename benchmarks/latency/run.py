"""How long each call takes: `python -m benchmarks.latency.run`.

A firm of 22,200 memories: for each size a lawyer with a bucket of their own of that size, and a matter with as many.
With `--crowd` a second database beside it, with the same buckets and one of 100,000 in a firm of 1,000,000 memories,
and 1,000 other firms. A round makes every call once, at every size, over REST and over MCP, in both databases, so that
whatever else the machine does weighs on all of them alike; the floor of each database is measured in the same round:
one query embedding and one empty tenant transaction, in this process. Every text is new, so that no cache answers.

Each server is a process of its own. After each call there is a short pause, so that the vector that a save leaves to be
made weighs on no other call. Last, 32 clients make each call at the same moment. The ratios are those of the medians.
"""

from __future__ import annotations

import asyncio
import json
import math
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import typer

from benchmarks.figures import machine, percentile
from benchmarks.latency.bulk import make_pool
from benchmarks.latency.firm import settle
from benchmarks.latency.firms import Desk, Firm, fill, make_desks, more_matters, other_firms
from benchmarks.latency.server import served
from benchmarks.latency.texts import memories as memory_texts
from benchmarks.latency.texts import questions as question_texts
from benchmarks.latency.wire import Wire
from benchmarks.temporary import temporary_north
from north.assembly import Place, make_backend, opened
from north.commands.heap import leave_out_what_is_loaded
from north.memory.backend import Backend
from north.memory.both_buckets import rank_buckets
from north.memory.sizes import Sizes
from north.memory.vector_cache import VectorCache
from north.settings import Settings

SIZES = (100, 1_000, 10_000)
CROWDED_SIZES = (*SIZES, 100_000)
CROWD = 1_000_000
SHARES = (50, 95, 99)
PAUSE_SECONDS = 0.04
PAUSE_AFTER_MANY_SECONDS = 0.5
WARM_UP = 8
TOP = 10
TOGETHER = 32
FLOOR = "floor"

Call = Callable[[], Awaitable[object]]
Key = tuple[str, int, str]
"""A database, a bucket's size (0 for the floor), and a call."""


@dataclass
class Measured:
    """Seconds of every call, and the share of the exact ranking's first ten that recall finds, by database and size."""

    firms: dict[str, Firm]
    seconds: defaultdict[Key, list[float]] = field(default_factory=lambda: defaultdict(list))
    overlap: dict[tuple[str, int], float] = field(default_factory=dict)

    async def timed(self, key: Key, call: Call) -> None:
        """Make a call, and note how long it took."""
        began = time.perf_counter()
        await call()
        self.seconds[key].append(time.perf_counter() - began)

    def ratio(self, key: Key) -> float:
        """A call's median as a multiple of its database's floor."""
        return percentile(self.seconds[key], 50) / percentile(self.seconds[key[0], 0, FLOOR], 50)

    def as_json(self) -> dict[str, Any]:
        """Every figure, for scripts."""
        return {
            "machine": machine(),
            "memories": {name: firm.memories for name, firm in self.firms.items()},
            "calls": [
                {"firm": key[0], "bucket": key[1], "call": key[2], "ratio": self.ratio(key), "count": len(seconds)}
                | {f"p{share}": 1000 * percentile(seconds, share) for share in SHARES}
                for key, seconds in self.seconds.items()
            ],
            "overlap": [{"firm": name, "bucket": size, "top": share} for (name, size), share in self.overlap.items()],
        }

    def __str__(self) -> str:
        lines = []
        for name, firm in self.firms.items():
            lines.append(f"{name}: a firm of {firm.memories:,} memories")
            lines.append(f"{'bucket':>8}  {'call':<34}{'p50':>9}{'p95':>9}{'p99':>9}   x floor")
            for key in sorted((key for key in self.seconds if key[0] == name), key=lambda key: key[1]):
                shares = "".join(f"{1000 * percentile(self.seconds[key], share):>6.1f} ms" for share in SHARES)
                lines.append(f"{key[1] or '':>8}  {key[2]:<34}{shares}   {self.ratio(key):.2f}")
            for (of, size), share in self.overlap.items():
                if of == name:
                    lines.append(f"{size:>8}  the exact ranking's first ten: {share:.3f} found")
            lines.append("")
        return "\n".join([*lines, f"machine {machine()}"])


@dataclass(frozen=True)
class Site:
    """A database with its firm, a server on it, and a way past the server."""

    name: str
    backend: Backend
    firm: Firm
    port: int


def calls(site: Site, desk: Desk, wire: Wire, texts: Iterator[str], questions: Iterator[str]) -> dict[str, Call]:
    """What is measured at one desk, in the order in which it is called: an edit is of what was saved before it."""
    saved: dict[str, str] = {}
    number = desk.matter.number

    async def save() -> None:
        draft = {"content": next(texts), "type": "fact", "scope": "matter", "matter": number}
        saved["rest"] = (await wire.rest("POST", "/memories", draft)).json()["memory"]["id"]

    async def edit() -> None:
        changed = await wire.rest("PATCH", f"/memories/{saved['rest']}", {"content": next(texts)})
        saved["rest"] = changed.json()["memory"]["id"]

    async def save_mcp() -> None:
        draft = {"content": next(texts), "type": "fact", "scope": "matter", "matter": number}
        reply = await wire.tool("north__memory_save", draft)
        saved["mcp"] = reply.json()["result"]["structuredContent"]["memory"]["id"]

    async def edit_mcp() -> None:
        arguments = {"memory_id": saved["mcp"], "content": next(texts)}
        reply = await wire.tool("north__memory_update", arguments)
        saved["mcp"] = reply.json()["result"]["structuredContent"]["memory"]["id"]

    def tool(name: str, arguments: Callable[[], dict[str, object]]) -> Call:
        return lambda: wire.tool(name, arguments())

    return {
        "recall, own": lambda: wire.rest("POST", "/recall", {"query": next(questions)}),
        "recall, own and matter": lambda: wire.rest("POST", "/recall", {"query": next(questions), "matter": number}),
        "save": save,
        "edit": edit,
        "delete": lambda: wire.rest("DELETE", f"/memories/{saved['rest']}"),
        "list": lambda: wire.rest("GET", "/memories?scope=user_private&limit=50"),
        "briefing": lambda: wire.rest("GET", "/briefing"),
        "recall, MCP": tool("north__memory_recall", lambda: {"query": next(questions)}),
        "save, MCP": save_mcp,
        "edit, MCP": edit_mcp,
        "delete, MCP": tool("north__memory_forget", lambda: {"memory_id": saved["mcp"]}),
        "briefing, MCP": tool("north__briefing", dict),
    }


def floor(site: Site, questions: Iterator[str]) -> Call:
    """One query embedding and one empty tenant transaction."""
    caller = site.firm.desks[0].caller

    async def call() -> None:
        await site.backend.embedder.embed([next(questions)], query=True)
        async with site.backend.database.tenant(caller) as transaction:
            await transaction.send("tenant.alive")

    return call


async def measure(sites: list[Site], rounds: int) -> Measured:
    """Make every call `rounds` times, in turns, and then those of 32 clients at once."""
    measured = Measured({site.name: site.firm for site in sites})
    texts, questions = memory_texts(seed=11), question_texts(seed=12)
    every: dict[Key, Call] = {}
    for site in sites:
        every[site.name, 0, FLOOR] = floor(site, questions)
        for desk in site.firm.desks:
            of_desk = calls(site, desk, Wire(site.port, desk.token), texts, questions)
            every |= {(site.name, desk.size, name): call for name, call in of_desk.items()}
    for turn in range(-WARM_UP, rounds):
        for key, call in every.items():
            await (measured.timed(key, call) if turn >= 0 else call())
            await asyncio.sleep(PAUSE_SECONDS)
    for site in sites:
        await _together(site, measured, rounds, texts, questions)
        for desk in site.firm.desks:
            measured.overlap[site.name, desk.size] = await _overlap(site.backend, desk, questions)
    return measured


async def _together(
    site: Site, measured: Measured, rounds: int, texts: Iterator[str], questions: Iterator[str]
) -> None:
    """Every call by 32 clients at the same moment, each with a connection of its own."""

    for desk in site.firm.desks:
        wires = [Wire(site.port, desk.token) for _ in range(TOGETHER)]
        clients = [calls(site, desk, wire, texts, questions) for wire in wires]
        for _ in range(max(2, rounds // 10)):
            for name in clients[0]:
                key = (site.name, desk.size, f"{name}, {TOGETHER} clients")
                await asyncio.gather(*(measured.timed(key, client[name]) for client in clients))
                await asyncio.sleep(PAUSE_AFTER_MANY_SECONDS)
        for wire in wires:
            wire.close()


async def _overlap(backend: Backend, desk: Desk, questions: Iterator[str], asked: int = 100) -> float:
    """The share of the exact ranking's first ten that recall finds, once it knows how large the bucket is."""
    every_one_compared = replace(backend, sizes=Sizes(large=math.inf), vector_cache=VectorCache(0))
    found = 0
    for _ in range(asked):
        question = next(questions)
        exact = await rank_buckets(every_one_compared, desk.caller, question, None, TOP)
        await rank_buckets(backend, desk.caller, question, None, TOP)  # from now on the size is known
        given = await rank_buckets(backend, desk.caller, question, None, TOP)
        found += len({hit.memory.id for hit in exact.personal} & {hit.memory.id for hit in given.personal})
    return found / (asked * TOP)


def prepared(settings: Settings, place: Place, superuser_url: str, *, crowd: bool) -> Firm:
    """Fill a database."""

    async def plan() -> tuple[Any, ...]:
        async with opened(make_backend(settings, place)) as backend:
            desks = await make_desks(backend, "bench", CROWDED_SIZES if crowd else SIZES)
            around = []
            if crowd:
                held = sum(2 * desk.size for desk in desks)
                around = await more_matters(backend, desks[0].caller, CROWD - held) + await other_firms(backend)
            return await make_pool(backend, seed=1), desks, around

    pool, desks, around = asyncio.run(plan())
    return fill(superuser_url, pool, desks, around)


@asynccontextmanager
async def _working(backends: list[Backend]) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for backend in backends:
            await stack.enter_async_context(opened(backend))
        yield


def main(
    rounds: Annotated[int, typer.Option(help="How often each call is made.")] = 40,
    crowd: Annotated[bool, typer.Option(help="Also in a firm of 1,000,000 memories; takes half an hour.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
) -> None:
    """Print how long each call takes, and its ratio to the floor."""
    with ExitStack() as stack:
        norths = []
        for name in ("small", "crowded") if crowd else ("small",):
            settings, place, server = stack.enter_context(temporary_north())
            print(f"filling the {name} database ...", file=sys.stderr)
            firm = prepared(settings, place, server.superuser_url("north"), crowd=name == "crowded")
            settle(server)
            norths.append((name, make_backend(settings, place), firm, stack.enter_context(served(settings))))

        async def run() -> Measured:
            async with _working([backend for _, backend, _, _ in norths]):
                leave_out_what_is_loaded()  # here too, or its own garbage collector would be measured
                return await measure([Site(*north) for north in norths], rounds)

        report = asyncio.run(run())
    print(json.dumps(report.as_json(), indent=2) if as_json else report)


if __name__ == "__main__":
    typer.run(main)
