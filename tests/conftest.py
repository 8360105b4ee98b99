"""A real Postgres for every test: one embedded server, one migrated template, one database a session.

Tests keep apart as firms do: each makes its own with the `firm` fixture, and row-level security does the rest. A test
that needs a database to itself takes `fresh_database`.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import psycopg
import pytest
from psycopg import sql

from north.access.firms import create_firm, hash_password, insert_user
from north.assembly import Place, make_backend, opened
from north.db.connect import Database
from north.db.embedded import EmbeddedServer, embedded, read_credentials, server_url
from north.db.migrate import ensure_database, migrate
from north.memory import similar
from north.memory.backend import Backend
from north.memory.matters import create_matter
from north.model import Caller, Matter, Origin, User
from north.settings import Settings

PASSWORD = "correct horse battery"
SECRET_KEY = "a key for tests, and for nothing but tests"
SHARED_DATA = Path(__file__).parent.parent.parent / "shared" / "data"
TEMPLATE_VARIABLE, DATA_DIR_VARIABLE = "NORTH_TEST_TEMPLATE", "NORTH_TEST_DATA_DIR"
"""Another template, on a server that runs already: so the mutants of a database are judged."""
TEMPLATE = "north_template"
_counter = itertools.count(1)

# No deadlines: how long an example takes says more about the machine than about the code.
hypothesis.settings.register_profile("north", deadline=None)
hypothesis.settings.load_profile("north")


@pytest.fixture(scope="session", autouse=True)
def _hints_are_waited_for() -> Iterator[None]:
    """Where the machine stalls for seconds, a save does without hints: here they are what is tested."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(similar, "SECONDS", 60.0)
        yield


def shared_data(relative: str) -> Path:
    """A file of the public test data; the test is skipped where it is not there."""
    path = SHARED_DATA / relative
    if not path.exists():
        pytest.skip(f"needs ../shared/data/{relative}")
    return path


@dataclass(frozen=True)
class TestDatabase:
    """A migrated database, as each of North's roles."""

    __test__ = False

    application_url: str
    superuser_url: str
    owner_url: str
    scheduler_url: str

    @property
    def place(self) -> Place:
        return Place(self.application_url, SECRET_KEY, self.scheduler_url)


@pytest.fixture(scope="session")
def embedded_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """The embedded Postgres, started in a folder with a space in its name."""
    given = os.environ.get(DATA_DIR_VARIABLE)
    with embedded(Path(given) if given else tmp_path_factory.mktemp("north") / "data folder") as server:
        yield server


@asynccontextmanager
async def open_pool(url: str, size: int = 1) -> AsyncIterator[Database]:
    """A pool of a test's own; with its single connection, whatever a transaction leaves behind is met by the next."""
    pool = Database(url, size=size)
    await pool.open()
    try:
        yield pool
    finally:
        await pool.close()


def database_maker(server: EmbeddedServer) -> Callable[[], TestDatabase]:
    """Makes databases on this server, each a clone of one migrated template."""
    credentials = read_credentials(server.data_dir)
    template = os.environ.get(TEMPLATE_VARIABLE, TEMPLATE)
    ensure_database(server.superuser_url(), template)
    migrate(
        server.superuser_url(template),
        application_password=credentials.north_app,
        scheduler_password=credentials.scheduler_role,
    )

    def make() -> TestDatabase:
        name = f"{template}_{next(_counter)}"
        with psycopg.connect(server.superuser_url("postgres"), autocommit=True) as connection:
            clone = sql.SQL("create database {} template {}")
            connection.execute(clone.format(sql.Identifier(name), sql.Identifier(template)))
        return database_of(server, name)

    return make


def database_of(server: EmbeddedServer, name: str) -> TestDatabase:
    """A database of the server by its name."""
    credentials = read_credentials(server.data_dir)
    return TestDatabase(
        application_url=server_url(server, "north_app", credentials.north_app, name),
        superuser_url=server.superuser_url(name),
        owner_url=server.superuser_url(name),
        scheduler_url=server_url(server, "scheduler_role", credentials.scheduler_role, name),
    )


@pytest.fixture(scope="session")
def make_database(embedded_server: EmbeddedServer) -> Callable[[], TestDatabase]:
    """Clones the migrated template."""
    return database_maker(embedded_server)


@pytest.fixture(scope="session")
def database(make_database: Callable[[], TestDatabase]) -> TestDatabase:
    """The database that tests share, each with firms of its own."""
    return make_database()


@pytest.fixture
def fresh_database(make_database: Callable[[], TestDatabase]) -> TestDatabase:
    """A database for one test alone."""
    return make_database()


@pytest.fixture(scope="session")
def settings() -> Settings:
    """The offline model and the local embedder, whatever the environment says."""
    return Settings(model="offline", embedder="local")


@pytest.fixture(scope="session")
async def backend(settings: Settings, database: TestDatabase) -> AsyncIterator[Backend]:
    """A running North on the shared database, with the local embedder."""
    async with opened(make_backend(settings, database.place)) as running:
        yield running


@dataclass(frozen=True)
class FirmOfTest:
    """A firm with two lawyers and two matters, and callers who act for the lawyers."""

    slug: str
    ana: User
    ben: User
    matter: Matter
    other_matter: Matter

    @property
    def a(self) -> Caller:
        return Caller(self.ana.organization_id, self.ana.id, Origin.API)

    @property
    def b(self) -> Caller:
        return Caller(self.ben.organization_id, self.ben.id, Origin.API)


@pytest.fixture(scope="session")
def password_hash() -> str:
    """One hash of `PASSWORD` for all, since hashing is slow on purpose."""
    return hash_password(PASSWORD)


async def make_firm(backend: Backend, password_hash: str) -> FirmOfTest:
    slug = f"firm-{next(_counter)}"
    organization_id = await create_firm(backend, slug, f"Firm {slug}")
    ana = await insert_user(backend, organization_id, f"ana@{slug}.test", "Ana Ruiz", "lawyer", password_hash)
    ben = await insert_user(backend, organization_id, f"ben@{slug}.test", "Ben Okafor", "lawyer", password_hash)
    caller = Caller(organization_id, ana.id, Origin.SETTINGS)
    matter = await create_matter(backend, caller, "HV-1001", "Harbor v. Vance")
    return FirmOfTest(slug, ana, ben, matter, await create_matter(backend, caller, "HV-1002", "Estate of Holloway"))


@pytest.fixture
async def firm(backend: Backend, password_hash: str) -> FirmOfTest:
    """A firm of this test's own."""
    return await make_firm(backend, password_hash)


@pytest.fixture
async def rival(backend: Backend, password_hash: str) -> FirmOfTest:
    """Another firm, with the same matter numbers."""
    return await make_firm(backend, password_hash)
