"""The composition root: settings → database, model, embedder → surfaces."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import structlog
from fastapi import FastAPI

from north import __version__
from north.api.operations import add_operations
from north.api.site import make_api
from north.chat.models import make_model
from north.chat.turn import make_assistant
from north.connectors.embeddings import Embedder, make_embedder
from north.db.canary import check_isolation
from north.db.connect import Database
from north.db.jobs import Jobs
from north.errors import EmbedderUnavailable, Misconfigured
from north.mcp.site import add_mcp
from north.memory.backend import Backend
from north.memory.embedding import Backlog
from north.settings import Settings
from north.web.site import add_web
from north.worker.run import worker_beside

log = structlog.get_logger(__name__)

SECRET_LEAST = 32


@dataclass(frozen=True, slots=True)
class Place:
    """Where North's data is, and the key to the hashes in it."""

    database_url: str
    secret_key: str


def make_backend(settings: Settings, place: Place) -> Backend:
    """Put the parts together; nothing is opened yet.

    Raises:
        Misconfigured: the embedder's name or the secret key cannot be used.
    """
    if len(place.secret_key) < SECRET_LEAST:
        raise Misconfigured(reason=f"NORTH_SECRET_KEY needs at least {SECRET_LEAST} characters; set a random one")
    database = Database(place.database_url)
    embedder = make_embedder(settings.embedder)
    return Backend(
        database=database,
        embedder=embedder,
        backlog=Backlog(database, embedder),
        jobs=Jobs(place.database_url),
        secret_key=hashlib.sha256(place.secret_key.encode()).digest(),
        settings=settings,
    )


@asynccontextmanager
async def opened(backend: Backend) -> AsyncIterator[Backend]:
    """A backend at work: connected, checked by the canary, embedding what is saved.

    Raises:
        DatabaseUnavailable: it cannot be reached.
        IsolationBroken: the database does not keep firms apart; North refuses to serve from it.
    """
    await backend.database.open()
    try:
        await check_isolation(backend.database)
        backend.backlog.start()
        yield backend
    finally:
        await backend.backlog.stop()
        await backend.embedder.aclose()
        await backend.database.close()


async def _load(embedder: Embedder) -> None:
    """Load the model while the first page is read; without it, words alone decide."""
    if embedder.available:
        try:
            await embedder.warm()
        except EmbedderUnavailable as error:
            log.warning("embedder_unavailable", code=error.code, reason=str(error))


def make_app(settings: Settings, place: Place, *, worker: bool = False) -> FastAPI:
    """The web pages, the REST API, MCP and the operator's endpoints as one ASGI application.

    Args:
        settings: what the operator set.
        place: where the data is.
        worker: whether jobs run in this process too.
    """
    backend = make_backend(settings, place)
    assistant = make_assistant(backend, make_model(settings.chat_model, settings))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(opened(backend))
            loading = asyncio.create_task(_load(backend.embedder), name="north-embedder-loading")
            stack.callback(loading.cancel)
            if worker:
                await stack.enter_async_context(worker_beside(backend))
            yield

    app = FastAPI(
        title="North", version=__version__, docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan
    )
    app.state.backend = backend
    app.state.assistant = assistant
    app.mount("/api", make_api(backend, assistant))
    add_operations(app)
    add_mcp(app, backend, settings)
    add_web(app)
    return app
