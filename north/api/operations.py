"""What the operator's tools ask: is it up, is it ready, how is it doing."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from fastapi import FastAPI
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from north.api.metrics import Measured, show_jobs
from north.db.jobs import standing
from north.errors import DatabaseUnavailable
from north.memory.backend import Backend

READY_SECONDS = 3.0


def add_operations(app: FastAPI) -> None:
    """Add `/healthz`, `/readyz` and `/metrics` to `app`, which carries the `Backend` in its state, and measure it."""
    app.add_middleware(Measured)
    app.add_api_route("/healthz", _health, include_in_schema=False)
    app.add_api_route("/readyz", _readiness, include_in_schema=False)
    app.add_api_route("/metrics", _metrics, include_in_schema=False)


async def _health() -> Response:
    """The process answers."""
    return JSONResponse({"status": "up"})


async def _readiness(request: Request) -> Response:
    """The database answers, through the pool and as the role that serves."""
    backend: Backend = request.app.state.backend
    try:
        async with asyncio.timeout(READY_SECONDS), backend.database.tenant(None, None):
            pass
    except (DatabaseUnavailable, TimeoutError):
        return JSONResponse({"status": "database_unavailable"}, HTTPStatus.SERVICE_UNAVAILABLE)
    return JSONResponse({"status": "ready"})


async def _metrics(request: Request) -> Response:
    """What this process counts, and how the jobs stand, which are counted in the database."""
    backend: Backend = request.app.state.backend
    try:
        async with asyncio.timeout(READY_SECONDS):
            show_jobs(await standing(backend.database))
    except (DatabaseUnavailable, TimeoutError):
        show_jobs([])  # better none than those of a while ago
    return Response(generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})
