"""Dumps a database with firms in it, restores it on a server that never saw North, and runs the isolation suite on it.

`make prove-restore`. The restored database is the template of every database that the tests ask for.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg

from north.db.dumping import Passwords, dump, restore
from north.db.embedded import EmbeddedServer, embedded, read_credentials
from north.db.migrate import ensure_database
from north.model import new_id
from tests.conftest import DATA_DIR_VARIABLE, TEMPLATE, TEMPLATE_VARIABLE, database_maker
from tests.isolation.rows import Owner, insert, rows_of, shared_row

FIRMS = 50


def fill(url: str) -> None:
    """Write the rows of firms of one lawyer each, whom no test knows."""
    with psycopg.connect(url) as connection:
        for owner in (Owner(new_id()) for _ in range(FIRMS)):
            for table, columns in rows_of(owner).items():
                insert(connection, table, columns)
            insert(connection, "agent_memory_candidate", shared_row(owner))
            key = {"kind": "firm", "key_hash": new_id().bytes, "firm_id": owner.organization_id}
            insert(connection, "lookup_key", key)


def restored(server: EmbeddedServer, file: Path) -> int:
    """Restore the file on this server, and run the isolation suite on it; the exit code."""
    credentials = read_credentials(server.data_dir)
    ensure_database(server.superuser_url(), TEMPLATE)
    passwords = Passwords(credentials.north_app, credentials.scheduler_role)
    state = restore(server.superuser_url(TEMPLATE), file, passwords, lambda table: None)
    print(f"Restored {FIRMS} firms, at revision {state.revision}.", flush=True)
    environment = os.environ | {TEMPLATE_VARIABLE: TEMPLATE, DATA_DIR_VARIABLE: str(server.data_dir)}
    suite = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(Path(__file__).parent)]
    return subprocess.run(suite, check=False, env=environment).returncode


def main() -> int:
    """The whole proof, on two servers of its own; the exit code."""
    with tempfile.TemporaryDirectory(prefix="north-restore-") as made:
        folder, file = Path(made), Path(made) / "north.dump"
        with embedded(folder / "from") as server:
            database = database_maker(server)()
            fill(database.superuser_url)
            size = dump(database.owner_url, file, lambda table: None)
            print(f"Dumped {FIRMS} firms, {size:,} bytes.", flush=True)
        with embedded(folder / "to") as server:
            return restored(server, file)


if __name__ == "__main__":
    sys.exit(main())
