"""What MCP costs beside REST: `python -m benchmarks.mcp.run`.

One `north serve` in a process of its own, one lawyer with personal memory and a matter's. The official Python client
calls `north__memory_recall` and `north__memory_save` over HTTP; the same calls go to REST by the same HTTP library. In
each round every call is made once with words of its own, in an order drawn anew: a save leaves a vector to be made,
which slows whatever comes next, and no surface may always come next. The ratio is that of the medians.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import httpx2
import typer
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from benchmarks.figures import machine, milliseconds, percentile
from benchmarks.latency.texts import memories
from benchmarks.temporary import temporary_north
from north.access.firms import add_user, create_firm
from north.access.tokens import create_token
from north.assembly import Place, make_backend, opened
from north.memory.matters import create_matter
from north.memory.save import save
from north.model import Caller, Draft, MemoryType, Origin, Scope
from north.settings import Settings

NORTH = Path(sys.executable).with_name("north")
MATTER = "HV-1001"
WARM_UP = 20
QUERY_WORDS = 8
AIM = 1.5
LIMIT = 12

Call = Callable[[str], Awaitable[Any]]


@dataclass
class Times:
    """Seconds of each call, by operation and surface."""

    seconds: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def median(self, operation: str, surface: str) -> float:
        """The median of an operation on a surface, in seconds."""
        return percentile(self.seconds[operation, surface], 50)

    def ratio(self, operation: str) -> float:
        """How many times as long MCP takes as REST, by the medians."""
        return self.median(operation, "mcp") / self.median(operation, "rest")


async def prepared(settings: Settings, place: Place, held: int) -> str:
    """Make a firm with a lawyer and `held` memories in each bucket; the secret of the lawyer's token."""
    async with opened(make_backend(settings, place)) as backend:
        organization_id = await create_firm(backend, "bench", "Benchmark")
        lawyer = await add_user(backend, organization_id, "lawyer@bench.test", "Lawyer", "no secret at all")
        caller = Caller(organization_id, lawyer.id, Origin.API)
        await create_matter(backend, caller, MATTER, "Benchmark v. Benchmark")
        texts = memories(seed=1)
        for scope, matter in ((Scope.USER_PRIVATE, None), (Scope.MATTER, MATTER)):
            drafts = [Draft(next(texts), MemoryType.FACT, scope, matter) for _ in range(held)]
            for start in range(0, held, 100):
                await save(backend, caller, drafts[start : start + 100])
        await backend.backlog.settled(organization_id, seconds=600)
        return (await create_token(backend, caller, "benchmark"))[1]


@contextmanager
def served(settings: Settings) -> Iterator[str]:
    """`north serve` in a process of its own, and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(NORTH), "serve", "--data-dir", str(settings.data_dir), "--port", str(port)]
    environment = {"NORTH_EMBEDDER": settings.embedder, "NORTH_MODEL": "offline", "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(
        command, env=environment, cwd=settings.data_dir, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            if "serving at" not in process.stdout.readline():
                raise SystemExit("north serve did not start")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@asynccontextmanager
async def surfaces(address: str, secret: str, mode: str) -> AsyncIterator[dict[tuple[str, str], Call]]:
    """The calls to compare, each as a function of a text."""
    headers = {"Authorization": f"Bearer {secret}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        httpx2.AsyncClient(headers=headers, timeout=60, base_url=f"{address}/api/v1") as rest,
        Client(streamable_http_client(f"{address}/mcp", http_client=http), mode=mode) as client,
    ):

        async def tool(name: str, arguments: dict[str, Any]) -> None:
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result

        async def post(path: str, body: dict[str, Any]) -> None:
            reply = (await rest.post(path, json=body)).raise_for_status()
            reply.json()

        def question(text: str) -> dict[str, Any]:
            return {"query": " ".join(text.split()[:QUERY_WORDS]), "matter": MATTER, "limit": LIMIT}

        def draft(text: str) -> dict[str, Any]:
            return {"content": text, "type": "fact", "scope": "matter", "matter": MATTER}

        yield {
            ("recall", "rest"): lambda text: post("/recall", question(text)),
            ("recall", "mcp"): lambda text: tool("north__memory_recall", question(text)),
            ("save", "rest"): lambda text: post("/memories", draft(text)),
            ("save", "mcp"): lambda text: tool("north__memory_save", draft(text)),
        }


async def measure(address: str, secret: str, calls: int, mode: str) -> Times:
    """Make every call `calls` times, after a warm-up."""
    times, texts, draw = Times(), memories(seed=2), random.Random(3)
    async with surfaces(address, secret, mode) as all_calls:
        for round_number in range(WARM_UP + calls):
            for key in draw.sample(list(all_calls), k=len(all_calls)):
                text = next(texts)
                began = time.perf_counter()
                await all_calls[key](text)
                if round_number >= WARM_UP:
                    times.seconds.setdefault(key, []).append(time.perf_counter() - began)
    return times


def report(times: Times, calls: int, held: int, embedder: str) -> str:
    """The figures for people."""
    lines = [f"MCP beside REST, {calls} calls each, {held} memories in each bucket, embedder {embedder}", ""]
    for operation in ("recall", "save"):
        for surface in ("rest", "mcp"):
            lines.append(f"{operation:<8}{surface:<6}{milliseconds(times.seconds[operation, surface])}")
        lines.append(f"{operation:<8}ratio {times.ratio(operation):.2f}   (aim: at most {AIM})")
    return "\n".join([*lines, f"machine {machine()}"])


def main(
    calls: Annotated[int, typer.Option(help="How often each call is made.")] = 300,
    held: Annotated[int, typer.Option(help="How many memories each bucket holds beforehand.")] = 200,
    embedder: Annotated[str, typer.Option(help="`local`, or `none` for words alone.")] = "local",
    mode: Annotated[str, typer.Option(help="`auto` for protocol 2026-07-28, `legacy` for `initialize`.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
) -> None:
    """Print how long recall and save take over MCP and over REST, and the ratios."""
    with temporary_north(embedder) as (settings, place, _):
        secret = asyncio.run(prepared(settings, place, held))
        with served(settings) as address:
            times = asyncio.run(measure(address, secret, calls, mode))
    if as_json:
        print(json.dumps({operation: times.ratio(operation) for operation in ("recall", "save")}))
    else:
        print(report(times, calls, held, embedder))


if __name__ == "__main__":
    typer.run(main)
