"""Puts together what every surface and command works with: settings and a place → database, embedder, jobs."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from north.connectors.embeddings import make_embedder
from north.db.canary import check_isolation
from north.db.connect import Database
from north.db.jobs import Jobs
from north.errors import Misconfigured
from north.memory.backend import Backend
from north.memory.embedding import Backlog
from north.memory.vector_cache import VectorCache
from north.settings import Settings

SECRET_LEAST = 32
"""The fewest characters of NORTH_SECRET_KEY."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where North's data is, as `north_app` and as `scheduler_role`, and the key to the hashes in it."""

    database_url: str
    secret_key: str
    scheduler_url: str | None = None


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
        vector_cache=VectorCache(settings.vector_cache_megabytes),
        scheduler_url=place.scheduler_url,
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
