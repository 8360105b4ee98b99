"""The pool, and the one place where a transaction is bound to a firm and a lawyer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import psycopg
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from north.db.statements import multi_row, statement
from north.errors import DatabaseUnavailable

Row = dict[str, Any]
PARAMETERS_PER_INSERT = 50
"""More in one statement cost more than a second statement: the driver remembers how to send up to 50."""
PREPARE_AFTER = 5
"""How often a connection runs a statement before the server keeps its plan."""
PREPARED_MOST = 200
"""How many plans a connection has kept; a multi-row INSERT counts anew for every number of rows."""


class LostRace(Exception):
    """Another transaction wrote first: a unique index, a serialization failure or a deadlock says so.

    Nothing of this transaction was written; looked at again, the world may give another answer.
    """

    def __init__(self, constraint: str | None) -> None:
        self.constraint = constraint
        super().__init__(constraint)


class Transaction:
    """The statements of one bound transaction.

    Statements are pipelined: they leave for the server together, when a result is first needed. Each is given
    `organization_id` and `user_id` of the binding, so that none can name another firm.
    """

    def __init__(self, connection: AsyncConnection[Row], organization_id: UUID | None, user_id: UUID | None) -> None:
        self.connection = connection
        self._bound = {"organization_id": organization_id, "user_id": user_id}

    async def send(self, name: str, /, **parameters: Any) -> AsyncCursor[Row]:
        """Queue a statement; its result is fetched from the cursor, before or after the transaction's end."""
        return await self.connection.execute(statement(name).encode(), {**parameters, **self._bound})

    async def fetch(self, name: str, /, **parameters: Any) -> list[Row]:
        """Run a statement, and whatever is queued before it, and return its rows."""
        return await (await self.send(name, **parameters)).fetchall()

    async def first(self, name: str, /, **parameters: Any) -> Row | None:
        """Run a statement and return its first row, if it has one."""
        return await (await self.send(name, **parameters)).fetchone()

    async def insert(self, name: str, rows: Sequence[Mapping[str, Any]], /, **shared: Any) -> list[AsyncCursor[Row]]:
        """Queue a multi-row INSERT; each row is given what is `shared` and the binding's ids."""
        shared |= self._bound
        size = max(1, (PARAMETERS_PER_INSERT - len(shared)) // len(rows[0])) if rows else 1
        cursors = []
        for start in range(0, len(rows), size):
            text, parameters = multi_row(name, rows[start : start + size], shared)
            cursors.append(await self.connection.execute(text.encode(), parameters))
        return cursors


async def _keep_plans(connection: AsyncConnection[Row]) -> None:
    """Allow prepared statements on a connection of our own.

    A pooler answers the start of a connection itself, with a process id of its own making, and may give every
    transaction to another server process, which would not know what was prepared on the one before.
    """
    row = await (await connection.execute(statement("tenant.server_process").encode())).fetchone()
    if row is not None and row["pid"] == connection.info.backend_pid:
        connection.prepare_threshold = PREPARE_AFTER
        connection.prepared_max = PREPARED_MOST


class Database:
    """A pool of connections as `north_app`.

    Nothing here needs prepared statements or session state, so a pooler in transaction mode may stand between.
    Where none does, the server keeps the plans of what is asked often, which saves a third of a recall's time there.
    """

    def __init__(self, url: str, *, size: int = 10) -> None:
        self._pool: AsyncConnectionPool[AsyncConnection[Row]] = AsyncConnectionPool(
            url,
            open=False,
            min_size=1,
            max_size=size,
            timeout=10,
            configure=_keep_plans,
            kwargs={
                "autocommit": True,
                "prepare_threshold": None,
                "row_factory": dict_row,
                "connect_timeout": 5,
            },
            name="north",
        )

    async def open(self) -> None:
        """Open the pool and wait for its first connection.

        Raises:
            DatabaseUnavailable: no connection could be made within ten seconds.
        """
        try:
            await self._pool.open(wait=True, timeout=10)
        except PoolTimeout as error:
            await self._pool.close()
            raise DatabaseUnavailable from error

    async def close(self) -> None:
        """Close every connection."""
        await self._pool.close()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[AsyncConnection[Row]]:
        """A plain connection, bound to nobody: it sees the lookup table and no firm's row."""
        try:
            async with self._pool.connection() as connection:
                yield connection
        except (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected) as error:
            raise LostRace(None) from error
        except (psycopg.OperationalError, PoolTimeout) as error:
            raise DatabaseUnavailable from error

    @asynccontextmanager
    async def tenant(self, organization_id: UUID | None, user_id: UUID | None) -> AsyncIterator[Transaction]:
        """A transaction bound to a firm and a lawyer: BEGIN, bind, the caller's statements, COMMIT, pipelined.

        A block that only queues statements costs one round trip, at its end.

        Raises:
            DatabaseUnavailable: the server is away, out of connections, or ended the transaction.
            LostRace: another transaction wrote first; nothing of this one was written.
        """
        try:
            # Not connection.transaction(), which in a pipeline waits for its BEGIN and for its COMMIT. What raises here
            # leaves the transaction open, and the pool's connection rolls it back.
            async with self.connection() as connection, connection.pipeline():
                transaction = Transaction(connection, organization_id, user_id)
                await transaction.send("tenant.begin")
                await transaction.send("tenant.bind")
                yield transaction
                await transaction.send("tenant.commit")
        except psycopg.errors.UniqueViolation as error:
            raise LostRace(error.diag.constraint_name) from error

    async def admit(self, kind: str, key_hash: bytes) -> tuple[Row, Row] | None:
        """What a key leads to, and the user behind it, in one round trip: the key itself binds the transaction.

        Returns:
            The rows of the key and of the user; None when there is no such key, or its user may not come in.
        """
        async with self.connection() as connection, connection.pipeline():
            transaction = Transaction(connection, None, None)
            await transaction.send("tenant.begin")
            found = await transaction.send("access.bind_by_key", kind=kind, key_hash=key_hash)
            user = await transaction.send("access.bound_user")
            await transaction.send("tenant.commit")
        key_row, user_row = await found.fetchone(), await user.fetchone()
        return (key_row, user_row) if key_row and user_row else None

    async def lookup(self, name: str, /, **parameters: Any) -> list[Row]:
        """Run one statement on the lookup table, outside any firm."""
        async with self.connection() as connection:
            return await (await connection.execute(statement(name).encode(), parameters)).fetchall()
