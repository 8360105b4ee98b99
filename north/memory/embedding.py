"""Adds vectors to saved memories, after the save has been acknowledged."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

import structlog

from north.connectors.embeddings import Embedder, Vector
from north.db.connect import Database, Row
from north.db.races import retried
from north.errors import DatabaseUnavailable, EmbedderUnavailable

log = structlog.get_logger(__name__)

BATCH = 64
LAST_SECONDS = 5.0
REPLY_FIRST_SECONDS = 0.001
"""How long the model waits, so that who has saved can read the reply: it would take the processor for milliseconds."""


@dataclass(frozen=True, slots=True)
class _Item:
    organization_id: UUID
    user_id: UUID
    memory_id: UUID
    content: str
    done: asyncio.Future[None]


class Backlog:
    """The memories saved by this process that wait for their vector from the local model.

    One task embeds them in batches. What is lost with the process, or fails, the worker finds again.
    """

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self._embedder = embedder
        self._queue: asyncio.Queue[_Item] = asyncio.Queue()
        self._waiting: defaultdict[UUID, set[asyncio.Future[None]]] = defaultdict(set)
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start embedding; needs a running event loop."""
        if self._embedder.local and self._task is None:
            self._task = asyncio.create_task(self._run(), name="north-embedding-backlog")

    async def stop(self) -> None:
        """Embed what is left, for at most five seconds, and end the task."""
        if self._task is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                await self._queue.join()
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._task = None

    def add(self, organization_id: UUID, user_id: UUID, memories: Sequence[tuple[UUID, str]]) -> None:
        """Queue memories, as (id, content); returns at once."""
        if self._task is None:
            return
        for memory_id, content in memories:
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting[organization_id].add(done)
            self._queue.put_nowait(_Item(organization_id, user_id, memory_id, content, done))

    def holds(self, organization_id: UUID) -> bool:
        """Whether something that this firm saved has no vector yet."""
        return organization_id in self._waiting

    async def settled(self, organization_id: UUID, seconds: float) -> None:
        """Wait until what this firm saved so far has its vectors, at most `seconds`."""
        waiting = self._waiting.get(organization_id)
        if waiting:
            self._wanted.set()
            await asyncio.wait(tuple(waiting), timeout=seconds)

    async def _run(self) -> None:
        while True:
            items = [await self._queue.get()]
            await self._let_the_reply_be_read()
            while len(items) < BATCH and not self._queue.empty():
                items.append(self._queue.get_nowait())
            try:
                await self._embed(items)
            except (EmbedderUnavailable, DatabaseUnavailable) as error:
                log.warning("embedding_postponed", code=error.code, memories=len(items))
            except Exception:
                log.exception("embedding_failed", memories=len(items))
            finally:
                for item in items:
                    self._finish(item)

    async def _let_the_reply_be_read(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(REPLY_FIRST_SECONDS):
                await self._wanted.wait()
        self._wanted.clear()

    def _finish(self, item: _Item) -> None:
        waiting = self._waiting[item.organization_id]
        waiting.discard(item.done)
        if not waiting:
            del self._waiting[item.organization_id]
        if not item.done.done():
            item.done.set_result(None)
        self._queue.task_done()

    async def _embed(self, items: Sequence[_Item]) -> None:
        vectors = await self._embedder.embed([item.content for item in items])
        by_lawyer: defaultdict[tuple[UUID, UUID], dict[UUID, Vector]] = defaultdict(dict)
        for item, vector in zip(items, vectors, strict=True):
            by_lawyer[item.organization_id, item.user_id][item.memory_id] = vector
        for (organization_id, user_id), own in by_lawyer.items():
            await _store(self._database, organization_id, user_id, own, self._embedder.name)


async def embed_stored(
    database: Database,
    embedder: Embedder,
    organization_id: UUID,
    user_id: UUID,
    ids: Sequence[UUID] | None = None,
) -> int:
    """Give the live memories that this lawyer may read their vectors, where these are missing or of another model.

    Args:
        database: where they stand.
        embedder: the configured model.
        organization_id: the firm.
        user_id: the lawyer whose personal rows, beside the firm's, are looked at.
        ids: only these memories; None for all.

    Returns:
        How many memories got a vector.

    Raises:
        EmbedderUnavailable: the model does not answer; call again later.
    """
    count = 0
    while True:
        rows = await _to_embed(
            database, organization_id, user_id, list(ids) if ids is not None else None, embedder.name
        )
        if not rows:
            return count
        vectors = await embedder.embed([row["content"] for row in rows])
        made = {row["id"]: vector for row, vector in zip(rows, vectors, strict=True)}
        await _store(database, organization_id, user_id, made, embedder.name)
        count += len(rows)


@retried
async def _to_embed(
    database: Database, organization_id: UUID, user_id: UUID, ids: list[UUID] | None, model: str
) -> list[Row]:
    async with database.bound(organization_id, user_id, read_only=True) as transaction:
        return await transaction.fetch("memory.to_embed", ids=ids, embedding_model=model, limit=BATCH)


@retried
async def _store(
    database: Database, organization_id: UUID, user_id: UUID, vectors: Mapping[UUID, Vector], model: str
) -> None:
    """Store vectors by the ids of their memories. Those that the machine's power takes with it are made again."""
    async with database.bound(organization_id, user_id) as transaction:
        await transaction.send("memory.without_waiting_for_disk")
        for memory_id in sorted(vectors):  # in one order, so that two who store the same do not wait in a circle
            await transaction.send(
                "memory.set_embedding", memory_id=memory_id, vector=vectors[memory_id], embedding_model=model
            )
