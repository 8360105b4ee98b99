"""The jobs. Their arguments are ids; they read what they need from the database, bound to one lawyer at a time."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import structlog

from north.chat.importing import run_import
from north.chat.mining import Miner, mine_thread
from north.db.races import retried
from north.errors import DatabaseUnavailable, EmbedderUnavailable
from north.memory.backend import Backend
from north.memory.embedding import embed_stored
from north.memory.imports import TASK as IMPORT
from north.memory.imports import give_up_abandoned
from north.memory.mining import idle_threads
from north.memory.trust import sweep
from north.model import Caller, Origin
from north.worker.failures import Patience

log = structlog.get_logger(__name__)


def register(backend: Backend, miner: Miner) -> None:
    """Give the queue its tasks, bound to this backend.

    Periodic tasks are not tried again: their next run does what this one did not.
    """
    app, patience = backend.jobs.app, Patience(backend.database.now)

    @app.task(name="embed", retry=patience)
    async def embed(organization_id: str, user_id: str, memory_ids: Sequence[str]) -> None:
        ids = [UUID(memory_id) for memory_id in memory_ids]
        await embed_stored(backend.database, backend.embedder, UUID(organization_id), UUID(user_id), ids)

    @app.periodic(cron="*/5 * * * *")
    @app.task(name="embed_missing", queueing_lock="embed_missing", lock="embed_missing", pass_context=False)
    async def embed_missing(timestamp: int) -> None:
        await embed_all_missing(backend)

    @app.task(name="mine", retry=patience)
    async def mine(organization_id: str, user_id: str, thread_id: str) -> None:
        thread = UUID(thread_id)
        caller = Caller(UUID(organization_id), UUID(user_id), Origin.MINER, thread_id=thread)
        await mine_thread(miner, caller, thread)

    @app.periodic(cron="* * * * *")
    @app.task(name="mine_idle", queueing_lock="mine_idle", lock="mine_idle", pass_context=False)
    async def mine_idle(timestamp: int) -> None:
        await enqueue_idle(backend)

    @app.task(name=IMPORT, retry=patience)
    async def bring_in(organization_id: str, user_id: str, import_id: str) -> None:
        await import_file(backend, miner, UUID(organization_id), UUID(user_id), UUID(import_id))

    @app.periodic(cron="20 * * * *")
    @app.task(name="tidy_imports", queueing_lock="tidy_imports", lock="tidy_imports", pass_context=False)
    async def tidy(timestamp: int) -> None:
        await tidy_imports(backend)

    @app.periodic(cron="30 2 * * *")
    @app.task(name="sweep", queueing_lock="sweep", lock="sweep", pass_context=False)
    async def nightly_sweep(timestamp: int) -> None:
        if backend.scheduler_url is None:
            log.warning("sweep_not_configured", setting="NORTH_SCHEDULER_DATABASE_URL")
        else:
            await sweep(backend.scheduler_url)


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


async def import_file(backend: Backend, miner: Miner, organization_id: UUID, user_id: UUID, import_id: UUID) -> None:
    """Run an import, or go on with it; then give what it brought its vectors, where this machine makes them."""
    await run_import(miner, Caller(organization_id, user_id, Origin.IMPORT), import_id)
    if backend.embedder.local:  # a provider's are jobs of their own
        try:
            await embed_stored(backend.database, backend.embedder, organization_id, user_id)
        except EmbedderUnavailable as error:
            log.warning("embedding_postponed", code=error.code)


async def tidy_imports(backend: Backend) -> int:
    """Forget uploads that never ended, and end imports that nobody runs any more, of every lawyer of every firm.

    Returns:
        How many imports were ended.
    """
    held = {row["lock"] for row in await backend.database.lookup("jobs.held", task=IMPORT)}
    count = 0
    for lawyer in await backend.database.lookup("access.lawyers"):
        try:
            count += await give_up_abandoned(backend, Caller(lawyer["firm_id"], lawyer["user_id"], Origin.IMPORT), held)
        except DatabaseUnavailable as error:
            log.warning("tidying_postponed", code=error.code)
            break
    return count


async def enqueue_idle(backend: Backend) -> int:
    """Queue every idle thread, of every lawyer of every firm, that has something to mine.

    A thread whose job waits, runs or is parked is not queued again: an operator retries a parked one.

    Returns:
        How many threads were queued.
    """
    held = {row["lock"] for row in await backend.database.lookup("jobs.held", task="mine")}
    count = 0
    for lawyer in await backend.database.lookup("access.lawyers"):
        try:
            count += await _enqueue_idle_of(backend, lawyer["firm_id"], lawyer["user_id"], held)
        except DatabaseUnavailable as error:
            log.warning("mining_postponed", code=error.code)
            break
    return count


@retried
async def _enqueue_idle_of(backend: Backend, organization_id: UUID, user_id: UUID, held: set[str]) -> int:
    async with backend.database.bound(organization_id, user_id) as transaction:
        threads = [thread for thread in await idle_threads(transaction, backend) if _name(thread) not in held]
        for thread_id in threads:
            await backend.jobs.enqueue(
                transaction,
                "mine",
                alone=_name(thread_id),
                organization_id=str(organization_id),
                user_id=str(user_id),
                thread_id=str(thread_id),
            )
    return len(threads)


def _name(thread_id: UUID) -> str:
    return f"mine:{thread_id}"
