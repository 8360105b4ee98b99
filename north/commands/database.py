"""Preparing and looking at the database."""

from __future__ import annotations

import typer
from pydantic import SecretStr

from north.commands.options import DataDir, Json, plain_errors, say, settings_with
from north.commands.place import checked_url, place_of
from north.db.migrate import migrate, password_of, schema_state
from north.errors import Misconfigured

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
