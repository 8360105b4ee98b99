"""An import at work: its file, what of it was read before, and saving what was found, in step with how far it is.

What was found, the marks of what was read, the report and the place in the file are written in one transaction, which
counts on only from the place that the run has read. However often an import is run, and wherever, nothing is doubled.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import BinaryIO
from uuid import UUID

from psycopg.types.json import Jsonb

from north.db.connect import Row, Transaction
from north.db.races import retried
from north.memory.backend import Backend
from north.memory.import_report import Deed, Fates, Key, Read, counted
from north.memory.imports import to_import
from north.memory.lost import Lost
from north.memory.mining import update_in
from north.memory.save import BATCH_LIMIT, save_in
from north.model import (
    AlreadyKnown,
    Caller,
    Draft,
    Import,
    ImportReport,
    Memory,
    RefusedByRule,
    Saved,
    new_id,
)

_HASH = 8
"""Bytes of a turn's hash: enough within one conversation."""


class RunEnded(Exception):
    """The import was cancelled, or another run is further; this run has nothing more to do."""


@dataclass(slots=True)
class ReadBefore:
    """What was read of one conversation: by any import, by this one, and in how many parts."""

    turns: set[bytes] = field(default_factory=set)
    by_this: bool = False
    parts: int = 0


@dataclass(slots=True)
class Run:
    """One run of an import: how far it is. `done` are the items of the file that it is done with."""

    backend: Backend
    caller: Caller
    current: Import
    done: int
    report: ImportReport
    progress: float
    lost: Lost = field(default_factory=Lost)


def item_key(source: str, kind: str, key: str) -> Key:
    """What a conversation or an explicit memory (`kind`) is known by."""
    return source, hashlib.sha256(f"{kind}\0{key}".encode(errors="replace")).digest()


def turn_hash(key: str) -> bytes:
    """What a turn is known by within its conversation."""
    return hashlib.sha256(key.encode(errors="replace")).digest()[:_HASH]


@retried
async def start(backend: Backend, caller: Caller, import_id: UUID) -> Run | None:
    """Begin an import, or go on with it; None when it has ended, or there is none."""
    async with backend.database.tenant(caller) as transaction:
        row = await transaction.first("imports.start", import_id=import_id)
    if row is None:
        return None
    current = to_import(row)
    return Run(backend, caller, current, row["done"], current.report, current.progress)


async def copy_pieces(backend: Backend, caller: Caller, import_id: UUID, file: BinaryIO) -> None:
    """Write an uploaded file to `file`, a piece at a time."""
    number = 0
    while True:
        row = await _piece(backend, caller, import_id, number)
        if row is None:
            break
        file.write(row["piece"])
        number += 1
    file.flush()


@retried
async def _piece(backend: Backend, caller: Caller, import_id: UUID, number: int) -> Row | None:
    async with backend.database.tenant(caller, read_only=True) as transaction:
        return await transaction.first("imports.chunk", import_id=import_id, number=number)


@retried
async def note_progress(run: Run, progress: float) -> None:
    """Say how far the file is read.

    Raises:
        RunEnded: the import was cancelled.
    """
    run.progress = max(run.progress, progress)
    async with run.backend.database.tenant(run.caller) as transaction:
        row = await transaction.first("imports.note_progress", import_id=run.current.id, progress=run.progress)
    if row is None:
        raise RunEnded


@retried
async def wait(run: Run) -> None:
    """Let the import wait for its next run."""
    async with run.backend.database.tenant(run.caller) as transaction:
        await transaction.send("imports.wait", import_id=run.current.id)


@retried
async def read_before(run: Run, keys: Sequence[Key]) -> dict[Key, ReadBefore]:
    """What was read of each of these already."""
    before: defaultdict[Key, ReadBefore] = defaultdict(ReadBefore)
    if not keys:
        return before
    async with run.backend.database.tenant(run.caller) as transaction:
        rows = await transaction.fetch("imports.read_before", external_keys=[key for _, key in keys])
    for row in rows:
        each = before[row["source"], bytes(row["external_key"])]
        each.parts = max(each.parts, row["part"] + 1)
        if not row["undone"]:
            turns = bytes(row["turns"])
            each.turns.update(turns[place : place + _HASH] for place in range(0, len(turns), _HASH))
            each.by_this |= row["batch_id"] == run.current.id
    return before


# --- writing ------------------------------------------------------------------------------------------------


async def commit(run: Run, deeds: Sequence[Deed]) -> Fates:
    """Save what was found, and count on: all of it or nothing.

    Returns:
        What became of the findings of the last deed.

    Raises:
        RunEnded: the import was cancelled, or another run is further; nothing was written.
        LostRace: somebody read or saved the same at this moment; nothing was written.
    """
    reads = [deed for deed in deeds if isinstance(deed, Read)]
    caller = run.caller
    async with run.backend.database.tenant(caller) as transaction:
        held = await transaction.send("imports.hold", import_id=run.current.id, done=run.done)
        lost = await transaction.send("imports.lost", since=run.lost.since) if any(r.findings for r in reads) else None
        await _mark_read(transaction, run, reads)
        if await held.fetchone() is None:
            raise RunEnded
        run.lost.add(await lost.fetchall() if lost else [])
        fates = await _save(transaction, run, reads)
        report = counted(run.report, deeds, fates)
        done = run.done + sum(not isinstance(deed, Read) or deed.ends for deed in deeds)
        await transaction.send(
            "imports.advance",
            import_id=run.current.id,
            done=done,
            report=Jsonb(asdict(report)),
            progress=run.progress,
        )
    run.done, run.report = done, report
    return fates[-1] if fates else Counter()


async def _mark_read(transaction: Transaction, run: Run, reads: Sequence[Read]) -> None:
    # In one order, so that two imports of the same file wait for each other and not in a circle.
    rows = [
        {
            "id": new_id(),
            "source": read.key[0],
            "external_key": read.key[1],
            "part": read.part,
            "turns": b"".join(sorted(read.turns)),
        }
        for read in sorted(reads, key=lambda read: (read.key, read.part))
    ]
    await transaction.insert("imports.insert_conversation", rows, import_id=run.current.id)


async def _save(transaction: Transaction, run: Run, reads: Sequence[Read]) -> list[Fates]:
    """Let the findings through the door, and note which memories came of them."""
    fates: list[Fates] = [Counter() for _ in reads]
    newer: dict[UUID, Memory] = {}
    drafts: list[tuple[Draft, Fates]] = []
    for read, each in zip(reads, fates, strict=True):
        for finding in read.findings:
            draft, said = finding.draft, finding.said
            fate = run.lost.fate(draft, said.at, finding.replaces, reworded=read.mined) or await update_in(
                transaction, run.backend, run.caller, finding, newer
            )
            if fate == "new":
                drafts.append((draft, each))
            else:
                each[fate] += 1
    brought = [memory.id for memory in newer.values()]
    for start_ in range(0, len(drafts), BATCH_LIMIT):
        batch = drafts[start_ : start_ + BATCH_LIMIT]
        outcomes = await save_in(transaction, run.backend, run.caller, [draft for draft, _ in batch])
        for (_, each), outcome in zip(batch, outcomes, strict=True):
            match outcome:
                case Saved():
                    each["saved"] += 1
                    brought.append(outcome.memory.id)
                case AlreadyKnown():
                    each["known"] += 1
                case RefusedByRule():
                    each["refused"] += 1
                case _:
                    raise AssertionError("personal memory knows no wall")
    await transaction.insert(
        "imports.insert_memory", [{"memory_id": memory_id} for memory_id in brought], import_id=run.current.id
    )
    return fates
