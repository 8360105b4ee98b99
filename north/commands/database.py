"""Preparing and looking at the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from pydantic import SecretStr

from north.commands.options import DataDir, Json, plain_errors, say, settings_with, show
from north.commands.place import DATABASE, checked_url, place_of
from north.db.dumping import Passwords, Tell, dump, restore
from north.db.embedded import embedded, read_credentials
from north.db.migrate import ensure_database, migrate, password_of, schema_state
from north.errors import Misconfigured
from north.settings import Settings

DumpFile = Annotated[Path, typer.Argument(help="The file, such as north-2026-11-30.dump.", dir_okay=False)]

database_commands = typer.Typer(help="The database.", no_args_is_help=True)


@database_commands.command("migrate")
@plain_errors
def database_migrate(data_dir: DataDir = None, as_json: Json = False) -> None:
    """Prepare the database: extension, roles, passwords, schema. Safe to run again.

    With NORTH_OWNER_DATABASE_URL it prepares that Postgres; the passwords of north_app and scheduler_role are taken
    from NORTH_DATABASE_URL and NORTH_SCHEDULER_DATABASE_URL. Otherwise it prepares the embedded server's.
    """
    settings = settings_with(data_dir=data_dir)
    if settings.owner_database_url is None:
        if settings.database_url is not None:
            raise Misconfigured(reason="NORTH_OWNER_DATABASE_URL is not set; migrating needs an owner's URL")
        with place_of(settings) as place:  # joins or starts the embedded server, and migrates it
            state = schema_state(place.database_url)
    else:
        state = migrate(
            checked_url("NORTH_OWNER_DATABASE_URL", settings.owner_database_url),
            application_password=_password("NORTH_DATABASE_URL", settings.database_url),
            scheduler_password=_password("NORTH_SCHEDULER_DATABASE_URL", settings.scheduler_database_url),
        )
    say(as_json, f"The database is at revision {state.revision}.", {"revision": state.revision, "head": state.head})


@database_commands.command("status")
@plain_errors
def database_status(data_dir: DataDir = None, as_json: Json = False) -> None:
    """Say which revision the database has, and which this version of North needs."""
    settings = settings_with(data_dir=data_dir)
    with place_of(settings) as place:
        state = schema_state(place.database_url)
    found = state.revision or "none: run `north db migrate`"
    sentence = f"The database has revision {found}; this version of North needs {state.head}."
    say(as_json, sentence, {"revision": state.revision, "head": state.head, "current": state.current})
    if not state.current:
        raise typer.Exit(1)


def _password(name: str, url: SecretStr | None) -> str | None:
    return password_of(checked_url(name, url)) if url else None


@database_commands.command("dump")
@plain_errors
def database_dump(file: DumpFile, data_dir: DataDir = None, as_json: Json = False) -> None:
    """Write the whole database to a new file, while North serves.

    With NORTH_OWNER_DATABASE_URL it is that Postgres, as an administrator whom row-level security does not hold;
    otherwise the embedded server's. The secret key is not in the file: keep it too.
    """
    with _administrator(settings_with(data_dir=data_dir), make=False) as (url, _):
        size = dump(url, file, _tell("dumping"))
    said = f"Dumped the database to {file} ({size:,} bytes). Keep the secret key too: without it, nobody can log in."
    say(as_json, said, {"file": str(file), "bytes": size})


@database_commands.command("restore")
@plain_errors
def database_restore(file: DumpFile, data_dir: DataDir = None, as_json: Json = False) -> None:
    """Fill an empty database from a file that `north db dump` has written, whole or not at all.

    With NORTH_OWNER_DATABASE_URL it fills that database; otherwise that of the embedded server in a new data folder.
    It makes the roles that are missing, and brings the schema up to date.
    """
    with _administrator(settings_with(data_dir=data_dir), make=True) as (url, passwords):
        state = restore(url, file, passwords, _tell("restoring"))
    said = f"Restored {file}; the database is at revision {state.revision}. Run `north doctor` before you serve."
    say(as_json, said, {"file": str(file), "revision": state.revision, "head": state.head})


def _tell(doing: str) -> Tell:
    return lambda table: show(f"{doing} {table}", err=True)


@contextmanager
def _administrator(settings: Settings, *, make: bool) -> Iterator[tuple[str, Passwords]]:
    """The database as its administrator, and the passwords of its roles; with `make`, an empty one where there is none.

    Raises:
        Misconfigured: there is no administrator's URL, or no database in the data folder.
    """
    if settings.owner_database_url is not None:
        url = checked_url("NORTH_OWNER_DATABASE_URL", settings.owner_database_url)
        application = _password("NORTH_DATABASE_URL", settings.database_url)
        yield url, Passwords(application, _password("NORTH_SCHEDULER_DATABASE_URL", settings.scheduler_database_url))
        return
    if settings.database_url is not None:
        raise Misconfigured(reason="NORTH_OWNER_DATABASE_URL is not set; this needs an administrator's URL")
    if not make and not (settings.data_dir / "postgres").is_dir():
        raise Misconfigured(reason=f"there is no database in {settings.data_dir}; name the folder with --data-dir")
    with embedded(settings.data_dir) as server:
        if make:
            ensure_database(server.superuser_url(), DATABASE)
        credentials = read_credentials(settings.data_dir)
        yield server.superuser_url(DATABASE), Passwords(credentials.north_app, credentials.scheduler_role)
