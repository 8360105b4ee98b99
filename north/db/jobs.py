"""Enqueues jobs in the caller's own transaction, so that they exist exactly when its data does; and how they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import procrastinate
import psycopg
from procrastinate.exceptions import ConnectorException
from procrastinate.types import JSONValue
from psycopg import AsyncConnection

from north.db.connect import POOL_SECONDS, RECONNECT_SECONDS, Database, Transaction
from north.db.connection import NETWORK, ImpatientConnection, set_limits
from north.errors import JobNotFound

LISTED_MOST = 1000


async def _set_up(connection: AsyncConnection[Any]) -> None:
    await set_limits(connection)
    await connection.commit()


class Jobs:
    """The job queue in the same Postgres. Arguments hold ids alone, never the text of a memory."""

    def __init__(self, url: str) -> None:
        self.app = procrastinate.App(
            connector=procrastinate.PsycopgConnector(
                conninfo=url,
                connection_class=ImpatientConnection,
                min_size=1,
                max_size=4,
                timeout=POOL_SECONDS,
                configure=_set_up,
                reconnect_timeout=RECONNECT_SECONDS,
                kwargs={"prepare_threshold": None, **NETWORK},
            )
        )

    async def enqueue(
        self, transaction: Transaction, task: str, *, alone: str | None = None, **arguments: JSONValue
    ) -> None:
        """Queue `task` in the caller's transaction: it commits, or vanishes, with it.

        Args:
            transaction: the caller's.
            task: the name of the task.
            alone: jobs of the same name here run one after the other, never at once.
            **arguments: what the task is given.
        """
        task_in_transaction = self.app.configure_task(task, connection=transaction.connection, lock=alone)
        try:
            await task_in_transaction.defer_async(**arguments)
        except ConnectorException as error:
            # Often not the job's own: the first answer to be fetched tells how the statements before it went.
            cause = error.__cause__ or error.__context__
            if isinstance(cause, psycopg.Error):
                raise cause from None
            raise


@dataclass(frozen=True, slots=True)
class Standing:
    """How the jobs of one task and status stand; `status` is `waiting`, `running` or `failed`."""

    task: str
    status: str
    jobs: int
    oldest_seconds: float
    """How long the oldest that is due has waited."""


@dataclass(frozen=True, slots=True)
class Job:
    """One job. `reason` is the kind of error that it last met; never what the error said."""

    id: int
    task: str
    status: str
    attempts: int
    since: datetime
    scheduled_at: datetime | None
    reason: str | None


async def standing(database: Database) -> list[Standing]:
    """How the queue stands, by task and status."""
    rows = await database.lookup("jobs.state")
    return [Standing(row["task"], row["status"], row["jobs"], float(row["oldest_seconds"])) for row in rows]


async def list_jobs(database: Database) -> list[Job]:
    """The jobs that wait, run or have failed, the failed ones first; at most 1,000."""
    return [Job(**row) for row in await database.lookup("jobs.listed", limit=LISTED_MOST)]


async def retry_jobs(database: Database, job_id: int | None) -> Sequence[int]:
    """Let failed jobs start anew: one, or with None all.

    Returns:
        Their ids.

    Raises:
        JobNotFound: no job of this id has failed.
    """
    retried = [row["id"] for row in await database.lookup("jobs.retry", id=job_id)]
    if job_id is not None and not retried:
        raise JobNotFound(id=job_id)
    return retried
