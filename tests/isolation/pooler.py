"""PgBouncer in transaction mode between North and its Postgres, with one server connection for everybody."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from north.db.embedded import EmbeddedServer, read_credentials
from north.db.embedded_account import account_for, running_as
from north.db.embedded_folder import Folder
from scripts.system_programs import pgbouncer
from tests.commands import free_port
from tests.conftest import TestDatabase

START_SECONDS = 20.0
CLIENTS = 200
CONFIGURATION = """\
[databases]
{name} = host=/proc/self/cwd port={server_port} dbname={name}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {size}
max_client_conn = {clients}
query_wait_timeout = 20
server_login_retry = 0.2
logfile = {folder}/pgbouncer.log
"""


@contextmanager
def pooled(server: EmbeddedServer, database: TestDatabase, size: int = 1) -> Iterator[TestDatabase]:
    """The same database by way of PgBouncer, of which each role has `size` connections to Postgres."""
    program = pgbouncer()
    assert program is not None and server.socket_dir is not None
    port, account = free_port(), account_for(Folder(server.data_dir))
    with tempfile.TemporaryDirectory(prefix="north-pooler-") as made:
        folder = Path(made)
        _configure(server, database, folder, port, size)
        if account:  # it does not run as root either
            for path in (folder, *folder.iterdir()):
                os.chown(path, account.uid, account.gid)
        # Inside the socket's folder, which may lie where the account cannot walk to.
        arguments: dict[str, Any] = running_as(account) | {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        command = [str(program), "-q", str(folder / "pgbouncer.ini")]
        with subprocess.Popen(command, cwd=server.socket_dir, **arguments) as process:
            try:
                through = replace(
                    database,
                    application_url=_through(database.application_url, port),
                    scheduler_url=_through(database.scheduler_url, port),
                )
                _wait(process, through.application_url, folder)
                yield through
            finally:
                process.terminate()


def _configure(server: EmbeddedServer, database: TestDatabase, folder: Path, port: int, size: int) -> None:
    name = conninfo_to_dict(database.application_url)["dbname"]
    configuration = CONFIGURATION.format(
        name=name,
        server_port=server.port,
        port=port,
        folder=folder,
        size=size,
        clients=CLIENTS,
    )
    (folder / "pgbouncer.ini").write_text(configuration)
    passwords = read_credentials(server.data_dir)
    users = {"north_app": passwords.north_app, "scheduler_role": passwords.scheduler_role}
    (folder / "users").write_text("".join(f'"{name}" "{password}"\n' for name, password in users.items()))


def _through(url: str, port: int) -> str:
    found = conninfo_to_dict(url)
    login = f"{found['user']}:{quote(str(found['password']), safe='')}"
    return f"postgresql://{login}@127.0.0.1:{port}/{found['dbname']}"


def _wait(process: subprocess.Popen[bytes], url: str, folder: Path) -> None:
    """Until it answers."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
            return
        except psycopg.OperationalError as error:
            log = folder / "pgbouncer.log"
            said = log.read_text() if log.exists() else ""
            assert process.poll() is None and time.monotonic() < deadline, f"PgBouncer: {error}\n{said}"
            time.sleep(0.05)
