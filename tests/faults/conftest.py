"""North in this process, on a database of a test's own that it reaches by a network which a test spoils."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx2
import psycopg
import pytest
from fastapi import FastAPI
from psycopg.conninfo import conninfo_to_dict

from north.access.tokens import create_token
from north.app import make_app
from north.assembly import Place, make_backend, opened
from north.db.embedded import EmbeddedServer
from north.memory.backend import Backend
from north.settings import Settings
from tests.conftest import SECRET_KEY, FirmOfTest, TestDatabase, make_firm
from tests.faults.proxy import FaultProxy, Upstream, fault_proxy

Client = httpx2.AsyncClient
LIMITS = {
    "north.db.connect.POOL_SECONDS": 1.5,
    "north.db.connection.ANSWER_SECONDS": 2.5,
    "north.db.connection.STATEMENT_SECONDS": 2.0,
    "north.db.connection.LOCK_SECONDS": 0.5,
    "north.api.operations.READY_SECONDS": 1.5,
}
"""What is waited for here, in seconds: less than otherwise, and enough for a busy machine."""


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a test can wait for."""
    for name, seconds in LIMITS.items():
        monkeypatch.setattr(name, seconds)


@pytest.fixture
async def network(embedded_server: EmbeddedServer) -> AsyncIterator[FaultProxy]:
    """The network between North and Postgres."""
    assert embedded_server.socket_dir is not None
    socket = embedded_server.socket_dir / f".s.PGSQL.{embedded_server.port}"
    async with fault_proxy(Upstream(socket=socket)) as proxy:
        yield proxy


def by_way_of(port: int, database: TestDatabase) -> Place:
    """The database as North reaches it through a port of this machine."""
    known = conninfo_to_dict(database.application_url)
    login = f"{known['user']}:{quote(str(known['password']), safe='')}"
    return Place(f"postgresql://{login}@127.0.0.1:{port}/{known['dbname']}", SECRET_KEY, database.scheduler_url)


@pytest.fixture
def own_settings() -> Settings:
    return Settings(model="offline", embedder="none", public_url="http://north.test")


@asynccontextmanager
async def served(settings: Settings, place: Place) -> AsyncIterator[FastAPI]:
    """Every surface, at work."""
    app = make_app(settings, place)
    ready, over = asyncio.Event(), asyncio.Event()

    async def live() -> None:
        async with app.router.lifespan_context(app):
            ready.set()
            await over.wait()

    # In a task of its own: a fixture begins and ends in different ones, which the library does not take.
    living = asyncio.create_task(live())
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait([living, waiting], return_when=asyncio.FIRST_COMPLETED)
    try:
        yield app
    finally:
        over.set()
        await living


def program_of(app: FastAPI, secret: str) -> Client:
    """A program over REST with this access token."""
    headers = {"Authorization": f"Bearer {secret}"}
    return Client(transport=httpx2.ASGITransport(app), base_url="http://north.test/api/v1", headers=headers)


@pytest.fixture
async def app(own_settings: Settings, network: FaultProxy, fresh_database: TestDatabase) -> AsyncIterator[FastAPI]:
    async with served(own_settings, by_way_of(network.port, fresh_database)) as app:
        yield app


@pytest.fixture
async def beside(fresh_database: TestDatabase) -> AsyncIterator[Backend]:
    """The same database by a network that always works, to look at what is in it."""
    async with opened(make_backend(Settings(model="offline", embedder="none"), fresh_database.place)) as backend:
        yield backend


@pytest.fixture
async def firm(beside: Backend, password_hash: str) -> FirmOfTest:
    return await make_firm(beside, password_hash)


@pytest.fixture
async def secret(beside: Backend, firm: FirmOfTest) -> str:
    return (await create_token(beside, firm.a, "test"))[1]


@pytest.fixture
async def ana(app: FastAPI, secret: str) -> AsyncIterator[Client]:
    """A program of a lawyer's, over REST."""
    async with program_of(app, secret) as it:
        yield it


@pytest.fixture
def administrator(fresh_database: TestDatabase) -> Callable[..., list[Any]]:
    """Runs a statement as the database's administrator."""

    def run(statement: str, *parameters: object) -> list[Any]:
        with psycopg.connect(fresh_database.superuser_url, autocommit=True) as connection:
            name = connection.info.dbname
            cursor = connection.execute(statement.replace("THIS", name).encode(), parameters or None)
            return cursor.fetchall() if cursor.description else []

    return run


def draft(text: str, **fields: str) -> dict[str, str]:
    return {"content": text, "type": "fact", "scope": "user_private", **fields}


async def texts(client: Client) -> list[str]:
    """What is remembered, the newest first."""
    reply = await client.get("/memories", params={"limit": 200})
    assert reply.status_code == 200, reply.text
    return [memory["content"] for memory in reply.json()["memories"]]
