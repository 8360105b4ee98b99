"""The embedded Postgres: `north up` brings its own server, one for each data folder.

    data_dir/credentials.json   generated passwords and the secret key, for their owner alone
    data_dir/postgres/          PGDATA, with the server's socket inside (see `embedded_process` for long paths)
    data_dir/postgres.log       what the server says; never what it is asked

A server outlives the process that launched it: Ctrl-C in the terminal does not reach it, and neither does the
death of North. Every process that uses it holds a lease on the folder, which the operating system takes back
when that process ends, however it ends. `stop` gives the lease up, and the last one out shuts the server down.

Synchronous, to be called before an event loop runs. Two processes that start at once share one server.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

import psycopg

from north.db.embedded_account import Account, account_for
from north.db.embedded_folder import (
    Credentials,
    Folder,
    explained,
    is_initialised,
    make_credentials,
    read_credentials,
    through_the_door,
    try_lock,
)
from north.db.embedded_process import (
    STOP_SECONDS,
    Postmaster,
    failure,
    find_postmaster,
    initialise,
    launch,
    shut_down,
)
from north.db.signals import raised_when_terminated, signals_held
from north.errors import DataFolderUnusable

__all__ = ["Credentials", "EmbeddedServer", "embedded", "read_credentials", "running", "server_url", "start"]

START_SECONDS = 60.0


@dataclass(frozen=True)
class EmbeddedServer:
    """A running embedded Postgres, and this process's lease on it.

    `owned` tells that no other process used the server when this one came: it launched it, or took over one
    whose North had died. `socket_dir` is None on Windows, where the server listens on 127.0.0.1.
    """

    data_dir: Path
    pid: int
    port: int
    socket_dir: Path | None
    owned: bool
    _password: str = field(repr=False)
    _lease: BinaryIO = field(repr=False)
    _process: subprocess.Popen[bytes] | None = field(repr=False)

    def superuser_url(self, database: str = "postgres") -> str:
        """A libpq URL, password included, for the superuser `postgres`."""
        return server_url(self, "postgres", self._password, database)

    @property
    def alive(self) -> bool:
        """Whether a server runs on the folder now, be it this one or one that was started after it had died."""
        if self._process is not None and self._process.poll() is None:
            return True
        return find_postmaster(Folder(self.data_dir).postgres) is not None

    def release(self) -> None:
        """Give up the lease and nothing else: the server has died, or others look after it."""
        self._lease.close()

    def stop(self) -> None:
        """Give up the lease and, when no other process holds one, shut the server down (20 s, then at once).

        Safe to call twice, and for a server that has died meanwhile.
        """
        folder = Folder(self.data_dir)
        with explained(self.data_dir), through_the_door(folder):
            self._lease.close()
            if self._process is not None:
                self._process.poll()  # if it has died by itself, let the system forget it
            alone = try_lock(folder.users, shared=False)
            if alone is None:
                return
            with alone:
                postmaster = find_postmaster(folder.postgres)
                if postmaster is not None:  # after a crash, perhaps one that another process has launched
                    shut_down(folder, postmaster, self._process if postmaster.pid == self.pid else None)
                elif self._process is not None:
                    self._process.wait(STOP_SECONDS)  # it was dying a moment ago, which takes its memory a moment more


def start(data_dir: Path) -> EmbeddedServer:
    """Start the server of a data folder, or join the one that runs; return when it answers.

    Makes the folder and the database when they are missing. Raises `DataFolderTooNew`, `DataFolderUnusable` or
    `Misconfigured`, each saying what to do.
    """
    with explained(data_dir):
        folder = Folder(data_dir.expanduser().resolve())
        folder.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with through_the_door(folder):
            return _join(folder) or _begin(folder)


def running(data_dir: Path) -> EmbeddedServer | None:
    """Join the server of a data folder if one runs, for a command beside `north up`; call `stop` when done.

    Makes nothing. Raises as `start` does.
    """
    with explained(data_dir):
        folder = Folder(data_dir.expanduser().resolve())
        if not folder.postgres.is_dir():
            return None
        with through_the_door(folder):
            return _join(folder)


@contextmanager
def embedded(data_dir: Path) -> Iterator[EmbeddedServer]:
    """The server of a data folder for the length of a command: joined if it runs, else started and stopped."""
    with raised_when_terminated():
        server = start(data_dir)
        try:
            yield server
        finally:
            server.stop()


def server_url(server: EmbeddedServer, role: str, password: str, database: str) -> str:
    """A libpq URL for a role; psycopg takes it as it is, SQLAlchemy with `postgresql+psycopg` for its scheme.

    The client answers to SCRAM only, so a process that poses as the server never gets to see a password.
    """
    login = f"{quote(role, safe='')}:{quote(password, safe='')}"
    name = quote(database, safe="")
    if server.socket_dir is None:
        return f"postgresql://{login}@127.0.0.1:{server.port}/{name}?require_auth=scram-sha-256"
    host = quote(str(server.socket_dir), safe="/")
    return f"postgresql://{login}@/{name}?host={host}&port={server.port}&require_auth=scram-sha-256"


def _join(folder: Folder) -> EmbeddedServer | None:
    if not is_initialised(folder) or find_postmaster(folder.postgres) is None:
        return None
    password = read_credentials(folder.path).postgres
    return _when_ready(folder, password, None, time.monotonic() + START_SECONDS)


def _begin(folder: Folder) -> EmbeddedServer:
    account = account_for(folder)
    if is_initialised(folder):
        password = read_credentials(folder.path).postgres
    else:
        exist = folder.credentials.exists()  # an earlier start was cut off before the database was complete
        password = (read_credentials(folder.path) if exist else make_credentials(folder)).postgres
        initialise(folder, account, password)
    deadline = time.monotonic() + START_SECONDS
    while True:
        said_before = folder.log.stat().st_size if folder.log.exists() else 0
        server = _launched(folder, account, password, deadline)
        if server is not None:
            return server
        said = _log_since(folder, said_before)
        # The sessions of a server that was killed end within moments; until then Postgres protects the data.
        if "shared memory block" not in said or time.monotonic() > deadline:
            raise failure(folder, f"Postgres did not start (see {folder.log.name})", said)
        time.sleep(0.1)


def _launched(folder: Folder, account: Account | None, password: str, deadline: float) -> EmbeddedServer | None:
    """Launch the server and wait until it answers; None when it ends before that.

    It is ended when the waiting fails or is broken off, in whichever moment that is. One that is only slow, because it
    recovers from a crash, goes on, so that the next start finds it further.
    """
    with signals_held() as release:
        process = launch(folder, account)
        try:
            release()
            return _when_ready(folder, password, process, deadline)
        except BaseException:
            if process is not None:
                process.send_signal(signal.SIGINT)
                process.wait()
            raise


def _log_since(folder: Folder, position: int) -> str:
    with folder.log.open("rb") as log:
        log.seek(position if position <= folder.log.stat().st_size else 0)  # else launch began a new log
        return log.read().decode(errors="replace")


def _when_ready(
    folder: Folder, password: str, process: subprocess.Popen[bytes] | None, deadline: float
) -> EmbeddedServer | None:
    """Wait until the server answers, and take a lease; None when it ends before that.

    `process` is the server when it was launched just now.
    """
    while time.monotonic() < deadline:
        postmaster = find_postmaster(folder.postgres)
        if (postmaster is None) if process is None else (process.poll() is not None):
            return None
        if postmaster is not None and postmaster.ready and _answers(folder, postmaster, password):
            lease, owned = _take_lease(folder)
            where = (postmaster.pid, postmaster.port, postmaster.socket_dir)
            return EmbeddedServer(folder.path, *where, owned, password, lease, process)
        time.sleep(0.02)
    waited = f"its Postgres was not ready within {START_SECONDS:.0f} seconds. Start again to wait longer"
    raise DataFolderUnusable(path=folder.path, reason=f"{waited}, or see {folder.log.name}.")


def _answers(folder: Folder, postmaster: Postmaster, password: str) -> bool:
    try:
        psycopg.connect(
            host=str(postmaster.socket_dir or "127.0.0.1"),
            port=postmaster.port,
            user="postgres",
            password=password,
            dbname="postgres",
            require_auth="scram-sha-256",
            connect_timeout=5,
        ).close()
    except psycopg.OperationalError as error:
        if "password authentication failed" in str(error):
            reason = "credentials.json does not belong to its database. Put the right one back from a backup."
            raise DataFolderUnusable(path=folder.path, reason=reason) from error
        return False
    return True


def _take_lease(folder: Folder) -> tuple[BinaryIO, bool]:
    """A lease on the folder, and whether nobody else holds one. Call it behind the door."""
    alone = try_lock(folder.users, shared=False)
    if alone is not None:
        alone.close()
    lease = try_lock(folder.users, shared=True)
    if lease is None:
        raise DataFolderUnusable(path=folder.path, reason=f"another program holds {folder.users.name}.")
    return lease, alone is not None
