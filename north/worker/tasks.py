"""The jobs. Their arguments are ids; they read what they need from the database, bound to one lawyer at a time."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import structlog
from procrastinate import RetryStrategy

from north.errors import EmbedderUnavailable
from north.memory.backend import Backend
from north.memory.embedding import embed_stored

log = structlog.get_logger(__name__)

RETRIES = RetryStrategy(max_attempts=12, exponential_wait=2, retry_exceptions=[EmbedderUnavailable])


def register(backend: Backend) -> None:
    """Give the queue its tasks, bound to this backend."""
    app = backend.jobs.app

    @app.task(name="embed", retry=RETRIES)
    async def embed(organization_id: str, user_id: str, memory_ids: Sequence[str]) -> None:
        ids = [UUID(memory_id) for memory_id in memory_ids]
        await embed_stored(backend.database, backend.embedder, UUID(organization_id), UUID(user_id), ids)

    @app.periodic(cron="*/5 * * * *")
    @app.task(name="embed_missing", queueing_lock="embed_missing", pass_context=False)
    async def embed_missing(timestamp: int) -> None:
        await embed_all_missing(backend)


async def embed_all_missing(backend: Backend) -> int:
    """Give a vector to every live memory, of every firm, that has none of the configured model.

    Returns:
        How many memories got one. What the model does not answer for is left for the next time.
    """
    if not backend.embedder.available:
        return 0
    count = 0
    for lawyer in await backend.database.lookup("access.lawyers"):
        try:
            count += await embed_stored(backend.database, backend.embedder, lawyer["firm_id"], lawyer["user_id"])
        except EmbedderUnavailable as error:
            log.warning("embedding_postponed", code=error.code)
            break
    return count
