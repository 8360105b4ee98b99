"""Runs the jobs, in a process of its own or beside the web server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from north.memory.backend import Backend
from north.worker.tasks import register

CONCURRENCY = 4
POLLING_SECONDS = 2.0
GRACE_SECONDS = 20.0


async def run_worker(backend: Backend, *, signals: bool) -> None:
    """Work until stopped; jobs under way get 20 seconds to end, and run again elsewhere when they do not.

    Args:
        backend: an opened backend.
        signals: whether SIGINT and SIGTERM stop this worker; not inside a web server, which has its own.
    """
    register(backend)
    async with backend.jobs.app.open_async():
        # Polling instead of LISTEN, so that a pooler in transaction mode may stand between.
        await backend.jobs.app.run_worker_async(
            concurrency=CONCURRENCY,
            listen_notify=False,
            fetch_job_polling_interval=POLLING_SECONDS,
            shutdown_graceful_timeout=GRACE_SECONDS,
            install_signal_handlers=signals,
            delete_jobs="successful",
        )


@asynccontextmanager
async def worker_beside(backend: Backend) -> AsyncIterator[None]:
    """A worker in the background of the block."""
    task = asyncio.create_task(run_worker(backend, signals=False), name="north-worker")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
