"""The pool, and the one place where a transaction is bound to a firm and a lawyer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
from psycopg import AsyncConnection, AsyncCursor
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from north.db.connection import NETWORK, ImpatientConnection, failure_of, is_open, lost_contact, set_limits
from north.db.races import LostRace as LostRace
from north.db.races import retried as retried
from north.db.statements import multi_row, statement, writes
from north.errors import DatabaseUnavailable, NorthError, NotSignedIn, OutcomeUnknown
from north.model import Caller, Key

Row = dict[str, Any]
PARAMETERS_PER_INSERT = 50
"""More in one statement cost more than a second statement: the driver remembers how to send up to 50."""
PREPARE_AFTER = 5
"""How often a connection runs a statement before the server keeps its plan."""
PREPARED_MOST = 200
"""How many plans a connection has kept; a multi-row INSERT counts anew for every number of rows."""
POOL_SECONDS = 10.0
"""How long a transaction waits for a connection, while all are in use or the server is away."""
RECONNECT_SECONDS = 4.0
"""How long the pool tries to connect before it starts over: its pauses double, and so stay below two seconds."""
RENEWED_ONCE_SECONDS = 1.0


class Transaction:
    """The statements of one bound transaction.

    Statements are pipelined: they leave for the server together, when a result is first needed. Each is given
    `organization_id` and `user_id` of the binding, so that none can name another firm.
    """

    def __init__(self, connection: AsyncConnection[Row], organization_id: UUID | None, user_id: UUID | None) -> None:
        self.connection = connection
        self.has_written = False
        self.binding: AsyncCursor[Row]
        self._bound = {"organization_id": organization_id, "user_id": user_id}

    async def bind(self, key: Key | None, **modes: bool) -> None:
        """Queue what binds it to its firm and lawyer, by way of a key if there is one; `Database.bound` does, first."""
        if key is None:
            self.binding = await self.send("tenant.bind", **modes)
        else:
            self.binding = await self.send("tenant.admit", kind=key.kind, key_hash=key.key_hash, **modes)

    async def send(self, name: str, /, **parameters: Any) -> AsyncCursor[Row]:
        """Queue a statement; its result is fetched from the cursor, before or after the transaction's end."""
        self.has_written = self.has_written or writes(name)
        return await self.connection.execute(statement(name).encode(), {**parameters, **self._bound})

    async def send_for_bytes(self, name: str, /, **parameters: Any) -> AsyncCursor[Row]:
        """As `send`, for a statement whose values are long strings of bytes, which are sent as they are."""
        return await self.connection.execute(statement(name).encode(), {**parameters, **self._bound}, binary=True)

    async def fetch(self, name: str, /, **parameters: Any) -> list[Row]:
        """Run a statement, and whatever is queued before it, and return its rows."""
        return await (await self.send(name, **parameters)).fetchall()

    async def first(self, name: str, /, **parameters: Any) -> Row | None:
        """Run a statement and return its first row, if it has one."""
        return await (await self.send(name, **parameters)).fetchone()

    async def insert(self, name: str, rows: Sequence[Mapping[str, Any]], /, **shared: Any) -> list[AsyncCursor[Row]]:
        """Queue a multi-row INSERT; each row is given what is `shared` and the binding's ids."""
        self.has_written = True
        shared |= self._bound
        size = max(1, (PARAMETERS_PER_INSERT - len(shared)) // len(rows[0])) if rows else 1
        cursors = []
        for start in range(0, len(rows), size):
            text, parameters = multi_row(name, rows[start : start + size], shared)
            cursors.append(await self.connection.execute(text.encode(), parameters))
        return cursors


class Database:
    """A pool of connections as `north_app`.

    Nothing here needs prepared statements or session state, so a pooler in transaction mode may stand between.
    Where none does, the server keeps the plans of what is asked often, which saves a third of a recall's time there.
    """

    def __init__(self, url: str, *, size: int = 10) -> None:
        self._read_clock(datetime.now(UTC))
        self._renewed_at = 0.0
        self._probe: asyncio.Task[bool] | None = None
        self._pool: AsyncConnectionPool[ImpatientConnection] = AsyncConnectionPool(
            url,
            connection_class=ImpatientConnection,
            open=False,
            min_size=1,
            max_size=size,
            timeout=POOL_SECONDS,
            configure=self._set_up,
            check=self._check,
            reconnect_timeout=RECONNECT_SECONDS,
            reconnect_failed=self._start_over,
            kwargs={"autocommit": True, "prepare_threshold": None, "row_factory": dict_row, **NETWORK},
            name="north",
        )

    async def open(self) -> None:
        """Open the pool and wait for its first connection.

        Raises:
            DatabaseUnavailable: no connection could be made within ten seconds.
        """
        try:
            await self._pool.open(wait=True, timeout=POOL_SECONDS)
        except PoolTimeout as error:
            await self._pool.close()
            raise DatabaseUnavailable from error

    async def close(self) -> None:
        """Close every connection."""
        if self._probe is not None:
            self._probe.cancel()
        await self._pool.close()

    def now(self) -> datetime:
        """The time by the database's clock, which all of North's processes share; no round trip.

        It was read when a connection was last made, and is counted on from there, so that it does not jump with the
        clock of this machine.
        """
        return self._clock + timedelta(seconds=time.monotonic() - self._clock_read_at)

    def _read_clock(self, now: datetime) -> None:
        self._clock, self._clock_read_at = now, time.monotonic()

    async def _set_up(self, connection: AsyncConnection[Row]) -> None:
        """Set the limits of a new connection of our own, and allow prepared statements on it."""
        server = await set_limits(connection)
        self._read_clock(server.now)
        if server.direct:
            connection.prepare_threshold = PREPARE_AFTER
            connection.prepared_max = PREPARED_MOST

    async def _check(self, connection: AsyncConnection[Row]) -> None:
        """Before a connection is given out: one that the server has closed is none, and so are those beside it."""
        if is_open(connection):
            return
        await connection.close()
        if time.monotonic() - self._renewed_at > RENEWED_ONCE_SECONDS:
            self._renewed_at = time.monotonic()
            await self._pool.drain()
        raise psycopg.OperationalError("the server has closed the connection")

    async def _start_over(self, pool: AsyncConnectionPool[Any]) -> None:
        """Begin to connect anew while somebody waits; otherwise the next who comes does."""
        if pool.get_stats().get("requests_waiting"):
            await pool.check()

    async def answers(self, seconds: float) -> bool:
        """Whether the database answers within so many seconds; however many ask, it is asked once at a time."""
        if self._probe is None or self._probe.done():
            self._probe = asyncio.create_task(self._answers(), name="north-database-probe")
        await asyncio.wait(
            [self._probe], timeout=seconds
        )  # a question that is cancelled takes longer than one that is not
        return self._probe.done() and not self._probe.cancelled() and self._probe.result()

    async def _answers(self) -> bool:
        try:
            async with self.bound(None, None):
                pass
        except (DatabaseUnavailable, LostRace):
            return False
        return True

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[ImpatientConnection]:
        """A plain connection, bound to nobody: it sees the lookup table and no firm's row.

        Raises:
            DatabaseUnavailable: the server is away, too slow, full, read-only or out of connections.
            DatabaseBusy: somebody else held a lock for too long.
            LostRace: another transaction wrote first; nothing of this one was written.
        """
        try:
            async with self._pool.connection() as connection:
                yield connection
        except psycopg.Error as error:
            failure = failure_of(error)
            if failure is error:
                raise
            raise failure from error

    def tenant(
        self, caller: Caller, *, keep_plans: bool = False, read_only: bool = False
    ) -> AbstractAsyncContextManager[Transaction]:
        """A transaction of a caller, `bound` to their firm and to them.

        The key of a caller who has one is checked by what binds it. When it does not lead to them, or they may not come
        in, the server runs none of the caller's own statements.

        Args:
            caller: whose it is.
            keep_plans, read_only: as for `bound`.

        Raises:
            NotSignedIn: the caller's key does not admit them; nothing was read or written.
            DatabaseUnavailable, DatabaseBusy, LostRace, OutcomeUnknown: as `bound` does.
        """
        bound = self.bound(
            caller.organization_id, caller.user_id, caller.key, keep_plans=keep_plans, read_only=read_only
        )
        return bound if caller.key is None else self._admitting(bound, caller.key)

    @asynccontextmanager
    async def _admitting(self, bound: AbstractAsyncContextManager[Transaction], key: Key) -> AsyncIterator[Transaction]:
        async with bound as transaction:
            try:
                yield transaction
            except NorthError:
                await transaction.binding.fetchone()  # whom nobody admits is told nothing else
                raise
            finally:
                key.admitted = key.admitted or transaction.binding.pgresult is not None
        if transaction.binding.pgresult is None:
            raise NotSignedIn
        key.admitted = True

    @asynccontextmanager
    async def bound(
        self,
        organization_id: UUID | None,
        user_id: UUID | None,
        key: Key | None = None,
        *,
        keep_plans: bool = False,
        read_only: bool = False,
    ) -> AsyncIterator[Transaction]:
        """A transaction bound to a firm and a lawyer: BEGIN, bind, the caller's statements, COMMIT, pipelined.

        A block that only queues statements costs one round trip, at its end. One that may lose a race stands in a
        function that is `retried`.

        Args:
            organization_id: the firm.
            user_id: the lawyer.
            key: what has to lead to that lawyer, or the transaction fails; None where it is known who they are.
            keep_plans: whether the plans of its statements are kept whatever they are asked. That suits a statement
                whose best plan is always the same, where the server may keep plans at all.
            read_only: whether the server lets it change nothing. Then there is no BEGIN and no COMMIT: what is sent in
                one pipeline is a transaction by itself, and ends with it.

        Raises:
            OutcomeUnknown: the connection broke while it committed what it had written.
            DatabaseUnavailable, DatabaseBusy, LostRace: as `connection` does; nothing was written.
        """
        committing = False
        try:
            # Not connection.transaction(), which in a pipeline waits for its BEGIN and for its COMMIT. What raises here
            # leaves the transaction open, and the pool's connection rolls it back.
            async with self.connection() as connection, connection.pipeline() as pipeline:
                transaction = Transaction(connection, organization_id, user_id)
                if not read_only:
                    with pipeline.gathered():
                        await transaction.send("tenant.begin")
                await transaction.bind(key, keep_plans=keep_plans, read_only=read_only)
                yield transaction
                committing = transaction.has_written
                if not read_only:
                    with pipeline.gathered():
                        await transaction.send("tenant.commit")
        except DatabaseUnavailable as error:
            if committing and lost_contact(error.__cause__):
                raise OutcomeUnknown from error.__cause__
            raise

    @retried
    async def admit(self, kind: str, key_hash: bytes) -> tuple[Row, Row] | None:
        """What a key leads to, and the user behind it, in one round trip: the key itself binds the transaction.

        Returns:
            The rows of the key and of the user; None when there is no such key, or its user may not come in.
        """
        async with self.connection() as connection, connection.pipeline():
            transaction = Transaction(connection, None, None)
            found = await transaction.send("access.bind_by_key", kind=kind, key_hash=key_hash)
            user = await transaction.send("access.bound_user")
        key_row, user_row = await found.fetchone(), await user.fetchone()
        return (key_row, user_row) if key_row and user_row else None

    @retried
    async def lookup(self, name: str, /, **parameters: Any) -> list[Row]:
        """Run one statement on the lookup table, outside any firm."""
        async with self.connection() as connection:
            return await (await connection.execute(statement(name).encode(), parameters)).fetchall()
