"""Killing the worker in the middle of an import: the report is the one that it would have been without."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

from north.assembly import Place, make_backend, opened
from north.memory.backend import Backend
from north.memory.imports import get_import, receive
from north.model import Caller, Import, ImportStatus
from north.settings import Settings
from tests.faults.harness import SECRET_KEY, Postgres, stage_on

ENDED = {ImportStatus.FINISHED, ImportStatus.FAILED, ImportStatus.CANCELLED}
SECONDS = 120.0


async def kill_in_mid_import(postgres: Postgres, folder: Path, *, statements: int, kills: int) -> list[str]:
    """Import a list of statements, kill the worker so many times meanwhile; what is wrong afterwards, as sentences."""
    async with stage_on(postgres, folder, {}) as stage:
        worker, caller = stage.worker(), stage.lawyers[0].caller
        place = Place(postgres.place.database_url, SECRET_KEY)
        async with opened(make_backend(Settings(model="offline", embedder="none"), place)) as backend:
            import_id = (await receive(backend, caller, "memories.txt", _list_of(statements))).id
            await worker.start()
            try:
                for number in range(1, kills + 1):
                    await _until(backend, caller, import_id, statements * number // (kills + 2))
                    await worker.kill()
                    await worker.start()
                ended = await _until(backend, caller, import_id, None)
            finally:
                await worker.stop()
        return _wrong(postgres, ended, statements)


async def _list_of(statements: int) -> AsyncIterator[bytes]:
    for number in range(statements):
        yield f"[2026-01-{number % 28 + 1:02}] - Item {number} of the list is kept in cabinet {number * 7}.\n".encode()


async def _until(backend: Backend, caller: Caller, import_id: UUID, seen: int | None) -> Import:
    """Wait until so much was seen, or without a number until the end."""
    async with asyncio.timeout(SECONDS):
        while True:
            now = await get_import(backend, caller, import_id)
            if now.status in ENDED or (seen is not None and now.report.seen >= seen):
                return now
            await asyncio.sleep(0.02)


def _wrong(postgres: Postgres, ended: Import, statements: int) -> list[str]:
    report = ended.report
    wrong = [] if ended.status is ImportStatus.FINISHED else [f"ended as {ended.status}: {ended.error}"]
    if (report.seen, report.imported, report.memories, report.failed_count) != (statements, statements, statements, 0):
        wrong.append(f"another report than without a kill: {report}")
    rows = postgres.run(
        """select content, count(*) from agent_memory_candidate
           where starts_with(content, 'Item ') and origin = 'import' group by 1"""
    )
    wrong += [f"{count} times there: {content}" for content, count in rows if count != 1]
    return wrong + ([] if len(rows) == statements else [f"{len(rows)} of {statements} are there"])
