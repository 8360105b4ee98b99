"""Checks what North needs, one line each: fine, or what to do. It looks, and changes nothing."""

from __future__ import annotations

import asyncio
import json
import platform
import shutil
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import structlog

from north import __version__
from north.assembly import SECRET_LEAST
from north.chat.models import make_model
from north.commands.place import DATABASE, checked_url
from north.commands.serving import listening_socket
from north.connectors.embeddings import make_embedder
from north.connectors.minilm import load_minilm
from north.db.canary import check_isolation
from north.db.connect import Database
from north.db.embedded import embedded, read_credentials, server_url
from north.db.embedded_folder import Folder
from north.db.jobs import standing
from north.db.migrate import APPLICATION, OWNER, SCHEDULER, check_schema, check_server, check_vector, schema_state
from north.db.postgres_fixes import missing_fixes
from north.errors import DatabaseNotReady, IsolationBroken, JobsBehind, Misconfigured, NorthError, PortInUse
from north.settings import Settings

DISK_LEAST = 1_000_000_000
HEALTH_SECONDS = 3.0
JOB_WAITS_MOST_SECONDS = 600.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `message` says what was found when it is fine, else what to do."""

    name: str
    fine: bool
    message: str

    def as_json(self) -> dict[str, Any]:
        """The finding for scripts."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{'fine' if self.fine else 'fix':<6} {self.name:<20} {self.message}"


def diagnose(settings: Settings) -> list[Finding]:
    """Look at everything that the settings lead to; a failure is a finding and never raised.

    The embedded server of a data folder is joined, or started for the time of the checks. A folder that does not
    exist is not made, and no model or embedding provider is called.
    """
    findings = [_finding("Versions", _versions), *_database_findings(settings)]
    if settings.database_url is not None:
        findings.append(_finding("Secret key", lambda: _secret_key(settings)))
    else:
        findings.append(_finding("Disk", lambda: _disk(settings.data_dir)))
    findings.append(_finding("Embedder", lambda: _embedder(settings.embedder)))
    findings.append(_finding("Model", lambda: _model(settings.chat_model, settings)))
    if settings.miner_model is not None:
        miner_model = settings.miner_model
        findings.append(_finding("Miner model", lambda: _model(miner_model, settings)))
    findings.append(_finding("Port", lambda: _port(settings)))
    return findings


def _finding(name: str, check: Callable[[], str]) -> Finding:
    """What a check returns is fine; what it raises says what to do."""
    try:
        return Finding(name, True, check())
    except NorthError as error:
        message = str(error.detail.get("reason") or error)
    except Exception as error:  # the edge: a check that fails in a way nobody foresaw is a finding too
        log.error("check_failed", check=name, error=type(error).__name__)
        message = f"could not be checked ({type(error).__name__})."
    return Finding(name, False, f"{message.rstrip('.')}.")


def _versions() -> str:
    return f"North {__version__}, Python {platform.python_version()}"


# --- the database -------------------------------------------------------------------------------------------


def _database_findings(settings: Settings) -> list[Finding]:
    if settings.database_url is None and not Folder(settings.data_dir).postgres.exists():
        if settings.data_dir.exists() and not settings.data_dir.is_dir():
            reason = f"{settings.data_dir} is a file in the way. Move it, or choose another folder with --data-dir."
            return [Finding("Data folder", False, reason)]
        return [Finding("Data folder", True, f"{settings.data_dir} will be created by `north up`")]
    try:
        with _reached(settings) as url:
            return _looked_into(url, ours=settings.database_url is None)
    except NorthError as error:
        name = "Database" if settings.database_url is not None else "Data folder"
        return [Finding(name, False, str(error))]


@contextmanager
def _reached(settings: Settings) -> Iterator[str]:
    """The database as north_app, without bringing it up to date as the other commands do."""
    if settings.database_url is not None:
        yield checked_url("NORTH_DATABASE_URL", settings.database_url)
        return
    with embedded(settings.data_dir) as server:
        yield server_url(server, APPLICATION, read_credentials(settings.data_dir).north_app, DATABASE)


def _looked_into(url: str, *, ours: bool) -> list[Finding]:
    """The findings on a database that answers; `ours` tells that North brought the server.

    Raises:
        DatabaseUnavailable: it does not answer.
    """
    state = schema_state(url)
    checks: dict[str, Callable[[Database], Awaitable[str]]] = {
        "Postgres": lambda database: _postgres(database, ours=ours),
        "pgvector": _vector,
        "Roles": _roles,
    }
    if state.revision is not None:
        checks |= {"Row-level security": _row_security, "Isolation canary": _canary}

    def schema() -> str:
        check_schema(state)
        return f"revision {state.revision}"

    found = [_finding(name, partial(_asked, url, check)) for name, check in checks.items()]
    jobs = [_finding("Jobs", partial(_asked, url, _jobs))] if state.current else []
    return [*found, _finding("Schema", schema), *jobs]


def _asked(url: str, check: Callable[[Database], Awaitable[str]]) -> str:
    async def ask() -> str:
        database = Database(url, size=1)
        await database.open()
        try:
            return await check(database)
        finally:
            await database.close()

    return asyncio.run(ask())


