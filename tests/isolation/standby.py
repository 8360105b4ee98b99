"""A hot standby of an embedded server: copied by pg_basebackup, streaming, read-only, under the same roles."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

from north.db.embedded import EmbeddedServer, read_credentials
from north.db.embedded_account import account_for, programs_for, running_as
from north.db.embedded_folder import Folder
from tests.conftest import TestDatabase

SECONDS = 60.0
LOG = "standby.log"


@dataclass(frozen=True)
class Standby:
    """The same databases, to read."""

    primary: EmbeddedServer
    socket_dir: Path

    def url(self, url: str) -> str:
        """What a URL of the primary's is on the standby."""
        here, there = (quote(str(path), safe="/") for path in (self.primary.socket_dir, self.socket_dir))
        return url.replace(f"host={here}&", f"host={there}&")

    def of(self, database: TestDatabase) -> TestDatabase:
        """The standby's copy of a database."""
        return TestDatabase(**{name: self.url(url) for name, url in asdict(database).items()})

    def wait(self, database: TestDatabase) -> None:
        """Until it has everything that the primary has now."""
        with psycopg.connect(database.superuser_url, autocommit=True) as primary:
            (position,) = primary.execute("select pg_current_wal_lsn()").fetchone() or (None,)
        deadline = time.monotonic() + SECONDS
        with psycopg.connect(self.of(database).superuser_url, autocommit=True) as standby:
            replayed = "select pg_last_wal_replay_lsn() >= %s::pg_lsn"
            while standby.execute(replayed, (position,)).fetchone() != (True,):
                assert time.monotonic() < deadline, "the standby does not follow"
                time.sleep(0.02)


@contextmanager
def standby_of(server: EmbeddedServer) -> Iterator[Standby]:
    """Make and start the standby; it ends with the block."""
    account = account_for(Folder(server.data_dir))
    programs = programs_for(account)
    arguments = running_as(account)
    arguments["env"] = arguments["env"] | {"PGPASSWORD": read_credentials(server.data_dir).postgres}
    with tempfile.TemporaryDirectory(prefix="north-standby-") as made:
        if account:
            os.chown(made, account.uid, account.gid)
        data = Path(made) / "data"
        # The primary's working folder is where its socket is, which may lie where the account cannot walk to.
        primary = f"host=/proc/{server.pid}/cwd port={server.port} user=postgres"
        copy = [str(programs / "pg_basebackup"), "--pgdata", str(data), "--write-recovery-conf", "--checkpoint=fast"]
        copy += ["--wal-method=stream", f"--dbname={primary}"]
        copied = subprocess.run(copy, check=False, cwd="/", capture_output=True, text=True, **arguments)
        assert copied.returncode == 0, copied.stderr
        for lock in data.glob(".s.PGSQL.*"):  # the primary's, whose socket stands among its data
            lock.unlink()
        command = [str(programs / "postgres"), "-D", str(data), "-c", f"port={server.port}"]
        command += ["-c", "listen_addresses=", "-c", "unix_socket_directories=."]
        with _running(command, data, arguments) as process:
            standby = Standby(server, data)
            _wait(process, standby.url(server.superuser_url()), data)
            yield standby


@contextmanager
def _running(command: list[str], data: Path, arguments: dict[str, Any]) -> Iterator[subprocess.Popen[bytes]]:
    with (data / LOG).open("wb") as log:
        process = subprocess.Popen(command, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, **arguments)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)  # a fast shutdown
            process.wait()


def _wait(process: subprocess.Popen[bytes], url: str, data: Path) -> None:
    """Until it answers."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError as error:
            running = process.poll() is None and time.monotonic() < deadline
            assert running, f"{error}\n{(data / LOG).read_text()}"
            time.sleep(0.05)
