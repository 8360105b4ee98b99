"""Brings in what a lawyer told other assistants: an export → statements → memory.

What a provider remembered is saved as it is. Conversations are read by the configured miner, as threads are. An import
can be ended at any moment and run again: it goes on where it was.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import structlog

from north.chat.deeds import Deciding
from north.chat.exports import Reader, reading, temporary_file
from north.chat.mining import Miner
from north.connectors.chat_history.shapes import Item
from north.db.races import retried
from north.errors import ExportNotRecognised, ExportRefused, NorthError
from north.memory.import_report import Read
from north.memory.importing import Run, RunEnded, commit, copy_pieces, note_progress, start, wait
from north.memory.imports import end_import, get_import
from north.model import Caller, Import, ImportStatus, Origin

log = structlog.get_logger(__name__)

Result = TypeVar("Result")
OnProgress = Callable[[Import], None]

PROGRESS_SECONDS = 0.5
"""How often progress is written while something takes long."""


async def run_import(
    miner: Miner,
    caller: Caller,
    import_id: UUID,
    path: Path | None = None,
    on_progress: OnProgress = lambda _: None,
) -> Import:
    """Read an export, save what is worth remembering, and report; or go on with that.

    Args:
        miner: what reads the conversations.
        caller: whose import it is.
        import_id: the import; one that has ended is left alone.
        path: the file; None for the one that was uploaded.
        on_progress: told how the import stands, several times a second.

    Returns:
        The import as it stands: finished, failed as a whole, or cancelled meanwhile.

    Raises:
        Unavailable: the model or the database failed; run again, the import goes on where it was.
    """
    caller = replace(caller, origin=Origin.IMPORT)
    run = await start(miner.backend, caller, import_id)
    if run is not None:
        await _run(miner, run, path, on_progress)
    result = await get_import(miner.backend, caller, import_id)
    report = result.report
    log.info(
        "import_run",
        id=str(import_id),
        status=result.status.value,
        seen=report.seen,
        imported=report.imported,
        skipped=sum(report.skipped.values()),
        failed=report.failed_count,
        memories=report.memories,
    )
    return result


async def _run(miner: Miner, run: Run, path: Path | None, on_progress: OnProgress) -> None:
    backend, caller, import_id = run.backend, run.caller, run.current.id
    try:
        async with _file_of(run, path) as file, reading(file, run.current.file_name) as reader:
            await _Importer(miner, run, reader, on_progress).read_all()
    except RunEnded:
        return
    except (ExportNotRecognised, ExportRefused) as error:
        await end_import(backend, caller, import_id, ImportStatus.FAILED, error)
    except Exception:  # whatever it was, the import waits for its next run
        with suppress(NorthError):
            await wait(run)
        raise
    else:
        await end_import(backend, caller, import_id, ImportStatus.FINISHED)


@asynccontextmanager
async def _file_of(run: Run, path: Path | None) -> AsyncIterator[Path]:
    if path is not None:
        yield path
        return
    with temporary_file() as (file, place):
        await copy_pieces(run.backend, run.caller, run.current.id, file)
        yield place


class _Importer:
    """One run through an export."""

    def __init__(self, miner: Miner, run: Run, reader: Reader, on_progress: OnProgress) -> None:
        self._run, self._reader, self._on_progress = run, reader, on_progress
        self._deciding = Deciding(miner, run, reader, self._attended)

    async def read_all(self) -> None:
        """Deal with every item from where the import last was."""
        place = 0
        while items := await self._attended(self._reader.slice()):
            behind = max(0, self._run.done - place)
            self._deciding.know(items[:behind])
            place += len(items)
            rest = items[behind:]
            while rest:
                rest = rest[await self._deal(rest, len(items)) :]

    async def _attended(self, work: Awaitable[Result]) -> Result:
        """Wait for `work` and meanwhile say how far the import is, and see whether it was cancelled."""
        task = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait([task], timeout=PROGRESS_SECONDS))[0]:
                await note_progress(self._run, self._reader.progress)
                self._tell()
            return task.result()
        finally:
            if task.cancel():
                await asyncio.wait([task])

    def _tell(self) -> None:
        run = self._run
        self._on_progress(replace(run.current, status=ImportStatus.RUNNING, progress=run.progress, report=run.report))

    @retried  # another import read or saved the same a moment earlier: look again
    async def _deal(self, items: Sequence[Item], of: int) -> int:
        """Deal with the first of `items`, the rest of a slice `of` so many, and return with how many."""
        before = self._run.done
        deeds = await self._deciding.deeds(items)
        self._reader.dealt_with(1 - (len(items) - len(deeds)) / of)
        self._run.progress = max(self._run.progress, self._reader.progress)
        fates = await commit(self._run, deeds)
        last, done = deeds[-1], self._run.done - before
        self._deciding.earlier = last.earlier + fates if isinstance(last, Read) and not last.ends else Counter()
        self._deciding.know(items[:done])
        self._tell()
        return done
