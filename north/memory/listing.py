"""What a lawyer sees of everything that North remembers, page by page."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from north.db.connect import Transaction
from north.db.races import retried
from north.errors import InvalidInput, MemoryNotFound
from north.memory.backend import Backend
from north.memory.input import like_patterns
from north.memory.matters import matter_in
from north.memory.rows import memories_by_id
from north.model import Caller, Memory, MemoryType, Origin, Scope, Status

PAGE_LIMIT = 200


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Which memories to list. None means any; `query` asks for texts that hold each of its words."""

    scope: Scope | None = None
    type: MemoryType | None = None
    matter: str | None = None
    status: Status = Status.ACTIVE
    origin: Origin | None = None
    query: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Memories, newest first; `next_cursor` leads to the next page and is None on the last."""

    memories: tuple[Memory, ...]
    next_cursor: str | None


@retried
async def list_memories(
    backend: Backend, caller: Caller, filters: MemoryFilter, cursor: str | None = None, limit: int = 50
) -> Page:
    """List what the caller may see: their personal memory, every matter's and the firm's.

    Args:
        backend: the running North.
        caller: the lawyer.
        filters: which memories.
        cursor: `next_cursor` of the page before.
        limit: memories a page, 1 to 200.

    Raises:
        MatterNotFound: the filter names a matter that the firm does not have.
        InvalidInput: the cursor or the limit is not valid.
    """
    if not 1 <= limit <= PAGE_LIMIT:
        raise InvalidInput(reason=f"limit is 1 to {PAGE_LIMIT}")
    after_time, after_id = _read_cursor(cursor)
    async with backend.database.tenant(caller, read_only=True) as transaction:
        rows = await transaction.fetch(
            "memory.page",
            **await narrowing(transaction, filters),
            patterns=like_patterns(filters.query),
            after_time=after_time,
            after_id=after_id,
            limit=limit + 1,
        )
        page = rows[:limit]
        memories = await memories_by_id(transaction, caller, [row["id"] for row in page])
    more = _write_cursor(page[-1]["created_at"], page[-1]["id"]) if len(rows) > limit else None
    return Page(tuple(memories[row["id"]] for row in page), more)


async def narrowing(transaction: Transaction, filters: MemoryFilter) -> dict[str, Any]:
    """What the filters, besides the query, are to a statement.

    Raises:
        MatterNotFound: they name a matter that the firm does not have.
    """
    matter = await matter_in(transaction, filters.matter) if filters.matter else None
    return {
        "status": filters.status,
        "scope": filters.scope,
        "type": filters.type,
        "origin": filters.origin,
        "matter_id": matter.id if matter else None,
    }


@retried
async def get_memory(backend: Backend, caller: Caller, memory_id: UUID) -> Memory:
    """One memory, whatever its status.

    Raises:
        MemoryNotFound: no such memory for this caller.
    """
    async with backend.database.tenant(caller, read_only=True) as transaction:
        found = await memories_by_id(transaction, caller, [memory_id])
    if not found:
        raise MemoryNotFound
    return found[memory_id]


def _write_cursor(created_at: datetime, memory_id: UUID) -> str:
    return base64.urlsafe_b64encode(json.dumps([created_at.isoformat(), str(memory_id)]).encode()).decode()


def _read_cursor(cursor: str | None) -> tuple[datetime | None, UUID | None]:
    if cursor is None:
        return None, None
    try:
        time, memory_id = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        after = datetime.fromisoformat(time)
        if after.tzinfo is None:
            raise ValueError("no time zone")
        return after, UUID(memory_id)
    except (ValueError, TypeError, AttributeError, RecursionError, binascii.Error) as error:
        raise InvalidInput(reason="the cursor is not one that North gave out; start from the first page") from error
