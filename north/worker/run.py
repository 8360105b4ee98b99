"""Runs the jobs, in a process of its own or beside the web server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import timedelta

import structlog
from procrastinate.signals import on_stop

from north.chat.mining import Miner
from north.errors import DatabaseUnavailable
from north.memory.backend import Backend
from north.worker.endings import PersistentManager
from north.worker.failures import ATTEMPTS, noting_failures
from north.worker.tasks import register

log = structlog.get_logger(__name__)

CONCURRENCY = 4
LATE_SECONDS = 5.0
OPENING_SECONDS = 5.0
"""How long connecting may take; the pauses between a pool's attempts double, so that a new pool is sooner there."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often a worker does what it does, in seconds."""

    polling: float = 1.0
    heartbeat: float = 1.0
    stalled: float = 4.5
    """A worker that was not heard of for so long is lost, and its jobs run again elsewhere: with the other two, within
    ten seconds."""
    grace: float = 20.0
    """How long jobs under way have to end, once the worker is asked to stop."""
    restart: float = 2.0
    """How long to wait after the queue itself has failed, such as with its database."""


BESIDE = Pace(grace=5.0)
"""The pace of a worker beside a web server, which itself has half a minute to end."""


async def run_worker(
    backend: Backend,
    miner: Miner,
    *,
    signals: bool,
    pace: Pace | None = None,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Work until stopped or cancelled; jobs under way get 20 seconds to end, and run again elsewhere when they do not.

    Args:
        backend: an opened backend.
        miner: what reads idle threads.
        signals: whether SIGINT and SIGTERM stop this worker; not inside a web server, which has its own.
        pace: how often it looks for jobs, and gives up on a lost worker's.
        ready: called once the worker can be stopped in order.
    """
    register(backend, miner)
    pace, stopping = pace or Pace(), asyncio.Event()
    working = asyncio.create_task(_keep_working(backend, pace), name="north-worker-loop")
    try:
        with on_stop(stopping.set) if signals else nullcontext():
            ready()
            await stopping.wait()
    finally:
        while not working.done():
            # Again when it is late: a query that ends in the moment of its cancellation swallows it.
            working.cancel()
            await asyncio.wait([working], timeout=pace.grace + LATE_SECONDS)


async def _keep_working(backend: Backend, pace: Pace) -> None:
    """Work, and start over when the queue itself fails: the database may come back."""
    while True:
        releasing = asyncio.create_task(_release_stalled(backend, pace), name="north-worker-releasing")
        try:
            await _work(backend, pace)
        except Exception:  # the edge: whatever ended the loop of the job library, work goes on
            log.exception("worker_interrupted")
        finally:
            releasing.cancel()
        await asyncio.sleep(pace.restart)


async def _work(backend: Backend, pace: Pace) -> None:
    backend.jobs.app.job_manager = PersistentManager(backend.jobs.app.connector)
    try:
        async with asyncio.timeout(OPENING_SECONDS):
            await backend.jobs.app.open_async()
        # Polling instead of LISTEN, so that a pooler in transaction mode may stand between.
        await backend.jobs.app.run_worker_async(
            concurrency=CONCURRENCY,
            listen_notify=False,
            fetch_job_polling_interval=pace.polling,
            abort_job_polling_interval=pace.heartbeat,
            update_heartbeat_interval=pace.heartbeat,
            stalled_worker_timeout=pace.stalled,
            shutdown_graceful_timeout=pace.grace,
            install_signal_handlers=False,
            delete_jobs="successful",
            worker_middleware=[noting_failures(backend.database)],
        )
    finally:
        # Not `async with`: stopped while it opens, the pool would stay half open, and its tasks for ever.
        await backend.jobs.app.close_async()


async def _release_stalled(backend: Backend, pace: Pace) -> None:
    """Again and again: give the jobs of workers that were lost to those that are left.

    Not a job itself, so that it also happens while every slot is taken.
    """
    lost = {"stalled_after": timedelta(seconds=pace.stalled)}
    while True:
        try:
            await backend.database.lookup("jobs.drop_stalled_twins", **lost)
            for job in await backend.database.lookup("jobs.release_stalled", **lost, most_attempts=ATTEMPTS):
                log.warning("job_of_a_lost_worker", job=job["id"], task=job["task"], parked=job["parked"])
                if job["parked"]:
                    await backend.database.lookup("jobs.note_failure", job_id=job["id"], reason="WorkerLost")
        except DatabaseUnavailable as error:
            log.warning("stalled_jobs_not_released", code=error.code)
        except Exception:  # the edge: the next round may go better
            log.exception("stalled_jobs_not_released")
        await asyncio.sleep(pace.heartbeat)


@asynccontextmanager
async def worker_beside(backend: Backend, miner: Miner) -> AsyncIterator[None]:
    """A worker in the background of the block."""
    task = asyncio.create_task(run_worker(backend, miner, signals=False, pace=BESIDE), name="north-worker")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
