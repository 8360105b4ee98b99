"""Running the jobs in a process of their own."""

from __future__ import annotations

import typer

from north.chat.mining import configured_miner
from north.commands.place import with_backend
from north.memory.backend import Backend
from north.settings import Settings
from north.worker.run import run_worker


def work(settings: Settings) -> None:
    """Run a worker until SIGINT or SIGTERM."""

    async def run(backend: Backend) -> None:
        miner = configured_miner(backend, settings)
        await run_worker(backend, miner, signals=True, ready=_say_so)

    with_backend(settings, run)


def _say_so() -> None:
    typer.echo("The worker is running. Press Ctrl-C to stop.")
