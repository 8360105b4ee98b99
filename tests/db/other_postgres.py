"""A Postgres that North did not start: it listens on TCP and wants passwords."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from north.db.embedded_account import account_for, own_folder, programs_for, running_as
from north.db.embedded_folder import Folder
from north.db.embedded_process import initialise
from tests.commands import free_port

ROLES = ("scheduler_role", "north_app", "north_owner", "firm_it")
PASSWORD = "p@ss/w:rd %41"


@dataclass(frozen=True)
class OtherPostgres:
    """The server, with one empty database named `firm`."""

    port: int
    programs: Path

    def url(self, role: str, password: str = PASSWORD, database: str = "firm") -> str:
        return f"postgresql://{role}:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}"

    def run(self, *statements: str, database: str = "firm") -> None:
        """Run statements as the administrator."""
        with psycopg.connect(self.url("postgres", database=database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def schema(self) -> str:
        """The whole catalog of the database, as pg_dump writes it."""
        command = [str(self.programs / "pg_dump"), "--schema-only", "--restrict-key=north", self.url("postgres")]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def empty(self) -> None:
        """Drop what a test has made, and make the empty database again."""
        self.run("drop database if exists firm with (force)", database="postgres")
        for role in ROLES:
            self.run(f"drop role if exists {role}", database="postgres")
        self.run("create database firm", database="postgres")


@contextmanager
def other_postgres(path: Path) -> Iterator[OtherPostgres]:
    """Make and start the server in a new folder; it ends with the block."""
    folder = Folder(path)
    account = account_for(folder)
    initialise(folder, account, PASSWORD)
    programs, port = programs_for(account), free_port()
    options = ["-c", "listen_addresses=127.0.0.1", "-c", f"port={port}", "-c", "unix_socket_directories="]
    command = [str(programs / "postgres"), "-D", own_folder(folder.postgres, account), *options, "-c", "fsync=off"]
    arguments = running_as(account) | {"stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=folder.postgres, **arguments) as process:
        assert process.stderr is not None
        try:
            said = ""
            while "ready to accept connections" not in said:
                line = process.stderr.readline()
                assert line, f"Postgres did not start: {said}"
                said += line
            yield OtherPostgres(port, programs)
        finally:
            process.send_signal(2)  # a fast shutdown
            process.communicate()


def quoted(password: str) -> str:
    """A password as a literal for a statement."""
    return sql.Literal(password).as_string(None)
