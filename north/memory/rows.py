"""From a row of the database to a memory, as one caller may see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor

from north.db.connect import Row, Transaction
from north.model import Caller, Confidence, Matter, Memory, MemoryType, Origin, Person, Scope, Source


def to_memory(row: dict[str, Any], caller: Caller) -> Memory:
    """Build a memory; a thread that is deleted, or a colleague's, is not named."""
    return Memory(
        id=row["id"],
        content=row["content"],
        type=MemoryType(row["type"]),
        scope=Scope(row["scope"]),
        matter=Matter(row["matter_id"], row["matter_number"], row["matter_name"]) if row["matter_id"] else None,
        status=row["status"],
        confidence=Confidence(row["confidence"]),
        origin=Origin(row["origin"]),
        created_at=row["created_at"],
        captured_by=_person(row, "captured_by"),
        source=_source(row, caller),
        supersedes_id=row["supersedes_id"],
        superseded_at=row["superseded_at"],
        archived_at=row["archived_at"],
        archived_by=_person(row, "archived_by"),
        evidence=row["evidence"],
        uses=row["uses"],
        last_used_at=row["last_used_at"],
    )


def _person(row: dict[str, Any], column: str) -> Person | None:
    found = row[f"{column}_id"]
    return Person(found, row[f"{column}_name"]) if found else None


def _source(row: dict[str, Any], caller: Caller) -> Source | None:
    if row["source_thread_id"] is None and row["source_label"] is None:
        return None
    yours = row["captured_by_id"] == caller.user_id
    open_to_caller = yours and row.get("thread_deleted_at") is None
    return Source(
        thread_id=row["source_thread_id"] if open_to_caller else None,
        message_id=row["source_message_id"] if open_to_caller else None,
        label=row["source_label"] or (row.get("thread_title") if open_to_caller else None) or None,
        yours=yours,
    )


async def memories_by_id(transaction: Transaction, caller: Caller, ids: Sequence[UUID]) -> dict[UUID, Memory]:
    """The memories with these ids that the caller may read."""
    return await answer_by_id(await ask_by_id(transaction, ids), caller)


async def ask_by_id(transaction: Transaction, ids: Sequence[UUID]) -> AsyncCursor[Row] | None:
    """Queue the question for the memories with these ids; None when there are none."""
    return await transaction.send("memory.by_ids", ids=list(ids)) if ids else None


async def answer_by_id(cursor: AsyncCursor[Row] | None, caller: Caller) -> dict[UUID, Memory]:
    """Those memories, as far as the caller may read them, by their ids."""
    return {row["id"]: to_memory(row, caller) for row in await cursor.fetchall()} if cursor else {}
