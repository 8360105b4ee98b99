"""A lawyer's imports: a file comes in and waits to be read; how each stands; cancelling and undoing one.

The file is kept in Postgres in pieces until its import ends, so that the web server and the worker need no common disk,
and walls and backups hold for it as for everything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import PureWindowsPath
from uuid import UUID

import structlog

from north.db.connect import Row, Transaction
from north.db.races import retried
from north.errors import (
    ImportEmpty,
    ImportEnded,
    ImportNotFound,
    ImportRunning,
    ImportTooLarge,
    NorthError,
    TooManyImports,
    Unavailable,
)
from north.memory.backend import Backend
from north.memory.events import tell
from north.memory.text import visible
from north.model import Caller, FailedConversation, Import, ImportReport, ImportStatus, new_id

log = structlog.get_logger(__name__)

IMPORT_LIMIT = 2 * 1024**3
"""The largest file, in bytes."""
PIECE = 1024**2
"""The size of what is stored of a file at a time, in bytes; the last piece is smaller."""
FILES_LIMIT = 20
"""How many files of one lawyer may be kept at a time: each goes when it has been read."""
NAME_LIMIT = 200
UNDONE_AT_ONCE = 2000
TASK = "import"
LEFT_ALONE = timedelta(hours=1)
"""An upload of which nothing has come for so long, or an import that nothing has moved, is given up."""


async def receive(backend: Backend, caller: Caller, file_name: str, chunks: AsyncIterator[bytes]) -> Import:
    """Store a file and queue its import. No connection is held while the next chunk is waited for.

    Args:
        backend: the running North.
        caller: whose import it is.
        file_name: what the lawyer calls the file; it decides nothing.
        chunks: the file, in parts of any size.

    Raises:
        ImportTooLarge: the file has more than 2 GiB.
        ImportEmpty: the file has no byte.
        TooManyImports: the lawyer has 20 files that arrive, wait or are read.
        DatabaseUnavailable: it cannot be stored.

    Whatever is raised, by this or by `chunks`, nothing of the file stays behind.
    """
    import_id = new_id()
    queued: Import | None = None
    try:
        count = await _store(backend, caller, import_id, chunks)
        queued = await _queue(backend, caller, import_id, file_name, count)
    finally:
        if queued is None:  # in a task of its own, which goes on when the client has gone and this one is cancelled
            await asyncio.shield(asyncio.ensure_future(_forget(backend, caller, import_id)))
    return queued


@retried
async def begin(backend: Backend, caller: Caller, file_name: str) -> Import:
    """An import whose file is at hand, and which the caller runs: nothing is stored of it and no job is queued."""
    async with backend.database.tenant(caller) as transaction:
        row = await transaction.first("imports.insert_import", import_id=new_id(), file_name=_shown_name(file_name))
    assert row is not None
    return to_import(row)


async def _store(backend: Backend, caller: Caller, import_id: UUID, chunks: AsyncIterator[bytes]) -> int:
    """How many pieces the file has."""
    count = size = 0
    async for piece in _pieces(chunks):
        size += len(piece)
        if size > IMPORT_LIMIT:
            raise ImportTooLarge(limit=IMPORT_LIMIT)
        await _store_piece(backend, caller, import_id, count, piece)
        count += 1
    if not count:
        raise ImportEmpty
    return count


@retried
async def _store_piece(backend: Backend, caller: Caller, import_id: UUID, number: int, piece: bytes) -> None:
    async with backend.database.tenant(caller) as transaction:
        if number == 0:
            kept = await transaction.first("imports.files_kept")
            if kept and kept["files"] >= FILES_LIMIT:
                raise TooManyImports(limit=FILES_LIMIT)
        await transaction.send("imports.insert_chunk", import_id=import_id, number=number, piece=piece)


async def _pieces(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    held = bytearray()
    async for chunk in chunks:
        held += chunk
        while len(held) >= PIECE:
            yield bytes(held[:PIECE])
            del held[:PIECE]
    if held:
        yield bytes(held)


@retried
async def _queue(backend: Backend, caller: Caller, import_id: UUID, file_name: str, count: int) -> Import:
    ids = {"organization_id": str(caller.organization_id), "user_id": str(caller.user_id), "import_id": str(import_id)}
    async with backend.database.tenant(caller) as transaction:
        stored = await transaction.first("imports.chunk_count", import_id=import_id)
        if stored is None or stored["count"] != count:  # it took so long that it was given up
            raise Unavailable
        row = await transaction.first("imports.insert_import", import_id=import_id, file_name=_shown_name(file_name))
        await backend.jobs.enqueue(transaction, TASK, alone=job_name(import_id), **ids)
    assert row is not None
    return to_import(row)


@retried
async def _forget(backend: Backend, caller: Caller, import_id: UUID) -> None:
    try:
        async with backend.database.tenant(caller) as transaction:
            await transaction.send("imports.delete_unqueued_chunks", import_id=import_id)
    except NorthError as error:  # the tidying job does it later
        log.warning("upload_not_forgotten", code=error.code)


def job_name(import_id: UUID) -> str:
    """Under this name one job runs at a time."""
    return f"{TASK}:{import_id}"


@retried
async def list_imports(backend: Backend, caller: Caller, limit: int = 50) -> list[Import]:
    """The lawyer's imports, newest first."""
    async with backend.database.tenant(caller, read_only=True) as transaction:
        rows = await transaction.fetch("imports.listed", limit=limit)
    return [to_import(row) for row in rows]


