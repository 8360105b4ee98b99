"""Killing Postgres, the server and the worker at random while programs work, and looking at what is left."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from north.assembly import Place, make_backend, opened
from north.errors import NorthError
from north.memory.backend import Backend
from north.settings import Settings
from tests.commands import free_port
from tests.faults.harness import SECRET_KEY, Postgres, Program, Stage, stage_on
from tests.faults.load import Load, compare
from tests.faults.provider import model_provider

VICTIMS = ("postgres", "server", "worker")
JOBS_SECONDS = 90.0
WAITING = "status = 'todo' and coalesce(scheduled_at, now()) <= now()"
"""Which jobs are due and wait for a worker."""


@dataclass
class Found:
    """How long it took until North was at work again, by what was killed, in seconds; and what was wrong."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {victim: [] for victim in VICTIMS})
    left_by_workers: list[float] = field(default_factory=list)
    """How long it took until the jobs were done that a killed worker was doing."""
    wrong: list[str] = field(default_factory=list)
    saves: int = 0
    threads: int = 0
    replies: dict[str, int] = field(default_factory=dict)


@dataclass
class Scene:
    """Everything that runs."""

    stage: Stage
    server: Program
    worker: Program
    load: Load


@asynccontextmanager
async def scene_on(postgres: Postgres, folder: Path) -> AsyncIterator[Scene]:
    """A server and a worker on a firm, with an embedder and a miner of a provider on this machine."""
    async with model_provider() as provider:
        settings = {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "sk-test", "NO_PROXY": "127.0.0.1"}
        settings |= {"NORTH_EMBEDDER": "openai:text-embedding-3-small", "NORTH_MINER_MODEL": "openai-chat:gpt-test"}
        async with stage_on(postgres, folder, settings) as stage:
            server, port = stage.server(free_port())
            worker = stage.worker()
            await asyncio.gather(server.start(), worker.start())
            try:
                yield Scene(stage, server, worker, Load(f"http://127.0.0.1:{port}", stage.lawyers))
            finally:
                await asyncio.gather(server.stop(), worker.stop())


async def kill_again_and_again(
    postgres: Postgres,
    folder: Path,
    victims: list[str],
    *,
    clients: int = 4,
    pause: float = 0.03,
    chance: random.Random,
    until: float = math.inf,
    tell: Callable[[str], None] = lambda line: None,
) -> Found:
    """Kill each of `victims` in turn, in a random moment under load, bring it back, and compare in the end.

    `until` is when to stop killing, by `time.monotonic`.
    """
    found = Found()
    async with scene_on(postgres, folder) as scene:
        scene.load.start(clients, pause)
        mining = asyncio.create_task(mine_all_along(scene))
        for number, victim in enumerate(victims, 1):
            if time.monotonic() > until:
                break
            await asyncio.sleep(chance.uniform(0.1, 1.2))
            took = await _kill(scene, victim, chance.uniform(0, 0.5), found)
            found.seconds[victim].append(took)
            tell(f"{number:>4}  {victim:<9} at work again after {took:5.2f} s")
        await scene.load.end()
        mining.cancel()
        found.wrong += await jobs_left(scene)
        found.wrong += compare(scene.load, postgres) + wrongly_mined(scene)
        found.wrong += [
            f"the log shows a {word}" for word in ("Traceback", "call_crashed") if word in scene.server.output
        ]
    found.saves, found.threads = len(scene.load.expected), len(scene.load.threads)
    found.replies = dict(scene.load.replies)
    return found


async def _kill(scene: Scene, victim: str, absence: float, found: Found) -> float:
    """Kill, wait, bring back; how many seconds after that North is at work again."""
    match victim:
        case "postgres":
            scene.stage.postgres.kill()
            await asyncio.sleep(absence)
            await asyncio.to_thread(scene.stage.postgres.start)
            return await scene.load.seconds_until_answered(time.monotonic())
        case "server":
            await scene.server.kill()
            await asyncio.sleep(absence)
            await scene.server.start()
            return await scene.load.seconds_until_answered(time.monotonic())
    await scene.worker.kill()
    killed = time.monotonic()
    doing = scene.stage.postgres.run(
        "select coalesce(array_agg(id), '{}') from procrastinate_jobs where status = 'doing'"
    )
    await asyncio.sleep(absence)
    await scene.worker.start()
    took = await _at_work_again(scene)
    await _until_done(scene, f"id = any(array{doing[0][0]}::bigint[]) and ({WAITING} or status = 'doing')")
    found.left_by_workers.append(time.monotonic() - killed)
    return took


async def _at_work_again(scene: Scene) -> float:
    """After how many seconds the worker has begun the job that has waited longest."""
    began = time.monotonic()
    ((oldest,),) = scene.stage.postgres.run(f"select min(id) from procrastinate_jobs where {WAITING}")
    await _until_done(scene, f"id = {oldest or 0} and status = 'todo'")
    return time.monotonic() - began


async def _until_done(scene: Scene, which: str) -> list[str]:
    """Wait until no job is left of `which`; what is left after all, as sentences."""
    until = time.monotonic() + JOBS_SECONDS
    jobs: list[str] = []
    while time.monotonic() < until:
        with suppress(psycopg.OperationalError):
            query = f"select task_name, status::text from procrastinate_jobs where {which}"
            jobs = [" ".join(row) for row in scene.stage.postgres.run(query)]
            if not jobs:
                return []
        await asyncio.sleep(0.1)
    return [f"a job is left: {job}" for job in jobs]


async def jobs_left(scene: Scene) -> list[str]:
    await _until_done(scene, "status in ('todo', 'doing') and task_name in ('embed', 'mine')")
    await _queue_idle(scene)
    left = await _until_done(scene, "task_name in ('embed', 'mine', 'mine_idle')")
    unembedded = scene.stage.postgres.run(
        "select content from agent_memory_candidate where status = 'active' and embedding is null"
    )
    return left + [f"never embedded: {content}" for (content,) in unembedded]


async def mine_all_along(scene: Scene) -> None:
    """Let conversations that are over count as idle, and have them mined."""
    while True:
        with suppress(psycopg.OperationalError, NorthError):
            await _queue_idle(scene)
        await asyncio.sleep(1)


async def _queue_idle(scene: Scene) -> None:
    postgres = scene.stage.postgres
    over = list(scene.load.threads)
    postgres.run("update chat_thread set updated_at = now() - interval '1 hour' where id = any(%s::uuid[])", over)
    place = Place(postgres.place.database_url, SECRET_KEY)
    async with opened(make_backend(Settings(model="offline", embedder="none"), place)) as backend:
        await _queue(backend, "mine_idle")


async def _queue(backend: Backend, task: str) -> None:
    async with backend.database.bound(None, None) as transaction:
        await backend.jobs.enqueue(transaction, task, timestamp=1)


def wrongly_mined(scene: Scene) -> list[str]:
    """Conversations of which not exactly one reading was kept."""
    readings = dict(
        scene.stage.postgres.run(
            """select t.id::text, count(m.id) from chat_thread t
               left join agent_memory_candidate m on m.source_thread_id = t.id and m.origin = 'miner'
               where t.id = any(%s::uuid[]) group by 1""",
            list(scene.load.threads),
        )
    )
    return [
        f"{readings.get(thread, 0)} readings kept of: {text}"
        for thread, text in scene.load.threads.items()
        if readings.get(thread) != 1
    ]
