"""The composition root: settings → database, model, embedder → surfaces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import structlog
from fastapi import FastAPI

from north import __version__
from north.api.operations import add_operations
from north.api.site import make_api
from north.assembly import Place, make_backend, opened
from north.chat.assistant import make_assistant
from north.chat.mining import configured_miner
from north.chat.models import make_model
from north.chat.turn import turns_ended
from north.connectors.client_documents import ClientDocuments
from north.connectors.embeddings import Embedder
from north.errors import EmbedderUnavailable
from north.mcp.site import add_mcp
from north.settings import Settings
from north.web.site import add_web
from north.worker.run import worker_beside

log = structlog.get_logger(__name__)

STORING_SECONDS = 3.0


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
    miner = configured_miner(backend, settings) if worker else None

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(opened(backend))
            loading = asyncio.create_task(_load(backend.embedder), name="north-embedder-loading")
            stack.callback(loading.cancel)
            # A server that ends has stopped the answers that took too long; what they had said is to be stored.
            stack.push_async_callback(turns_ended, STORING_SECONDS)
            if miner:
                await stack.enter_async_context(worker_beside(backend, miner))
            yield

    app = FastAPI(
        title="North", version=__version__, docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan
    )
    app.state.backend = backend
    app.state.assistant = assistant
    app.state.client_documents = ClientDocuments()
    app.mount("/api", make_api(backend, assistant))
    add_operations(app)
    add_mcp(app, backend, settings)
    add_web(app)
    return app