@retried
async def get_import(backend: Backend, caller: Caller, import_id: UUID) -> Import:
    """One of the lawyer's imports.

    Raises:
        ImportNotFound: they have none of this id.
    """
    async with backend.database.tenant(caller, read_only=True) as transaction:
        row = await transaction.first("imports.one", import_id=import_id)
    if row is None:
        raise ImportNotFound
    return to_import(row)


async def cancel_import(backend: Backend, caller: Caller, import_id: UUID) -> Import:
    """End an import that waits or runs. What it has saved stays; undo takes that back.

    Raises:
        ImportNotFound: the lawyer has none of this id.
        ImportEnded: it has ended already.
    """
    cancelled = await end_import(backend, caller, import_id, ImportStatus.CANCELLED)
    if cancelled is None:
        await get_import(backend, caller, import_id)
        raise ImportEnded
    return cancelled


@retried
async def end_import(
    backend: Backend, caller: Caller, import_id: UUID, status: ImportStatus, error: NorthError | None = None
) -> Import | None:
    """End an import and forget its file; None when it has ended already, or there is none."""
    why = {"error_code": error.code if error else None, "error": str(error) if error else None}
    async with backend.database.tenant(caller) as transaction:
        row = await transaction.first("imports.end", import_id=import_id, status=status, **why)
        if row:
            await transaction.send("imports.delete_chunks", import_id=import_id)
    return to_import(row) if row else None


@retried
async def undo_import(backend: Backend, caller: Caller, import_id: UUID) -> Import:
    """Archive what an import brought and is still live; undoing it again changes nothing.

    What the import replaced is not restored, and what the lawyer made of its memories by editing stays. The same file
    can be imported again, as if it never had been.

    Raises:
        ImportNotFound: the lawyer has none of this id.
        ImportRunning: it has not ended yet.
    """
    async with backend.database.tenant(caller) as transaction:
        if await transaction.first("imports.mark_undone", import_id=import_id):
            count = await _archive_brought(transaction, import_id)
            await tell(transaction, caller, [("import_undone", import_id, {"memories": str(count)})])
        row = await transaction.first("imports.one", import_id=import_id)
    if row is None:
        raise ImportNotFound
    if row["undone_at"] is None:
        raise ImportRunning
    return to_import(row)


async def _archive_brought(transaction: Transaction, import_id: UUID) -> int:
    """Archive it in one transaction, but no more in a statement than one has time for."""
    brought = [row["memory_id"] for row in await transaction.fetch("imports.brought", import_id=import_id)]
    count = 0
    for place in range(0, len(brought), UNDONE_AT_ONCE):
        rows = await transaction.fetch("imports.archive", memory_ids=brought[place : place + UNDONE_AT_ONCE])
        await transaction.send("imports.delete_terms", memory_ids=[row["id"] for row in rows])
        count += len(rows)
    return count


@retried
async def give_up_abandoned(backend: Backend, caller: Caller, held: set[str]) -> int:
    """Forget uploads that never ended, and end imports that nobody runs any more, such as a killed command's.

    Args:
        backend: the running North.
        caller: whose.
        held: the names of the jobs that wait, run or are parked; their imports are left alone.

    Returns:
        How many imports were ended.
    """
    async with backend.database.tenant(caller) as transaction:
        await transaction.send("imports.delete_abandoned_chunks", silent=LEFT_ALONE)
        rows = await transaction.fetch("imports.left_alone", silent=LEFT_ALONE)
    left: Sequence[UUID] = [row["id"] for row in rows if job_name(row["id"]) not in held]
    for import_id in left:
        await end_import(backend, caller, import_id, ImportStatus.CANCELLED)
    return len(left)


def to_import(row: Row) -> Import:
    """From a row of the database."""
    return Import(
        id=row["id"],
        file_name=row["file_name"],
        status=ImportStatus(row["status"]),
        progress=row["progress"],
        report=_to_report(row["report"]),
        created_at=row["created_at"],
        finished_at=row["finished_at"],
        undone_at=row["undone_at"],
        error_code=row["error_code"],
        error=row["error"],
    )


def _to_report(stored: Row) -> ImportReport:
    failed = tuple(FailedConversation(**each) for each in stored.get("failed", ()))
    return ImportReport(**{**stored, "failed": failed})


def _shown_name(file_name: str) -> str:
    """The last part of a path of any system, as it can be stored and shown."""
    return visible(PureWindowsPath(file_name).name)[:NAME_LIMIT].strip() or "file"
