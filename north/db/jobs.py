"""Enqueues jobs in the caller's own transaction, so that they exist exactly when its data does."""

from __future__ import annotations

import procrastinate
from procrastinate.types import JSONValue

from north.db.connect import Transaction


class Jobs:
    """The job queue in the same Postgres. Arguments hold ids alone, never the text of a memory."""

    def __init__(self, url: str) -> None:
        self.app = procrastinate.App(
            connector=procrastinate.PsycopgConnector(
                conninfo=url, min_size=1, max_size=4, kwargs={"prepare_threshold": None}
            )
        )

    async def enqueue(self, transaction: Transaction, task: str, **arguments: JSONValue) -> None:
        """Queue `task` in the caller's transaction: it commits, or vanishes, with it."""
        await self.app.configure_task(task, connection=transaction.connection).defer_async(**arguments)
