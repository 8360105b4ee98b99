"""What the suite is run against: a North as people use it, and its server object once more with the suite's fixtures.

The suite sends no access token, so the second one takes every call for a lawyer of the demo firm. It is served at
`/mcp` exactly as the product serves it, without sessions, and at `/streams` with sessions and event streams: a few
scenarios are about messages that a server sends during a call, which North never does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI
from mcp.server.context import ServerRequestContext
from mcp_types import EmptyResult, SubscribeRequestParams, UnsubscribeRequestParams
from starlette.routing import Route

from benchmarks.temporary import temporary_north
from north.access.demo import seed_demo
from north.access.firms import find_user
from north.access.tokens import create_token
from north.app import make_app
from north.assembly import make_backend, opened
from north.mcp.server import make_mcp
from north.mcp.site import PATH, over_http
from north.memory.backend import Backend
from north.model import Caller, Origin
from north.settings import Settings
from tests.commands import free_port
from tests.conformance.fixtures import add_completion, add_resources, add_tools
from tests.conformance.fixtures_input import add_prompts, add_questions, add_requests
from tests.serving import serving

STREAMS = "/streams"
EMAIL = "lawyer-a@demo.test"
PASSWORD = "a password for the suite"


@dataclass(frozen=True, slots=True)
class Target:
    """Where the suite finds what it tests."""

    product: str
    token: str
    fixtures: str
    streams: str


@asynccontextmanager
async def target() -> AsyncIterator[Target]:
    """Both, on a database of their own, for the block."""
    with temporary_north("none") as (settings, place, _):
        async with AsyncExitStack() as stack:
            backend = await stack.enter_async_context(opened(make_backend(settings, place)))
            await seed_demo(backend, PASSWORD)
            caller = await _lawyer(backend)
            _, token = await create_token(backend, caller, "conformance")
            port = free_port()
            product = make_app(_at(settings, port), place)
            product_address = await stack.enter_async_context(serving(product, port))
            port = free_port()
            fixtures = await stack.enter_async_context(serving(_fixtures(backend, caller, _at(settings, port)), port))
            yield Target(product_address, token, f"{fixtures}{PATH}", f"{fixtures}{STREAMS}")


def _at(settings: Settings, port: int) -> Settings:
    return settings.model_copy(update={"public_url": f"http://127.0.0.1:{port}"})


async def _lawyer(backend: Backend) -> Caller:
    user = await find_user(backend, EMAIL)
    return Caller(user.organization_id, user.id, Origin.MCP)


def _fixtures(backend: Backend, caller: Caller, settings: Settings) -> FastAPI:
    """North's server object with the suite's fixtures, with and without sessions."""

    async def always() -> Caller:
        return caller

    server = make_mcp(backend, always)
    add_tools(server)
    add_resources(server)
    add_completion(server)
    add_questions(server)
    add_requests(server)
    add_prompts(server)

    async def subscribed(context: ServerRequestContext, params: SubscribeRequestParams) -> EmptyResult:
        return EmptyResult()

    async def unsubscribed(context: ServerRequestContext, params: UnsubscribeRequestParams) -> EmptyResult:
        return EmptyResult()

    # FastMCP leaves subscriptions out; the library below it has them.
    server._mcp_server.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribed)
    server._mcp_server.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribed)
    stateless, with_sessions = over_http(server, settings), server.http_app(path=STREAMS, host_origin_protection=True)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with stateless.lifespan(stateless), with_sessions.lifespan(with_sessions):
            yield

    return FastAPI(openapi_url=None, routes=[Route(PATH, stateless), Route(STREAMS, with_sessions)], lifespan=lifespan)
