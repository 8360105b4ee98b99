"""Prepares a Postgres for North: extension, roles and passwords, schema, job tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psycopg
from alembic import command
from alembic.config import Config
from procrastinate.schema import SchemaManager
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool

from north.db.migrations import HEAD
from north.errors import DatabaseNotReady, DatabaseTooNew, DatabaseUnavailable

OLDEST_POSTGRES = 160000
OLDEST_VECTOR = (0, 8)
OWNER = "north_owner"
APPLICATION = "north_app"
SCHEDULER = "scheduler_role"
_ROLES_SQL = (
    "create role north_owner nologin; create role north_app login; create role scheduler_role login; "
    "grant north_owner to current_user;"
)


@dataclass(frozen=True, slots=True)
class SchemaState:
    """Where a database stands: the revision it has (None for an empty one) and the newest that North knows."""

    revision: str | None
    head: str = HEAD

    @property
    def current(self) -> bool:
        """Whether nothing is left to do."""
        return self.revision == self.head


def password_of(url: str) -> str | None:
    """The password in a Postgres URL or conninfo string."""
    if "://" in url:
        found = urlsplit(url).password
        return unquote(found) if found else None
    password = conninfo_to_dict(url).get("password")
    return str(password) if password else None


def schema_state(connection: psycopg.Connection) -> SchemaState:
    """Read the revision of a database; any role may ask."""
    found = connection.execute("select to_regclass('public.alembic_version')").fetchone()
    if not found or found[0] is None:
        return SchemaState(None)
    row = connection.execute("select version_num from alembic_version").fetchone()
    return SchemaState(row[0] if row else None)


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
    try:
        connection = psycopg.connect(owner_url, autocommit=True, connect_timeout=10)
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable from error
    with connection:
        _check_server(connection)
        state = schema_state(connection)
        if state.revision is not None and state.revision > HEAD:
            raise DatabaseTooNew(found=state.revision, known=HEAD)
        _ensure_extension(connection)
        _ensure_roles(connection, {APPLICATION: application_password, SCHEDULER: scheduler_password})
        connection.execute(sql.SQL("set role {}").format(sql.Identifier(OWNER)))
        if not state.current:
            _run_alembic(connection)
        _ensure_job_tables(connection)
        return schema_state(connection)


def _check_server(connection: psycopg.Connection) -> None:
    if connection.info.server_version < OLDEST_POSTGRES:
        found = connection.info.parameter_status("server_version")
        raise DatabaseNotReady(reason=f"it is Postgres {found}; North needs 16 or newer")


def _ensure_extension(connection: psycopg.Connection) -> None:
    row = connection.execute("select extversion from pg_extension where extname = 'vector'").fetchone()
    if row is None:
        try:
            connection.execute("create extension vector")
        except psycopg.Error as error:
            raise DatabaseNotReady(
                reason="the extension pgvector is missing: install pgvector 0.8 or newer on the server, then run "
                "`create extension vector` in this database as an administrator"
            ) from error
        row = connection.execute("select extversion from pg_extension where extname = 'vector'").fetchone()
    version = str(row[0]) if row else "0"
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_VECTOR:
        raise DatabaseNotReady(
            reason=f"pgvector is {version}; North needs 0.8 or newer: `alter extension vector update`"
        )


def _ensure_roles(connection: psycopg.Connection, passwords: dict[str, str | None]) -> None:
    """Create the three roles where they are missing and set the passwords that are given."""
    try:
        existing = {row[0] for row in connection.execute("select rolname from pg_roles")}
        for role in (OWNER, APPLICATION, SCHEDULER):
            if role not in existing:
                login = sql.SQL("nologin" if role == OWNER else "login")
                connection.execute(sql.SQL("create role {} {}").format(sql.Identifier(role), login))
        for role, password in passwords.items():
            if password:
                # ALTER ROLE takes no parameters; the literal is quoted by the driver.
                connection.execute(
                    sql.SQL("alter role {} login password {}").format(sql.Identifier(role), sql.Literal(password))
                )
        _become_owner_member(connection)
    except psycopg.errors.InsufficientPrivilege as error:
        raise DatabaseNotReady(
            reason=f"the owner's role may not create roles; run this once as an administrator: {_ROLES_SQL}"
        ) from error


def _become_owner_member(connection: psycopg.Connection) -> None:
    member = connection.execute("select pg_has_role(current_user, %s, 'set')", (OWNER,)).fetchone()
    if not (member and member[0]):
        connection.execute(sql.SQL("grant {} to current_user").format(sql.Identifier(OWNER)))
    database = connection.info.dbname
    allowed = connection.execute("select has_schema_privilege(%s, 'public', 'create')", (OWNER,)).fetchone()
    if not (allowed and allowed[0]):
        connection.execute(sql.SQL("grant usage, create on schema public to {}").format(sql.Identifier(OWNER)))
        connection.execute(sql.SQL("revoke temporary on database {} from public").format(sql.Identifier(database)))


def _run_alembic(connection: psycopg.Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    engine = create_engine("postgresql+psycopg://", creator=lambda: connection, poolclass=StaticPool)
    connection.autocommit = False
    try:
        with engine.connect() as wrapped:
            config.attributes["connection"] = wrapped
            command.upgrade(config, "head")
            wrapped.commit()
    finally:
        if not connection.closed:
            connection.rollback()
            connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("set role {}").format(sql.Identifier(OWNER)))
        cursor.execute("grant select on alembic_version to north_app, scheduler_role")


def _ensure_job_tables(connection: psycopg.Connection) -> None:
    """Give the job library its tables, and its own later migrations, each once."""
    migrations = sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))
    found = connection.execute("select to_regclass('public.job_schema')").fetchone()
    with connection.transaction():
        if not found or found[0] is None:
            connection.execute("create table job_schema (migration text primary key)")
            connection.execute(SchemaManager.get_schema())
            done = set()
            fresh = True
        else:
            done = {row[0] for row in connection.execute("select migration from job_schema")}
            fresh = False
        for migration in migrations:
            if migration.name in done:
                continue
            if not fresh:
                connection.execute(migration.read_text().encode())
            connection.execute("insert into job_schema values (%s)", (migration.name,))
        if fresh or len(done) < len(migrations):
            _grant_job_tables(connection)


def _grant_job_tables(connection: psycopg.Connection) -> None:
    tables = connection.execute(
        "select tablename from pg_tables where schemaname = 'public' and tablename like 'procrastinate%'"
    ).fetchall()
    for (table,) in tables:
        connection.execute(
            sql.SQL("grant select, insert, update, delete on {} to north_app").format(sql.Identifier(table))
        )
    connection.execute("grant usage on all sequences in schema public to north_app")
