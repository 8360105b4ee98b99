"""Where a command finds North's data: the settings' database, or the embedded server of a data folder."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import SecretStr

from north.assembly import Place, make_backend, opened
from north.db.embedded import EmbeddedServer, embedded, read_credentials, server_url
from north.db.embedded_keeper import kept_running
from north.db.migrate import (
    APPLICATION,
    SCHEDULER,
    check_schema,
    ensure_database,
    is_connection_string,
    migrate,
    schema_state,
)
from north.errors import Misconfigured
from north.memory.backend import Backend
from north.settings import Settings

Result = TypeVar("Result")
DATABASE = "north"


@contextmanager
def place_of(settings: Settings) -> Iterator[Place]:
    """The configured database; else that of the data folder, whose server is joined, or started for the block.

    Raises:
        Misconfigured: a database is configured without its secret key, or the data folder cannot be used.
    """
    if settings.database_url is not None:
        if settings.secret_key is None:
            raise Misconfigured(reason="NORTH_DATABASE_URL is set, so NORTH_SECRET_KEY must be set too")
        sweeping = settings.scheduler_database_url
        yield Place(
            checked_url("NORTH_DATABASE_URL", settings.database_url),
            settings.secret_key.get_secret_value(),
            checked_url("NORTH_SCHEDULER_DATABASE_URL", sweeping) if sweeping else None,
        )
        return
    with embedded(settings.data_dir) as server, kept_running(server):
        yield prepare(server, settings)


@contextmanager
def ready_place(settings: Settings) -> Iterator[Place]:
    """A place with a schema that this version of North can work on.

    Raises:
        DatabaseNotReady: it has to be migrated first.
        DatabaseTooNew: a newer North has migrated it.
        DatabaseUnavailable: it cannot be reached.
        Misconfigured: as `place_of` does.
    """
    with place_of(settings) as place:
        check_schema(schema_state(place.database_url))
        yield place


def checked_url(name: str, url: SecretStr) -> str:
    """The Postgres URL of the setting `name`; the error does not quote it, for the password in it.

    Raises:
        Misconfigured: it is not one.
    """
    text = url.get_secret_value()
    if not is_connection_string(text):
        raise Misconfigured(
            reason=f"{name} cannot be read. Write it as postgresql://role:password@host:5432/database, with every "
            "special character of the password as %XX"
        )
    return text


def prepare(server: EmbeddedServer, settings: Settings) -> Place:
    """Create North's database on the embedded server where it is missing, and bring its schema up to date."""
    credentials = read_credentials(settings.data_dir)
    ensure_database(server.superuser_url(), DATABASE)
    migrate(
        server.superuser_url(DATABASE),
        application_password=credentials.north_app,
        scheduler_password=credentials.scheduler_role,
    )
    key = settings.secret_key.get_secret_value() if settings.secret_key else credentials.secret_key
    return Place(
        server_url(server, APPLICATION, credentials.north_app, DATABASE),
        key,
        server_url(server, SCHEDULER, credentials.scheduler_role, DATABASE),
    )


def with_backend(settings: Settings, work: Callable[[Backend], Awaitable[Result]]) -> Result:
    """Run `work` on an opened backend, and close it."""

    async def run(place: Place) -> Result:
        async with opened(make_backend(settings, place)) as backend:
            return await work(backend)

    with ready_place(settings) as place:
        return asyncio.run(run(place))


def demo_password(data_dir: Path) -> str:
    """The demo firms' password: made once for a data folder and kept there, readable by its owner alone."""
    path = data_dir / "demo-password"
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        password = f"north-{secrets.token_hex(5)}"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(password + "\n")
        return password
