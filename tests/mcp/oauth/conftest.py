"""North, a lawyer's browser and a program without a cookie; the browser's part is played with a logged-in session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from north.access.login import log_in
from north.app import make_app
from north.connectors.client_documents import ClientDocuments
from north.memory.backend import Backend
from north.model import User
from north.settings import Settings
from north.web.sessions import SESSION_COOKIE
from tests.commands import free_port
from tests.conftest import PASSWORD, FirmOfTest, TestDatabase
from tests.oauth import Program, register
from tests.serving import serving

LIST_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
MCP_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
DOCUMENT = "https://claude.ai/oauth/metadata.json"
"""The address of a program's metadata document."""


@asynccontextmanager
async def running(
    database: TestDatabase, documents: ClientDocuments | None = None, port: int | None = None
) -> AsyncIterator[str]:
    """The whole of North, for the block; `documents` stand in for those of the internet."""
    port = port or free_port()
    settings = Settings(model="offline", embedder="none", public_url=f"http://127.0.0.1:{port}")
    app = make_app(settings, database.place)
    if documents:
        app.state.client_documents = documents
    async with serving(app, port) as address:
        yield address


@pytest.fixture(scope="session")
def password_hash() -> str:
    """A hash that is quick to verify: nothing here is about passwords."""
    return PasswordHash((Argon2Hasher(time_cost=1, memory_cost=64, parallelism=1),)).hash(PASSWORD)


@pytest.fixture(scope="module")
async def address(database: TestDatabase) -> AsyncIterator[str]:
    async with running(database) as url:
        yield url


@asynccontextmanager
async def browsing(backend: Backend, address: str, user: User) -> AsyncIterator[httpx2.AsyncClient]:
    """The browser of a lawyer who is logged in."""
    _, secret = await log_in(backend, user.email, PASSWORD)
    async with httpx2.AsyncClient(base_url=address, cookies={SESSION_COOKIE: secret}) as client:
        yield client


@pytest.fixture
async def browser(backend: Backend, address: str, firm: FirmOfTest) -> AsyncIterator[httpx2.AsyncClient]:
    async with browsing(backend, address, firm.ana) as client:
        yield client


@pytest.fixture
async def http(address: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A program without a cookie."""
    async with httpx2.AsyncClient(base_url=address) as client:
        yield client


_program_of_tests: dict[str, str] = {}


@pytest.fixture
async def program(http: httpx2.AsyncClient, address: str) -> Program:
    """A registered program, with new secrets."""
    if address not in _program_of_tests:
        _program_of_tests[address] = (await register(http))["client_id"]
    return Program(_program_of_tests[address])


async def knock(http: httpx2.AsyncClient, access: str | None, path: str = "/mcp") -> httpx2.Response:
    bearer = {"Authorization": f"Bearer {access}"} if access else {}
    return await http.post(path, json=LIST_TOOLS, headers=MCP_HEADERS | bearer)


async def error_of(http: httpx2.AsyncClient, path: str, form: dict[str, str]) -> tuple[int, str]:
    reply = await http.post(path, data=form)
    return reply.status_code, reply.json()["error"]
