"""Prepares a Postgres for North: extension, roles and passwords, schema, job tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import psycopg
from procrastinate.schema import SchemaManager
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import DuplicateDatabase, InsufficientPrivilege, UniqueViolation
from psycopg.rows import dict_row

from north.db.migrations import HEAD
from north.db.statements import statement
from north.errors import DatabaseNotReady, DatabaseTooNew, DatabaseUnavailable

OLDEST_POSTGRES = 16
OLDEST_VECTOR = (0, 8)
OWNER, APPLICATION, SCHEDULER = "north_owner", "north_app", "scheduler_role"


@dataclass(frozen=True, slots=True)
class SchemaState:
    """Where a database stands: the revision it has (None for an empty one), and the newest that North knows."""

    revision: str | None
    head: str = HEAD

    @property
    def current(self) -> bool:
        """Whether nothing is left to do."""
        return self.revision == self.head


@dataclass(frozen=True, slots=True)
class Found:
    """What is found at a URL: the database's name, Postgres's major version, and whether anything was made in it."""

    database: str
    major: int
    has_tables: bool


def is_connection_string(text: str) -> bool:
    """Whether libpq can read it, as a URL or as `key=value` pairs."""
    try:
        conninfo_to_dict(text)
    except psycopg.ProgrammingError:
        return False
    return True


def password_of(url: str) -> str | None:
    """The password in a Postgres URL or conninfo string."""
    if "://" in url:
        found = urlsplit(url).password
        return unquote(found) if found else None
    password = conninfo_to_dict(url).get("password")
    return str(password) if password else None


def schema_state(url: str) -> SchemaState:
    """Read where a database stands; any role may ask.

    Raises:
        DatabaseUnavailable: it cannot be reached.
    """
    with _connect(url) as connection:
        return _state(connection)


def check_schema(state: SchemaState) -> None:
    """Check that this version of North can work on such a database.

    Raises:
        DatabaseNotReady: it has to be migrated first.
        DatabaseTooNew: a newer North has migrated it.
    """
    if state.revision is None:
        raise DatabaseNotReady(reason="it has no tables of North's yet. Run `north db migrate`")
    if state.revision > HEAD:
        raise DatabaseTooNew(found=state.revision, known=HEAD)
    if not state.current:
        raise DatabaseNotReady(reason=f"it has revision {state.revision} and {HEAD} is needed. Run `north db migrate`")


def check_server(number: int, version: str) -> None:
    """Check Postgres itself by its `server_version_num` and `server_version`.

    Raises:
        DatabaseNotReady: it is too old.
    """
    if number < OLDEST_POSTGRES * 10_000:
        raise DatabaseNotReady(reason=f"it is Postgres {version}; North needs {OLDEST_POSTGRES} or newer")


def check_vector(version: str) -> None:
    """Check pgvector by its version.

    Raises:
        DatabaseNotReady: it is too old.
    """
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_VECTOR:
        raise DatabaseNotReady(
            reason=f"pgvector is {version}; North needs 0.8 or newer. Install a newer one on the server, and run "
            "`alter extension vector update` in this database as an administrator"
        )


def ensure_database(administrator_url: str, name: str) -> None:
    """Create the database `name` on a server where it is missing.

    Raises:
        DatabaseUnavailable: the server cannot be reached.
    """
    # Of two commands that start at once, one may come second: as an error of either kind.
    with _connect(administrator_url) as connection, suppress(DuplicateDatabase, UniqueViolation):
        _run_made(connection, "setup.missing_database", name=name)


def migrate(owner_url: str, *, application_password: str | None, scheduler_password: str | None) -> SchemaState:
    """Bring a database to the newest schema; does nothing that is done already.

    Args:
        owner_url: Postgres as an administrator, or as a member of `north_owner`.
        application_password: the password that `north_app` is to have; None leaves it as it is.
        scheduler_password: likewise for `scheduler_role`.

    Raises:
        DatabaseNotReady: Postgres is too old, pgvector is missing, or the role may not do what is needed.
        DatabaseTooNew: a newer North has migrated it.
        DatabaseUnavailable: it cannot be reached.
    """
    with _connect(owner_url) as connection, _rights_explained():
        check_server(connection.info.server_version, connection.info.parameter_status("server_version") or "?")
        _run(connection, "setup.one_at_a_time")
        state = _state(connection)
        if state.revision is not None and state.revision > HEAD:
            raise DatabaseTooNew(found=state.revision, known=HEAD)
        _ensure_extension(connection)
        _ensure_roles(connection, {APPLICATION: application_password, SCHEDULER: scheduler_password})
        _run(connection, "setup.become_owner")
        if not state.current:
            _run_alembic(connection)
        _run(connection, "setup.share_revision")
        _ensure_job_tables(connection)
        return _state(connection)


def look_at(url: str) -> Found:
    """Look at a database, whatever is in it.

    Raises:
        DatabaseUnavailable: it cannot be reached.
    """
    with _connect(url) as connection:
        (row,) = _rows(connection, "setup.has_tables")
        return Found(connection.info.dbname, connection.info.server_version // 10_000, row["has_tables"])


def prepare_roles(administrator_url: str, application_password: str | None, scheduler_password: str | None) -> None:
    """Make the roles that are missing, before what belongs to them is restored; as `migrate` does.

    Raises:
        DatabaseNotReady: the role may not do what is needed.
        DatabaseUnavailable: it cannot be reached.
    """
    with _connect(administrator_url) as connection, _rights_explained():
        _ensure_roles(connection, {APPLICATION: application_password, SCHEDULER: scheduler_password})


def _connect(url: str) -> Connection:
    try:
        return psycopg.connect(url, autocommit=True, connect_timeout=10)
    except psycopg.OperationalError as error:
        reason = str(error).partition("\n")[0].removeprefix("connection failed: ").removesuffix(".")
        raise DatabaseUnavailable(f"The database cannot be reached: {reason}.") from error


@contextmanager
def _rights_explained() -> Iterator[None]:
    try:
        yield
    except InsufficientPrivilege as error:
        raise DatabaseNotReady(
            reason=f"{error.diag.message_primary}. Use an administrator's URL, or let an administrator create the "
            "roles north_owner (nologin), north_app and scheduler_role (login, with passwords), grant north_owner to "
            "this role, and grant create on schema public to north_owner"
        ) from error


def _run(connection: Connection, name: str, /, **parameters: Any) -> None:
    connection.execute(statement(name).encode(), parameters)


def _rows(connection: Connection, name: str, /, **parameters: Any) -> list[dict[str, Any]]:
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(statement(name).encode(), parameters).fetchall()


def _state(connection: Connection) -> SchemaState:
    (known,) = _rows(connection, "setup.schema_known")
    revisions = _rows(connection, "setup.revision") if known["known"] else []
    return SchemaState(revisions[0]["version_num"] if revisions else None)


def _ensure_extension(connection: Connection) -> None:
    if not _rows(connection, "setup.vector_version"):
        try:
            _run(connection, "setup.create_vector")
        except psycopg.Error as error:
            raise DatabaseNotReady(
                reason="the extension pgvector is missing. Install pgvector 0.8 or newer on the server, and run "
                "`create extension vector` in this database as an administrator"
            ) from error
    (row,) = _rows(connection, "setup.vector_version")
    check_vector(str(row["extversion"]))


def _ensure_roles(connection: Connection, passwords: dict[str, str | None]) -> None:
    """Create the three roles where they are missing, and set the passwords that are given."""
    existing = {row["rolname"] for row in _rows(connection, "setup.roles")}
    for role in (OWNER, APPLICATION, SCHEDULER):
        if role not in existing:
            _run(connection, f"setup.create_{role}")
    for role, password in passwords.items():
        if password:
            # A role that an administrator made beforehand has its password from there.
            with suppress(InsufficientPrivilege) if role in existing else nullcontext():
                _run_made(connection, "setup.set_password", role=role, password=password)
    if not _rows(connection, "setup.is_owner_member")[0]["member"]:
        _run(connection, "setup.join_owner")
    if not _rows(connection, "setup.owner_may_create")[0]["allowed"]:
        _run(connection, "setup.let_owner_create")


def _run_made(connection: Connection, name: str, /, **parameters: Any) -> None:
    """Run the statements that a statement makes."""
    for row in _rows(connection, name, **parameters):
        connection.execute(str(row["statement"]).encode())


def _run_alembic(connection: Connection) -> None:
    # Imported here, since every command looks at the schema and few change it.
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine
    from sqlalchemy.pool import StaticPool

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    engine = create_engine("postgresql+psycopg://", creator=lambda: connection, poolclass=StaticPool)
    connection.autocommit = False
    try:
        with engine.connect() as wrapped:
            config.attributes["connection"] = wrapped
            command.upgrade(config, "head")
            wrapped.commit()
    finally:
        connection.rollback()
        connection.autocommit = True
    _run(connection, "setup.become_owner")


def _ensure_job_tables(connection: Connection) -> None:
    """Give the job library its tables, and its own later migrations, each once."""
    migrations = sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))
    fresh = not _rows(connection, "setup.jobs_known")[0]["known"]
    with connection.transaction():
        if fresh:
            _run(connection, "setup.create_job_schema")
            connection.execute(SchemaManager.get_schema())
        done = {row["migration"] for row in _rows(connection, "setup.job_migrations")}
        missing = [migration for migration in migrations if migration.name not in done]
        for migration in missing:
            if not fresh:
                connection.execute(migration.read_text().encode())
            _run(connection, "setup.record_job_migration", migration=migration.name)
        if missing:
            _run_made(connection, "setup.job_grants")
        _run(connection, "setup.ensure_job_failures")
        _run(connection, "setup.share_job_failures")
