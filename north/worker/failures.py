"""What becomes of a job that fails: how often it is tried again, and what is kept of its failure."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import structlog
from procrastinate import BaseRetryStrategy, RetryDecision
from procrastinate.job_context import JobContext
from procrastinate.jobs import Job
from procrastinate.worker import Worker

from north.db.connect import Database
from north.errors import ModelConfused, ModelRejected, NorthError, Unavailable
from north.logs import fault

log = structlog.get_logger(__name__)

ATTEMPTS = 6
"""How often a job is tried that fails in a way of its own; then it is parked."""
ATTEMPTS_IN_OUTAGE = 60
"""How often, while what it depends on is away: for about a day."""
LONGEST_WAIT_SECONDS = 1800
_OWN_FAULT = (ModelConfused, ModelRejected)
"""Failures of a model that patience does not heal."""

Middleware = Callable[[Callable[[], Awaitable[Any]], JobContext, Worker], Awaitable[Any]]


class Patience(BaseRetryStrategy):
    """Tries again after 2, 4, 8 … seconds, and at most half an hour, as often as the kind of failure is worth it.

    `clock` gives the time by the database's clock, by which jobs come due.
    """

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        """When to try again; None parks the job."""
        if isinstance(exception, asyncio.CancelledError):  # this worker stops: another goes on at once
            return RetryDecision(retry_at=self._clock())
        outage = isinstance(exception, Unavailable) and not isinstance(exception, _OWN_FAULT)
        if job.attempts + 1 >= (ATTEMPTS_IN_OUTAGE if outage else ATTEMPTS):
            return None
        seconds = min(2 ** min(job.attempts + 1, 30), LONGEST_WAIT_SECONDS)
        return RetryDecision(retry_at=self._clock() + timedelta(seconds=seconds))


def reason_of(error: BaseException) -> str:
    """The kind of an error and of its causes, with North's own code: never its message, which may quote a memory."""
    kind = str(fault(error)["error"])
    return f"{error.code}: {kind}" if isinstance(error, NorthError) else kind


def noting_failures(database: Database) -> Middleware:
    """A middleware of the worker that keeps the kind of a job's failure, until the job has succeeded."""

    async def noting(call_next: Callable[[], Awaitable[Any]], context: JobContext, worker: Worker) -> Any:
        periodic = context.job.task_kwargs.keys() == {"timestamp"}
        if periodic:
            await database.lookup("jobs.forget_failed_runs", task=context.job.task_name)
        try:
            result = await call_next()
        except Exception as error:
            await _note(database, context.job, reason_of(error))
            raise
        await database.lookup("jobs.forget_failure", job_id=context.job.id)
        return result

    return noting


async def _note(database: Database, job: Job, reason: str) -> None:
    try:
        await database.lookup("jobs.note_failure", job_id=job.id, reason=reason)
    except NorthError as error:
        log.warning("failure_not_noted", code=error.code, job=job.id, reason=reason)
