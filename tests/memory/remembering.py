"""Short ways to say what is saved, and to look at the tables behind it."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.rows import dict_row

from north.memory.backend import Backend
from north.memory.listing import MemoryFilter, list_memories
from north.memory.save import save
from north.model import Caller, Draft, Memory, MemoryType, Saved, Scope
from tests.conftest import TestDatabase


def personal(content: str, type: MemoryType = MemoryType.FACT) -> Draft:
    return Draft(content, type)


def on_matter(content: str, matter: str = "HV-1001", type: MemoryType = MemoryType.FACT) -> Draft:
    return Draft(content, type, Scope.MATTER, matter)


def of_firm(content: str) -> Draft:
    return Draft(content, MemoryType.FACT, Scope.FIRM_GLOBAL)


async def remember(backend: Backend, caller: Caller, draft: Draft | str) -> Memory:
    """Save what is new, and return it."""
    (outcome,) = await save(backend, caller, [personal(draft) if isinstance(draft, str) else draft])
    assert isinstance(outcome, Saved)
    return outcome.memory


async def everything(backend: Backend, caller: Caller) -> list[str]:
    """The texts of all live memories that the lawyer may see, newest first."""
    return [memory.content for memory in (await list_memories(backend, caller, MemoryFilter())).memories]


def stored(database: TestDatabase, query: str, *parameters: object) -> list[dict[str, Any]]:
    """Rows as they stand, read past the walls."""
    with psycopg.connect(database.superuser_url, row_factory=dict_row) as connection:
        return connection.execute(query.encode(), parameters).fetchall()


def count(database: TestDatabase, table: str, caller: Caller) -> int:
    """How many rows of a table the caller's firm has."""
    query = f"select count(*) as count from {table} where organization_id = %s"
    return int(stored(database, query, caller.organization_id)[0]["count"])
