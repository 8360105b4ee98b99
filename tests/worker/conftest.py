"""A North on a database of a test's own, since jobs are done by whichever worker of a database comes first."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest

from north.assembly import make_backend, opened
from north.chat.mining import Miner, make_miner
from north.db.jobs import list_jobs
from north.memory.backend import Backend
from north.settings import Settings
from north.worker.run import Pace, run_worker
from tests.conftest import FirmOfTest, TestDatabase, make_firm
from tests.worker.process import QUICK

STEADY = replace(QUICK, stalled=30.0)
"""The pace of workers of whom none is lost, also on a machine that stands still for a moment."""


@pytest.fixture
def database(fresh_database: TestDatabase) -> TestDatabase:
    return fresh_database


@pytest.fixture
async def backend(database: TestDatabase) -> AsyncIterator[Backend]:
    async with opened(make_backend(Settings(model="offline", embedder="none"), database.place)) as running:
        yield running


@pytest.fixture
async def firm(backend: Backend, password_hash: str) -> FirmOfTest:
    return await make_firm(backend, password_hash)


@asynccontextmanager
async def at_work(database: TestDatabase, miner: Miner | None = None, pace: Pace = STEADY) -> AsyncIterator[Backend]:
    """A worker with connections of its own, for the time of the block."""
    settings = Settings(model="offline", embedder="none")
    async with opened(make_backend(settings, database.place)) as own:
        worker = asyncio.create_task(run_worker(own, miner or make_miner(own, None), signals=False, pace=pace))
        try:
            yield own
        finally:
            worker.cancel()
            with suppress(asyncio.CancelledError):
                await worker


async def until(condition: Callable[[], Awaitable[object]]) -> None:
    """Ask until it is so; what a worker writes tells nobody."""
    async with asyncio.timeout(30):
        for _ in itertools.count():
            if await condition():
                return
            await asyncio.sleep(0.02)


async def queue(backend: Backend, task: str, **arguments: Any) -> None:
    async with backend.database.bound(None, None) as transaction:
        await backend.jobs.enqueue(transaction, task, **arguments)


async def statuses(backend: Backend, task: str = "mine") -> list[str]:
    """How the jobs of a task stand."""
    return [job.status for job in await list_jobs(backend.database) if job.task == task]


async def all_mined(backend: Backend) -> bool:
    """Whether no mining waits, runs or is parked."""
    return not await statuses(backend)
