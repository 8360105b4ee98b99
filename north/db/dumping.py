"""A whole database as one file, and back: by `pg_dump` and `pg_restore`, whose custom format it is.

Both work as an administrator whom row-level security does not hold. As anybody else `pg_dump` stops with an error; it
never leaves out a row. Grants, policies and owners are in the file; roles are the server's, and are made when missing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from north.db.embedded_account import SHIPPED_PROGRAMS
from north.db.migrate import SchemaState, look_at, migrate, prepare_roles
from north.errors import DatabaseNotEmpty, DumpFailed, RestoreFailed

Tell = Callable[[str], None]
"""Is told what is being done, a line at a time."""

_VERSION = re.compile(r"\(PostgreSQL\) (\d+)")
_TABLE = re.compile(r"(?:dumping contents of|processing data for) table \"?(?:public\.)?(\w+)")
ERRORS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Passwords:
    """What the roles' passwords are to be after a restore; None leaves one as it is."""

    application: str | None
    scheduler: str | None


def dump(administrator_url: str, file: Path, tell: Tell) -> int:
    """Write the whole database to a new file, for its owner alone; as of one moment, while North serves.

    Args:
        administrator_url: Postgres as a role that row-level security does not hold.
        file: where to; it must not exist. Cut off, nothing of that name is left.
        tell: is told each table.

    Returns:
        The file's size in bytes.

    Raises:
        DumpFailed: with what is wrong; there is no file then.
        DatabaseUnavailable: it cannot be reached.
    """
    if file.exists():
        raise DumpFailed(reason=f"{file} exists already; choose another name, or move it away")
    if not file.absolute().parent.is_dir():
        raise DumpFailed(reason=f"there is no folder {file.absolute().parent}")
    source = look_at(administrator_url)
    program = _program("pg_dump", source.major, DumpFailed)
    partial = file.with_name(f"{file.name}.partial")
    try:
        options = ["--format=custom", "--verbose", f"--file={partial}"]
        _run(program, options, administrator_url, tell, DumpFailed)
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
    return file.stat().st_size


def restore(administrator_url: str, file: Path, passwords: Passwords, tell: Tell) -> SchemaState:
    """Fill an empty database from a file, whole or not at all, and bring its schema up to date.

    Args:
        administrator_url: Postgres as an administrator; of an empty database.
        file: what `dump` has written.
        passwords: of the roles, which are made where they are missing.
        tell: is told each table.

    Raises:
        DatabaseNotEmpty: the database holds tables already. Nothing was changed.
        RestoreFailed: with what is wrong; the database is as empty as before.
        DatabaseTooNew: the file is of a newer North.
        DatabaseNotReady, DatabaseUnavailable: as `migrate` raises them.
    """
    if not file.is_file():
        raise RestoreFailed(reason=f"there is no file {file}")
    target = look_at(administrator_url)
    if target.has_tables:
        raise DatabaseNotEmpty(database=target.database)
    program = _program("pg_restore", target.major, RestoreFailed)
    prepare_roles(administrator_url, passwords.application, passwords.scheduler)
    # Comments are the extension's own, and its owner's to make.
    options = ["--single-transaction", "--exit-on-error", "--no-comments", "--verbose", str(file)]
    _run(program, options, administrator_url, tell, RestoreFailed)
    return migrate(
        administrator_url, application_password=passwords.application, scheduler_password=passwords.scheduler
    )


def _program(name: str, server_major: int, failure: type[DumpFailed | RestoreFailed]) -> str:
    """The program on the PATH or of the embedded server, whichever is of the server's version or the next after it.

    Raises:
        DumpFailed, RestoreFailed: there is none, or each is too old.
    """
    found = {}
    for path in (SHIPPED_PROGRAMS / name, SHIPPED_PROGRAMS / f"{name}.exe", shutil.which(name)):
        if path and Path(path).exists() and (major := _major(str(path))):
            found[major] = str(path)
    fitting = [major for major in found if major >= server_major]
    if not fitting:
        known = ", ".join(map(str, sorted(found))) or "none"
        raise failure(
            reason=f"{name} of Postgres {server_major} is needed, and there is {known}. Install the client programs "
            f"of Postgres {server_major}, and put them on the PATH"
        )
    return found[min(fitting)]


def _major(program: str) -> int | None:
    said = subprocess.run([program, "--version"], check=False, capture_output=True, text=True)  # noqa: S603 - found above
    version = _VERSION.search(said.stdout)
    return int(version[1]) if version else None


def _run(program: str, options: Sequence[str], url: str, tell: Tell, failure: type[DumpFailed | RestoreFailed]) -> None:
    """Run a program on the database of `url`; the password is not among the arguments, which others can read."""
    named = conninfo_to_dict(url)
    environment = os.environ | {"LC_ALL": "C"}
    if password := named.pop("password", None):
        environment["PGPASSWORD"] = str(password)
    database = make_conninfo("", **named)
    command = [program, f"--dbname={database}", *options]
    read: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "errors": "replace"}
    if os.name == "posix":
        read["umask"] = 0o077
    with subprocess.Popen(command, env=environment, **read) as process:  # noqa: S603 - found by _program
        assert process.stderr is not None
        errors = list(_errors(process.stderr, tell))
    if process.returncode:
        raise failure(reason="; ".join(errors[:ERRORS_SHOWN]) or f"{program} ended with {process.returncode}")


def _errors(lines: Iterable[str], tell: Tell) -> Iterator[str]:
    """What the program calls an error, without the values that its details name; tables are told."""
    for line in lines:
        if table := _TABLE.search(line):
            tell(table[1])
        elif "error: " in line:
            yield line.partition("error: ")[2].strip()
