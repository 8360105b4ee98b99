"""MCP over HTTP, as hosts meet it: the official client, and a real server on a port of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar

import httpx2
import pytest
from fastapi import FastAPI
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from north.access.tokens import create_token
from north.api.site import make_api
from north.chat.assistant import make_assistant
from north.chat.models import make_model
from north.mcp.site import PATH, add_mcp
from north.memory.backend import Backend
from north.model import Caller
from north.settings import Settings
from tests.conftest import FirmOfTest
from tests.serving import serving

MODERN, LEGACY = "auto", "legacy"
"""How a client negotiates: `server/discover`, and `initialize` as hosts did before 2026-07-28."""

Host = Callable[..., Awaitable[Client]]
Held = TypeVar("Held")


def mcp_app(backend: Backend, settings: Settings) -> FastAPI:
    """REST and MCP beside each other, with the offline assistant behind the threads."""
    app = FastAPI(openapi_url=None)
    app.state.backend = backend
    app.mount("/api", make_api(backend, make_assistant(backend, make_model("offline", settings))))
    add_mcp(app, backend, settings)
    return app


@pytest.fixture(scope="session")
async def address(backend: Backend, settings: Settings) -> AsyncIterator[str]:
    """Where the server of these tests listens."""
    async with serving(mcp_app(backend, settings)) as url:
        yield url


@asynccontextmanager
async def connected(address: str, secret: str, mode: str = MODERN) -> AsyncIterator[Client]:
    """An MCP host with this access token."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {secret}"}, timeout=30) as http,
        Client(streamable_http_client(f"{address}{PATH}", http_client=http), mode=mode) as client,
    ):
        yield client


@asynccontextmanager
async def held(context: AbstractAsyncContextManager[Held]) -> AsyncIterator[Held]:
    """`context`, entered and left by one task, as the client demands and a fixture cannot promise."""
    entered: asyncio.Future[Held] = asyncio.get_running_loop().create_future()
    leave = asyncio.Event()

    async def hold() -> None:
        async with context as client:
            entered.set_result(client)
            await leave.wait()

    holding = asyncio.create_task(hold())
    try:
        holding.add_done_callback(lambda _: entered.done() or entered.cancel())
        try:
            client = await entered
        except asyncio.CancelledError:
            await holding  # it could not enter, and says why
            raise
        yield client
    finally:
        leave.set()
        await holding


async def secret_of(backend: Backend, caller: Caller) -> str:
    """A new access token of this lawyer."""
    return (await create_token(backend, caller, "test"))[1]


@pytest.fixture
async def host(address: str, backend: Backend) -> AsyncIterator[Host]:
    """Connects a host for a lawyer; each has a token, and so a client, of its own."""
    async with AsyncExitStack() as stack:

        async def connect(caller: Caller, mode: str = MODERN, secret: str | None = None) -> Client:
            token = secret or await secret_of(backend, caller)
            return await stack.enter_async_context(held(connected(address, token, mode)))

        yield connect


@pytest.fixture
async def ana(host: Host, firm: FirmOfTest) -> Client:
    """Ana's host."""
    return await host(firm.a)


@pytest.fixture
async def ben(host: Host, firm: FirmOfTest) -> Client:
    """The host of Ana's colleague."""
    return await host(firm.b)


def text_of(result: CallToolResult) -> str:
    """What the model reads."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def done(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that succeeds, and its structured output."""
    result = await client.call_tool(f"north__{tool}", arguments)
    assert not result.is_error, text_of(result)
    structured: dict[str, Any] = result.structured_content
    return structured


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that fails, and what it tells the model."""
    result = await client.call_tool(f"north__{tool}", arguments)
    assert result.is_error, text_of(result)
    assert result.structured_content is None
    return text_of(result)


def contents(memories: list[dict[str, Any]]) -> list[str]:
    return [memory["content"] for memory in memories]
