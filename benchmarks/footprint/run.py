"""What North weighs: `python -m benchmarks.footprint.run`.

Start-up time of `north up`, in a new folder and in one that is there; resident memory of its server and of its
Postgres, idle and under load; and what a memory takes on disk.

Memory is the proportional set size: pages that several processes share, as Postgres's do, are counted once in all.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Annotated

import psutil  # type: ignore[import-untyped]  # ships no types
import psycopg
import typer

from benchmarks.figures import machine
from benchmarks.latency import texts
from benchmarks.latency.firm import fill, settle
from benchmarks.latency.server import Client, environment_with, free_port
from benchmarks.temporary import temporary_north
from north.access.demo import DEMO_FIRMS
from north.assembly import make_backend, opened

NORTH = [sys.executable, "-c", "from north.cli import main; main()"]
CLIENTS = 8
STARTS = 3
MEGABYTE = 1_000_000
TABLES = ("agent_memory_candidate", "memory_term", "memory_use", "memory_use_total", "product_event")


@dataclass(frozen=True)
class Weight:
    """Memory in megabytes: of North's own process, and of all of its Postgres."""

    north: float
    postgres: float


@dataclass(frozen=True)
class Footprint:
    """What was measured."""

    first_start: float
    next_start: float
    idle: Weight
    loaded: Weight
    bytes_per_memory: dict[str, float]

    def __str__(self) -> str:
        disk = ", ".join(f"{table} {size / 1000:.2f} kB" for table, size in self.bytes_per_memory.items())
        return "\n".join(
            [
                f"start-up       {self.first_start:.1f} s in a new folder, {self.next_start:.1f} s in a known one",
                f"memory, idle   North {self.idle.north:.0f} MB, Postgres {self.idle.postgres:.0f} MB",
                f"memory, loaded North {self.loaded.north:.0f} MB, Postgres {self.loaded.postgres:.0f} MB "
                f"({CLIENTS} clients saving and recalling)",
                f"disk a memory  {sum(self.bytes_per_memory.values()) / 1000:.2f} kB with its indexes: {disk}",
                f"machine        {machine()}",
            ]
        )


@contextmanager
def _up(folder: Path, port: int) -> Iterator[tuple[psutil.Process, float]]:
    """`north up`, and how many seconds it took until it said that it is there."""
    environment = environment_with(folder, port)
    began = time.perf_counter()
    with subprocess.Popen([*NORTH, "up"], env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            while "http://" not in (line := process.stdout.readline()):
                if not line:
                    raise RuntimeError("North did not start")
            yield psutil.Process(process.pid), time.perf_counter() - began
        finally:
            process.terminate()
            process.stdout.read()


def _weigh(north: psutil.Process, folder: Path) -> Weight:
    postmaster = psutil.Process(int(next(folder.rglob("postmaster.pid")).read_text().split()[0]))
    backends = [postmaster, *postmaster.children(recursive=True)]
    return Weight(_megabytes([north]), _megabytes(backends))


def _megabytes(processes: list[psutil.Process]) -> float:
    total = 0
    for process in processes:
        try:
            total += process.memory_full_info().pss
        except psutil.NoSuchProcess:
            continue
    return total / MEGABYTE


def _load(port: int, token: str, calls: int) -> None:
    """Clients that save and recall, each as fast as it can."""

    def work(number: int) -> None:
        client, said, asked = Client(port, token), texts.memories(number), texts.questions(number)
        for _ in range(calls):
            client.post("/api/v1/memories", {"content": next(said), "type": "fact", "scope": "user_private"})
            client.post("/api/v1/recall", {"query": next(asked)})

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _token(folder: Path) -> str:
    firm = DEMO_FIRMS[0]
    create = ["token", "create", "--firm", firm.slug, "--user", firm.people[0][0], "--json", "--data-dir", str(folder)]
    printed = subprocess.run([*NORTH, *create], check=True, capture_output=True, text=True).stdout
    token: str = json.loads(printed)["token"]
    return token


def _bytes_per_memory(memories: int) -> dict[str, float]:
    with temporary_north() as (settings, place, server):

        async def filled() -> None:
            async with opened(make_backend(settings, place)) as backend:
                await fill(backend, islice(texts.memories(1), memories), memories, memories // 8)

        asyncio.run(filled())
        settle(server)
        with psycopg.connect(server.superuser_url("north")) as connection:
            (kept,) = connection.execute("select count(*) from agent_memory_candidate").fetchone() or (0,)
            sizes = {
                table: connection.execute("select pg_total_relation_size(%s::regclass)", [table]).fetchone() or (0,)
                for table in TABLES
            }
    return {table: size / kept for table, (size,) in sizes.items()}


def measure(memories: int, calls: int) -> Footprint:
    """Start, weigh, load, weigh again; then fill a database and look at its size."""
    with tempfile.TemporaryDirectory(prefix="north-footprint-") as name:
        folder, port = Path(name) / "data", free_port()
        with _up(folder, port) as (_, first_start):
            pass
        next_starts = []
        for _ in range(STARTS - 1):
            with _up(folder, port) as (_, seconds):
                next_starts.append(seconds)
        with _up(folder, port) as (north, seconds):
            next_starts.append(seconds)
            time.sleep(5)  # what a start leaves behind is over
            idle = _weigh(north, folder)
            _load(port, _token(folder), calls)
            loaded = _weigh(north, folder)
    return Footprint(first_start, median(next_starts), idle, loaded, _bytes_per_memory(memories))


def main(
    memories: Annotated[int, typer.Option(help="How many memories to fill a database with.", min=80)] = 4000,
    calls: Annotated[int, typer.Option(help="How many saves and recalls each client makes.", min=1)] = 100,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
) -> None:
    """Print start-up time, memory and disk."""
    found = measure(memories, calls)
    print(json.dumps({"machine": machine(), **asdict(found)}, indent=2) if as_json else found)


if __name__ == "__main__":
    typer.run(main)
