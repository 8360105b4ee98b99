"""The API over HTTP, in this process: a client is an agent with a token of one lawyer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from pydantic_ai.models import Model

from north.access.tokens import create_token
from north.api.operations import add_operations
from north.api.site import make_api
from north.chat.assistant import make_assistant
from north.chat.models import make_model
from north.memory.backend import Backend
from north.model import Caller
from north.settings import Settings
from tests.conftest import FirmOfTest

Client = httpx2.AsyncClient
ClientFor = Callable[[Caller], Awaitable[Client]]
NEVER_AN_ID = "00000000-0000-7000-8000-000000000000"


def api_app(backend: Backend, model: Model) -> FastAPI:
    """The API and the operator's endpoints, with this model behind the threads."""
    app = FastAPI(openapi_url=None)
    app.state.backend = backend
    app.mount("/api", make_api(backend, make_assistant(backend, model)))
    add_operations(app)
    return app


def client_of(app: FastAPI, secret: str | None = None) -> Client:
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    return Client(transport=httpx2.ASGITransport(app), base_url="http://north.test/api/v1", headers=headers)


@pytest.fixture(scope="session")
def app(backend: Backend, settings: Settings) -> FastAPI:
    return api_app(backend, make_model("offline", settings))


@pytest.fixture
async def client_for(app: FastAPI, backend: Backend) -> AsyncIterator[ClientFor]:
    """Makes a client that acts for a caller."""
    async with AsyncExitStack() as stack:

        async def make(caller: Caller) -> Client:
            _, secret = await create_token(backend, caller, "test")
            return await stack.enter_async_context(client_of(app, secret))

        yield make


@pytest.fixture
async def ana(client_for: ClientFor, firm: FirmOfTest) -> Client:
    return await client_for(firm.a)


@pytest.fixture
async def ben(client_for: ClientFor, firm: FirmOfTest) -> Client:
    """Ana's colleague."""
    return await client_for(firm.b)


@pytest.fixture
async def stranger(client_for: ClientFor, rival: FirmOfTest) -> Client:
    """A lawyer of another firm, which has the same matter numbers."""
    return await client_for(rival.a)


@pytest.fixture
async def anybody(app: FastAPI) -> AsyncIterator[Client]:
    """A client without a token."""
    async with client_of(app) as client:
        yield client


async def saved(client: Client, content: str, scope: str = "user_private", **fields: Any) -> dict[str, Any]:
    """Save a fact and return the memory."""
    if scope == "matter":
        fields.setdefault("matter", "HV-1001")
    reply = await client.post("/memories", json={"content": content, "type": "fact", "scope": scope, **fields})
    assert reply.status_code == 201, reply.text
    memory: dict[str, Any] = reply.json()["memory"]
    return memory


def assert_problem(reply: httpx2.Response, status: int, code: str) -> dict[str, Any]:
    """Fail unless the reply is this problem, whole; and its body."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = reply.json()
    assert problem["code"] == code
    assert problem["status"] == status
    assert problem["type"] == f"/api/problems/{code}"
    assert problem["title"] and problem["detail"].count("{") == 0
    return problem
