"""What the operator's tools ask: is it up, is it ready, how is it doing."""

from __future__ import annotations

import time
from http import HTTPStatus

from fastapi import FastAPI
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from north.api.metrics import VECTORS, Measured, show_jobs
from north.db.jobs import standing
from north.errors import DatabaseUnavailable
from north.memory.backend import Backend

READY_SECONDS = 3.0
ASKED_LATELY_SECONDS = 60.0


class Readiness:
    """Whether this server wants requests, as `/readyz` tells whoever spreads them over several servers."""

    def __init__(self) -> None:
        self.ending = False
        self._asked_at = float("-inf")

    def asked(self) -> None:
        """Note that somebody asks."""
        self._asked_at = time.monotonic()

    @property
    def watched(self) -> bool:
        """Whether somebody asked within the last minute, and so will notice when the answer changes."""
        return time.monotonic() - self._asked_at < ASKED_LATELY_SECONDS


def add_operations(app: FastAPI) -> None:
    """Add `/healthz`, `/readyz` and `/metrics` to `app`, which carries the `Backend` in its state, and measure it."""
    app.state.readiness = Readiness()
    app.add_middleware(Measured)
    app.add_api_route("/healthz", _health, include_in_schema=False)
    app.add_api_route("/readyz", _readiness, include_in_schema=False)
    app.add_api_route("/metrics", _metrics, include_in_schema=False)


async def _health() -> Response:
    """The process answers."""
    return JSONResponse({"status": "up"})


async def _readiness(request: Request) -> Response:
    """This server is not about to end, and the database answers, through the pool and as the role that serves."""
    backend: Backend = request.app.state.backend
    readiness: Readiness = request.app.state.readiness
    readiness.asked()
    if readiness.ending:
        return JSONResponse({"status": "ending"}, HTTPStatus.SERVICE_UNAVAILABLE)
    if not await backend.database.answers(READY_SECONDS):
        return JSONResponse({"status": "database_unavailable"}, HTTPStatus.SERVICE_UNAVAILABLE)
    return JSONResponse({"status": "ready"})


async def _metrics(request: Request) -> Response:
    """What this process counts, and how the jobs stand, which are counted in the database."""
    backend: Backend = request.app.state.backend
    VECTORS.set(backend.vector_cache.bytes)
    try:
        show_jobs(await standing(backend.database) if await backend.database.answers(READY_SECONDS) else [])
    except DatabaseUnavailable:
        show_jobs([])  # better none than those of a while ago
    return Response(generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})
