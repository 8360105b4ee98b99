"""Looking at the jobs, and letting failed ones start anew."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from north.commands.options import DataDir, Json, plain_errors, say, settings_with, show
from north.commands.place import with_backend
from north.db.jobs import Job, list_jobs, retry_jobs

jobs_commands = typer.Typer(help="What the worker does.", no_args_is_help=True)


@jobs_commands.command("list")
@plain_errors
def jobs_list(data_dir: DataDir = None, as_json: Json = False) -> None:
    """List the jobs that failed, wait or run: the failed ones first, with the kind of error that ended them."""
    jobs = with_backend(settings_with(data_dir=data_dir), lambda backend: list_jobs(backend.database))
    if as_json:
        typer.echo(json.dumps([_as_json(job) for job in jobs]))
        return
    for job in jobs:
        show(
            f"{job.id:>8}  {job.status:<8} {job.task:<14} since {job.since:%Y-%m-%d %H:%M}  "
            f"attempts {job.attempts}  {job.reason or ''}".rstrip()
        )
    if not jobs:
        typer.echo("No job failed, waits or runs.")


@jobs_commands.command("retry")
@plain_errors
def jobs_retry(
    job: Annotated[int | None, typer.Argument(help="The number of a failed job.", show_default=False)] = None,
    every: Annotated[bool, typer.Option("--all", help="Retry every failed job.")] = False,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Let a failed job, or with --all every one, start anew, with all its attempts."""
    if (job is None) != every:
        raise typer.BadParameter("Give the number of one failed job, or --all.")
    retried = with_backend(settings_with(data_dir=data_dir), lambda backend: retry_jobs(backend.database, job))
    say(as_json, f"{len(retried)} will run again.", {"retried": list(retried)})


def _as_json(job: Job) -> dict[str, object]:
    return {
        "id": job.id,
        "task": job.task,
        "status": job.status,
        "attempts": job.attempts,
        "since": job.since.isoformat(),
        "due": job.scheduled_at.isoformat() if job.scheduled_at else None,
        "reason": job.reason,
    }
