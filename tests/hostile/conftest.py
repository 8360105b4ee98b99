"""The whole of North on a port of its own, as a hostile client meets it, beside a NetDocuments of the tests' own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace

import httpx2
import pytest
from fastapi import FastAPI

from north.access.login import log_in
from north.access.tokens import create_token
from north.api.operations import add_operations
from north.api.site import make_api
from north.chat.assistant import make_assistant
from north.chat.models import make_model
from north.chat.threads import create_thread
from north.mcp.site import add_mcp
from north.memory.backend import Backend
from north.memory.save import save
from north.model import Caller, Draft, MemoryType, Saved
from north.web.sessions import SESSION_COOKIE
from north.web.site import add_web
from tests.conftest import PASSWORD, FirmOfTest, TestDatabase
from tests.hostile.ground import Ground
from tests.netdocuments import NetDocumentsServer, netdocuments_server, set_up
from tests.serving import serving

ACCEPT = {"Accept": "application/json, text/event-stream"}
ClientFor = Callable[[Caller], Awaitable[httpx2.AsyncClient]]


def whole_app(backend: Backend) -> FastAPI:
    """Every surface as the composition root puts them together, on a backend that is open already."""
    assistant = make_assistant(backend, make_model("offline", backend.settings))
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.state.backend, app.state.assistant = backend, assistant
    app.mount("/api", make_api(backend, assistant))
    add_operations(app)
    add_mcp(app, backend, backend.settings)
    add_web(app)
    return app


@pytest.fixture(scope="session")
async def documents() -> AsyncIterator[NetDocumentsServer]:
    async with netdocuments_server() as running:
        yield running


@pytest.fixture(scope="session")
def north(backend: Backend, documents: NetDocumentsServer) -> Backend:
    """North, registered at the server."""
    return set_up(backend, documents)


@pytest.fixture(scope="session")
async def address(north: Backend) -> AsyncIterator[str]:
    """Where the whole of North listens."""
    async with serving(whole_app(north)) as url:
        yield url


@pytest.fixture
async def client_for(address: str, north: Backend) -> AsyncIterator[ClientFor]:
    """Makes a client of REST and MCP that acts for a lawyer."""
    async with AsyncExitStack() as stack:

        async def make(caller: Caller) -> httpx2.AsyncClient:
            _, secret = await create_token(north, replace(caller), "test")
            headers = {"Authorization": f"Bearer {secret}", **ACCEPT}
            return await stack.enter_async_context(httpx2.AsyncClient(base_url=address, headers=headers, timeout=30))

        yield make


@pytest.fixture
async def ana(client_for: ClientFor, firm: FirmOfTest) -> httpx2.AsyncClient:
    return await client_for(firm.a)


@pytest.fixture
async def ground(north: Backend, database: TestDatabase, firm: FirmOfTest, ana: httpx2.AsyncClient) -> Ground:
    (outcome,) = await save(north, firm.a, [Draft("What stands already.", MemoryType.FACT)])
    assert isinstance(outcome, Saved)
    thread = await create_thread(north, firm.a, None)
    return Ground(database, firm, str(outcome.memory.id), str(thread.id))


@pytest.fixture
async def browser(address: str, north: Backend, firm: FirmOfTest) -> AsyncIterator[httpx2.AsyncClient]:
    """Ana's browser, logged in."""
    _, secret = await log_in(north, firm.ana.email, PASSWORD)
    async with httpx2.AsyncClient(base_url=address, cookies={SESSION_COOKIE: secret}) as client:
        yield client
