"""A disk of a few megabytes, on which a part of a database can be put, or its write-ahead log."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict

from north.db.embedded import EmbeddedServer
from tests.conftest import TestDatabase

SIZE = "16m"
LOG_SIZE = "96m"
"""Six files of the log; a new database has one or two."""


@dataclass
class SmallDisk:
    """The disk as a tablespace `small`, and the database of which a table is on it."""

    server: EmbeddedServer
    database: str = ""

    def under(self, database: TestDatabase) -> TestDatabase:
        """The database, whose events, of which each change writes one, are on the disk from now on."""
        self.database = str(conninfo_to_dict(database.superuser_url)["dbname"])
        with psycopg.connect(database.superuser_url, autocommit=True) as connection:
            connection.execute("alter table product_event set tablespace small")
        return database

    def fill(self) -> None:
        """Leave no room."""
        with psycopg.connect(self.server.superuser_url(self.database), autocommit=True) as connection:
            connection.execute("create table filler (text text) tablespace small")
            for length in (1_000_000, 8_000, 100):
                with suppress(errors.DiskFull):
                    while True:
                        connection.execute("alter table filler alter column text set storage external")
                        connection.execute("insert into filler values (repeat('x', %s))", (length,))

    def empty(self) -> None:
        """Make room."""
        with psycopg.connect(self.server.superuser_url(self.database), autocommit=True) as connection:
            connection.execute("drop table filler")
            connection.execute("checkpoint")

    def _run(self, statement: sql.Composed | sql.SQL) -> None:
        with psycopg.connect(self.server.superuser_url(), autocommit=True) as connection:
            connection.execute(statement)


@dataclass
class SmallLog:
    """The write-ahead log of a Postgres, alone on the disk."""

    folder: Path

    def fill(self) -> None:
        """Leave no room for another file of the log; the present one has some left."""
        with (self.folder / "filler").open("wb") as filler, suppress(OSError):
            while True:
                filler.write(bytes(1_000_000))
                filler.flush()

    def empty(self) -> None:
        """Make room."""
        (self.folder / "filler").unlink()


def small_disk(server: EmbeddedServer) -> Iterator[SmallDisk]:
    """Mount it, where this machine lets us; otherwise the test is skipped."""
    with tempfile.TemporaryDirectory(prefix="north-disk-") as folder, mounted(Path(folder), SIZE):
        Path(folder).chmod(0o755)  # the server may run as another user
        yield from _tablespace(server, Path(folder))


@contextmanager
def small_log(data_dir: Path) -> Iterator[SmallLog]:
    """Put the log of a Postgres that does not run on the disk, for the block."""
    log, owner = data_dir / "postgres" / "pg_wal", (data_dir / "postgres").stat()
    with tempfile.TemporaryDirectory(prefix="north-log-") as aside:
        shutil.copytree(log, aside, dirs_exist_ok=True)
        with mounted(log, LOG_SIZE):
            shutil.copytree(aside, log, dirs_exist_ok=True)
            for path in (log, *log.rglob("*")):
                shutil.chown(path, owner.st_uid, owner.st_gid)
            log.chmod(0o700)
            yield SmallLog(log)


@contextmanager
def mounted(place: Path, size: str) -> Iterator[None]:
    """A disk at `place`, where this machine lets us mount one; otherwise the test is skipped."""
    mount = shutil.which("mount")
    command = [str(mount), "-t", "tmpfs", "-o", f"size={size}", "north-small-disk", str(place)]
    if sys.platform != "linux" or mount is None or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("needs a machine on which a small disk can be mounted")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def _tablespace(server: EmbeddedServer, place: Path) -> Iterator[SmallDisk]:
    owner = (server.data_dir / "postgres").stat()
    root = place / "tablespace"
    root.mkdir(mode=0o700)
    shutil.chown(root, owner.st_uid, owner.st_gid)
    disk = SmallDisk(server)
    disk._run(sql.SQL("create tablespace small location {}").format(sql.Literal(str(root))))
    try:
        yield disk
    finally:
        if disk.database:
            disk._run(sql.SQL("drop database {} with (force)").format(sql.Identifier(disk.database)))
        disk._run(sql.SQL("drop tablespace small"))
