"""MCP over HTTP: Streamable HTTP at `/mcp`, without sessions, beside the other surfaces."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI
from fastmcp import FastMCP
from fastmcp.server.http import StarletteWithLifespan
from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp_types import PARSE_ERROR
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from north.errors import BodyNotJson, TooManyRequests
from north.mcp.auth import Bearers
from north.mcp.oauth_routes import oauth_routes
from north.mcp.server import make_mcp
from north.memory.backend import Backend
from north.memory.json_body import check_json
from north.settings import Settings
from north.turns import Turns, bearer, in_turn

PATH = "/mcp"
BODY_LIMIT = 1_000_000
"""The largest body, in bytes."""


class StrictJson:
    """Middleware that refuses a body that can be read in two ways, as JSON-RPC refuses what it cannot read."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whose body comes whole."""
        message = await receive() if scope["type"] == "http" else None
        if message and (body := message.get("body")):
            try:
                check_json(body)
            except BodyNotJson as error:
                refusal = {"code": PARSE_ERROR, "message": f"Parse error: {error}"}
                answer = JSONResponse({"jsonrpc": "2.0", "id": None, "error": refusal}, HTTPStatus.BAD_REQUEST)
                await answer(scope, receive, send)
                return

        async def replay() -> Message:
            nonlocal message
            first, message = message, None
            return first or await receive()

        await self.app(scope, replay, send)


class InTurn:
    """The endpoint, which serves as many requests of one firm at once as the firm has turns."""

    def __init__(self, app: ASGIApp, turns: Turns) -> None:
        self.app = app
        self._turns = turns

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            await in_turn(self._turns, bearer(Headers(scope=scope)), self.app, scope, receive, send)
        except TooManyRequests as error:
            refusal = {"error": error.code, "error_description": str(error)}
            retry = {"Retry-After": str(error.detail["seconds"])}
            await JSONResponse(refusal, HTTPStatus.TOO_MANY_REQUESTS, retry)(scope, receive, send)


def over_http(server: FastMCP, settings: Settings) -> StarletteWithLifespan:
    """The server behind Streamable HTTP at `/mcp`; a request by another name, or from another site, is refused."""
    address = urlsplit(settings.address)
    return server.http_app(
        path=PATH,
        stateless_http=True,
        json_response=True,
        host_origin_protection=True,
        allowed_hosts=[address.hostname or settings.host],
        allowed_origins=[f"{address.scheme}://{address.netloc}"],
        middleware=[Middleware(RequestBodyLimitMiddleware, BODY_LIMIT), Middleware(StrictJson)],
    )


def add_mcp(app: FastAPI, backend: Backend, settings: Settings) -> None:
    """Serve MCP at exactly `/mcp` of `app`, and what OAuth needs beside it, for as long as `app` runs.

    Every request stands alone: nothing is remembered between two of them but what the database holds, so that any
    process can serve any request, and no request can be given another's answer.

    Args:
        app: the application of all surfaces.
        backend: the running North.
        settings: where people reach North; a request by another name, or from another site's page, is refused.
    """
    hosted = over_http(make_mcp(backend, auth=Bearers(backend)), settings)
    app.router.routes.append(Route(PATH, InTurn(hosted, backend.turns), include_in_schema=False))
    app.router.routes.extend(oauth_routes(backend))
    outer = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(running: FastAPI) -> AsyncIterator[Any]:
        async with outer(running) as state, hosted.lifespan(hosted):
            yield state

    app.router.lifespan_context = lifespan
