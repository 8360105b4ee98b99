"""What tests ask of an embedded server, and of its process."""

from __future__ import annotations

from pathlib import Path

import psutil  # type: ignore[import-untyped]  # it ships no types
import psycopg

from north.db.embedded import EmbeddedServer
from north.db.embedded_folder import Folder
from north.db.embedded_process import find_postmaster


def ask(server: EmbeddedServer, query: str) -> object:
    with psycopg.connect(server.superuser_url()) as connection:
        row = connection.execute(query.encode()).fetchone()
    return None if row is None else row[0]


def ended(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def ready_pid(data_dir: Path) -> int | None:
    """The process id of the server that takes connections on a data folder now."""
    found = find_postmaster(Folder(data_dir).postgres)
    return found.pid if found and found.ready else None