async def _postgres(database: Database, *, ours: bool) -> str:
    (server,) = await database.lookup("doctor.server")
    check_server(server["number"], server["version"])
    missing = missing_fixes(server["number"])
    if not missing:
        return str(server["version"])
    listed = "; ".join(f"{fix.cve} ({fix.what}), fixed in {fix.fixed_in(server['number'])}" for fix in missing)
    if ours:  # nothing that the operator could do, and nothing that could be used against North's policies
        return f"{server['version']}, as North brings it. It lacks {listed}: North has no such policies"
    raise DatabaseNotReady(reason=f"{server['version']} lacks a fix of row-level security: {listed}. Update Postgres")


async def _vector(database: Database) -> str:
    rows = await database.lookup("setup.vector_version")
    if not rows:
        raise DatabaseNotReady(reason="the extension is missing. Run `north db migrate`")
    check_vector(rows[0]["extversion"])
    return str(rows[0]["extversion"])


async def _roles(database: Database) -> str:
    roles = {row["name"]: row for row in await database.lookup("doctor.roles")}
    if absent := [name for name in (OWNER, APPLICATION, SCHEDULER) if name not in roles]:
        raise DatabaseNotReady(reason=f"{', '.join(absent)} missing. Run `north db migrate`")
    remedies = {
        "superuser": "is a superuser: run `alter role {} nosuperuser`",
        "bypasses": "bypasses row-level security: run `alter role {} nobypassrls`",
        "joins": "is a member of north_owner: run `revoke north_owner from {}`",
        "owns": "owns tables: run `reassign owned by {} to north_owner`",
        "truncates": "can TRUNCATE: run `revoke truncate on all tables in schema public from {}`",
    }
    wrong = [
        f"{name} {remedy.format(name)}"
        for name in (APPLICATION, SCHEDULER)
        for right, remedy in remedies.items()
        if roles[name][right]
    ]
    if wrong:
        raise IsolationBroken(reason="; ".join(wrong))
    return "north_owner, north_app and scheduler_role, without rights beyond their work"


async def _row_security(database: Database) -> str:
    if unguarded := await database.lookup("canary.unguarded"):
        tables = ", ".join(row["table_name"] for row in unguarded)
        reason = f"not enabled, not forced or without a policy on {tables}. Restore it before serving"
        raise IsolationBroken(reason=reason)
    (tables_of_firms,) = await database.lookup("doctor.walled_tables")
    return f"enabled and forced, with a policy, on {tables_of_firms['count']} tables"


async def _canary(database: Database) -> str:
    await check_isolation(database)
    return "no firm sees another's rows"


async def _jobs(database: Database) -> str:
    found = await standing(database)
    counts = Counter[str]()
    for each in found:
        counts[each.status] += each.jobs
    oldest = max((each.oldest_seconds for each in found), default=0.0)
    if counts["failed"]:
        raise JobsBehind(
            reason=f"{counts['failed']} failed. Look at `north jobs list`, then run `north jobs retry --all`"
        )
    if oldest > JOB_WAITS_MOST_SECONDS:
        reason = f"{counts['waiting']} wait, the oldest for {oldest / 60:.0f} minutes. Is `north worker` running?"
        raise JobsBehind(reason=reason)
    return f"{counts['waiting']} wait, {counts['running']} run, none has failed; the oldest waits {oldest:.0f} s"


# --- everything else ----------------------------------------------------------------------------------------


def _secret_key(settings: Settings) -> str:
    if settings.secret_key is None:
        raise Misconfigured(reason=f"set NORTH_SECRET_KEY to {SECRET_LEAST} or more random characters")
    if len(settings.secret_key.get_secret_value()) < SECRET_LEAST:
        raise Misconfigured(
            reason=f"NORTH_SECRET_KEY is too short: {SECRET_LEAST} or more random characters are needed"
        )
    return "set"


def _disk(data_dir: Path) -> str:
    folder = next(each for each in (data_dir.absolute(), *data_dir.absolute().parents) if each.is_dir())
    free = shutil.disk_usage(folder).free
    if free < DISK_LEAST:
        raise Misconfigured(reason=f"only {free / 1e9:.1f} GB are free at {data_dir}; make it 1 GB or more")
    return f"{free / 1e9:.0f} GB free"


def _embedder(name: str) -> str:
    if name == "local":
        load_minilm()(["North"])
        return "local, its files are the ones that North was built with"
    if name == "none":
        return "none: memories are found by their words alone"
    asyncio.run(make_embedder(name).aclose())
    return f"{name}: texts are sent to this provider; it was not called"


def _model(name: str, settings: Settings) -> str:
    make_model(name, settings)
    if name == "offline":
        return "offline: built-in rules. ANTHROPIC_API_KEY or NORTH_MODEL brings a real model"
    return f"{name}; it was not called"


def _port(settings: Settings) -> str:
    try:
        listening_socket(settings).close()
    except PortInUse:
        if not _north_answers(settings):
            raise
        return f"{settings.port}: North answers there"
    return f"{settings.port} is free"


def _north_answers(settings: Settings) -> bool:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104 - asked, not bound
    connection = HTTPConnection(host, settings.port, timeout=HEALTH_SECONDS)
    try:
        connection.request("GET", "/healthz")
        answer: object = json.loads(connection.getresponse().read(1000))
    except (OSError, HTTPException, ValueError):
        return False
    finally:
        connection.close()
    return answer == {"status": "up"}
