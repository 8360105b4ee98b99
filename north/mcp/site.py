"""MCP over HTTP: Streamable HTTP at `/mcp`, without sessions, beside the other surfaces."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI
from fastmcp import FastMCP
from fastmcp.server.http import StarletteWithLifespan
from starlette.routing import Route

from north.mcp.auth import Bearers
from north.mcp.oauth_routes import oauth_routes
from north.mcp.server import make_mcp
from north.memory.backend import Backend
from north.settings import Settings

PATH = "/mcp"


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
    app.router.routes.append(Route(PATH, hosted, include_in_schema=False))
    app.router.routes.extend(oauth_routes(backend))
    outer = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(running: FastAPI) -> AsyncIterator[Any]:
        async with outer(running) as state, hosted.lifespan(hosted):
            yield state

    app.router.lifespan_context = lifespan
