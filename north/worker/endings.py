"""How the end of a job is written down: until the database has it.

The job library tries once. When the database is away in that very moment, and back before anybody else asks it, the job
stays claimed by a worker that is well and does nothing about it: neither done nor done again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

import psycopg
import structlog
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager
from psycopg import errors

from north.db.connection import failure_of

log = structlog.get_logger(__name__)

AGAIN_SECONDS = 0.5


class PersistentManager(JobManager):
    """The library's access to its queue, which ends jobs however long the database is away."""

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        """Write that a job is done, or has failed for good."""
        end = super().finish_job
        await _until_written(job, lambda: end(job=job, status=status, delete_job=delete_job))

    async def retry_job(
        self,
        job: Job,
        retry_at: datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        """Write that a job is to be tried again."""
        put_off = super().retry_job
        await _until_written(
            job, lambda: put_off(job=job, retry_at=retry_at, priority=priority, queue=queue, lock=lock)
        )


async def _until_written(job: Job, write: Callable[[], Awaitable[None]]) -> None:
    tried = False
    while True:
        try:
            await write()
            return
        except ConnectorException as error:
            cause = error.__cause__
            if not isinstance(cause, psycopg.Error):
                raise
            if tried and isinstance(cause, errors.RaiseException):
                return  # the queue knows no such claim any more: it was written, and only the answer was lost
            if failure_of(cause) is cause:
                raise
            log.warning("end_of_job_not_written", job=job.id, task=job.task_name)
        tried = True
        await asyncio.sleep(AGAIN_SECONDS)
