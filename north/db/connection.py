"""One connection to Postgres: how it is made, how long it is waited for, and what its failures mean.

Nothing hangs for ever: making a connection, waiting for the server's answer, a statement on the server and a lock there
each have a limit, and a connection that the server has closed meanwhile is noticed before it is used.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncConnection, AsyncPipeline, errors
from psycopg._preparing import Key, Prepare, PrepareManager
from psycopg._queries import PostgresQuery
from psycopg.abc import PQGen
from psycopg.generators import send
from psycopg.pq.abc import PGconn
from psycopg.rows import dict_row

from north.db.races import LostRace
from north.db.statements import statement
from north.db.vectors import send_arrays_as_vectors
from north.errors import (
    DatabaseBusy,
    DatabaseFull,
    DatabaseReadOnly,
    DatabaseTooSlow,
    DatabaseUnavailable,
    NorthError,
    NotSignedIn,
)

Result = TypeVar("Result")

send_arrays_as_vectors()

CONNECT_SECONDS = 5
"""How long making a connection may take."""
ANSWER_SECONDS = 30.0
"""How long the server may be silent; longer than a statement may take, so that the server speaks first."""
STATEMENT_SECONDS = 20
"""How long a statement may take on the server."""
LOCK_SECONDS = 5
"""How long a statement waits for somebody else's lock."""
IDLE_SECONDS = 60
"""After how long the server ends a transaction in which nothing is asked: North's end of it is gone."""
NETWORK: dict[str, Any] = {
    "connect_timeout": CONNECT_SECONDS,
    # A machine that vanished without a word is noticed in half a minute, whether it is being told something or not.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
"""Parameters of libpq for every connection."""
NOBODY_IS_ADMITTED = "NA401"
"""What the server says of a transaction whose key admits nobody: the code of `north_admit`'s error."""


class ClosedPipeline(AsyncPipeline):
    """A pipeline with whose end nothing more is sent, and in which statements can be gathered.

    The driver's own asks for a flush after its Sync, which flushes by itself. PgBouncer gives the client a server
    connection for it, and waits for the answer after which that is free again. None comes: the connection is lost to
    everybody else for as long as the client asks nothing more.
    """

    _gathering = False

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """What is sent in this block leaves with what is sent after it: the server need not wake up for it alone."""
        self._gathering = True
        try:
            yield
        finally:
            self._gathering = False

    def _communicate_gen(self) -> PQGen[None]:
        if self._gathering:
            return
        while len(self.command_queue) > 1:  # the driver sends one at a time
            self.command_queue.popleft()()
        yield from super()._communicate_gen()

    def _exit_gen(self) -> PQGen[None]:
        try:
            self._enqueue_sync()
            yield from self._communicate_gen()
            yield from send(self.pgconn)  # what did not fit into the socket's buffer yet
        finally:
            yield from self._fetch_gen(flush=False)


class KeptPlans(PrepareManager):
    """Which statements' plans the server keeps on a connection.

    The driver's own looks at what came of a statement only if it is the first time that it sees it. In a pipeline that
    fails, the server passes over a statement that was to be prepared by then: the driver took it for prepared, and
    everybody's next use of it on that connection failed.
    """

    def maybe_add_to_cache(self, query: PostgresQuery, prep: Prepare, name: bytes) -> Key | None:
        """As the driver's, which forgets a statement of which the result says that it failed."""
        added = super().maybe_add_to_cache(query, prep, name)
        return self.key(query) if prep is Prepare.SHOULD else added


class ImpatientConnection(AsyncConnection[Any]):
    """A connection that is closed when the server does not answer: `ANSWER_SECONDS` a round trip, whatever it is."""

    def __init__(self, pgconn: PGconn) -> None:
        super().__init__(pgconn)
        self._prepared = KeptPlans()

    async def wait(
        self,
        gen: PQGen[Result],
        interval: float = 0.1,
        timeout: float | None = None,  # noqa: ASYNC109 - the driver's own signature
    ) -> Result:
        """Wait for the server, as the driver does; at the limit, what the server does is unknown for good."""
        try:
            return await super().wait(gen, interval, timeout or ANSWER_SECONDS)
        except errors._WaitTimeout:  # an OperationalError that has no public name
            self.pgconn.finish()
            raise

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[ClosedPipeline]:
        """As the driver's, with nothing sent after its end."""
        if self._pipeline is None:
            self._pipeline = ClosedPipeline(self)
        async with super().pipeline() as pipeline:
            assert isinstance(pipeline, ClosedPipeline)
            yield pipeline


@dataclass(frozen=True, slots=True)
class Server:
    """What answers on a new connection: its time, and whether it is one process, with no pooler between."""

    now: datetime
    direct: bool


async def set_limits(connection: AsyncConnection[Any]) -> Server:
    """Give a connection its limits on the server, unless a pooler stands between.

    A pooler answers the start of a connection itself, with a process id of its own making, and may give every
    transaction to another server process: what is set on one would bleed into others' transactions.
    """
    async with connection.cursor(row_factory=dict_row) as cursor:
        row = await (await cursor.execute(statement("tenant.server").encode())).fetchone()
        assert row is not None
        server = Server(row["now"], direct=row["pid"] == connection.info.backend_pid)
        if not server.direct:
            return server
        limits = {"statement": STATEMENT_SECONDS, "lock": LOCK_SECONDS, "idle": IDLE_SECONDS}
        await cursor.execute(
            statement("tenant.limits").encode(), {name: f"{seconds}s" for name, seconds in limits.items()}
        )
    return server


def is_open(connection: AsyncConnection[Any]) -> bool:
    """Whether nothing has come from the server since it was last asked; no round trip.

    What comes unasked is its farewell, or the end of the connection.
    """
    if connection.closed:
        return False
    watched = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, connection.fileno())
    try:
        watched.recv(1, socket.MSG_PEEK)  # the driver's sockets do not block
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        watched.detach()
    return False


def failure_of(error: psycopg.Error) -> NorthError | LostRace | psycopg.Error:
    """What a failure means for whoever asked; a mistake in a statement stays what it is."""
    match error:
        case errors.UniqueViolation():
            return LostRace(error.diag.constraint_name)
        case errors.SerializationFailure() | errors.DeadlockDetected():
            return LostRace(None)
        case errors.LockNotAvailable():
            return DatabaseBusy()
        case errors.QueryCanceled() | errors._WaitTimeout():
            return DatabaseTooSlow()
        case errors.DiskFull():
            return DatabaseFull()
        case errors.ReadOnlySqlTransaction():
            return DatabaseReadOnly()
        case psycopg.Error(sqlstate=code) if code == NOBODY_IS_ADMITTED:
            return NotSignedIn()
        case psycopg.OperationalError() | errors.IdleInTransactionSessionTimeout() | errors.TransactionTimeout():
            return DatabaseUnavailable()
    return DatabaseUnavailable() if lost_contact(error) else error


def lost_contact(error: BaseException | None) -> bool:
    """Whether it is the connection that broke, so that nobody said what became of the statements on it."""
    if not isinstance(error, psycopg.Error):
        return False
    if error.sqlstate is None:  # it does not come from the server; these three come of what it was to be asked
        return not isinstance(error, psycopg.ProgrammingError | psycopg.DataError | psycopg.NotSupportedError)
    return error.sqlstate.startswith("57P")  # the server shuts down
