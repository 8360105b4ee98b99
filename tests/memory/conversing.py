"""Threads as they lie in the database, some while after their lawyer has left them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from north.memory.backend import Backend
from north.memory.mining import Passage, read_passage
from north.model import Caller, Origin, new_id
from tests.conftest import TestDatabase
from tests.memory.remembering import stored

MONDAY = datetime(2026, 6, 1, 9, 0, tzinfo=UTC)

Turn = tuple[str, str]
"""What the lawyer said, and what the assistant answered; an empty answer never came."""


async def conversation(
    backend: Backend,
    database: TestDatabase,
    caller: Caller,
    *turns: Turn | str,
    matter: UUID | None = None,
    at: datetime = MONDAY,
) -> UUID:
    """An idle thread with these turns, a minute apart."""
    thread_id = new_id()
    async with backend.database.tenant(caller) as transaction:
        await transaction.send("threads.insert_thread", id=thread_id, matter_id=matter, incognito=False)
    await continued(backend, database, caller, thread_id, *turns, at=at)
    return thread_id


async def continued(
    backend: Backend,
    database: TestDatabase,
    caller: Caller,
    thread_id: UUID,
    *turns: Turn | str,
    at: datetime = MONDAY + timedelta(hours=5),
) -> None:
    """More turns of a thread, which is then left alone."""
    for minute, turn in enumerate(turns):
        said, answered = (turn, "") if isinstance(turn, str) else turn
        for role, text in (("user", said), ("assistant", answered)):
            if text:
                await _message(backend, database, caller, thread_id, role, text, at + timedelta(minutes=minute))
    change(database, "update chat_thread set updated_at = now() - interval '1 hour' where id = %s", thread_id)


async def _message(
    backend: Backend, database: TestDatabase, caller: Caller, thread_id: UUID, role: str, text: str, at: datetime
) -> None:
    row = {"id": new_id(), "thread_id": thread_id, "role": role, "content": text, "error_code": None}
    row |= {"model_messages": None, "effects": Jsonb({"recalled": []})}
    async with backend.database.tenant(caller) as transaction:
        await transaction.send("threads.insert_message", **row)
    change(database, "update chat_message set created_at = %s where id = %s", at, row["id"])


def change(database: TestDatabase, statement: str, *parameters: object) -> None:
    """Change rows past the walls."""
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute(statement.encode(), parameters)


def mining(caller: Caller, thread_id: UUID) -> Caller:
    """The thread's lawyer, as the miner acts for them."""
    return replace(caller, origin=Origin.MINER, thread_id=thread_id)


async def passage_of(backend: Backend, caller: Caller, thread_id: UUID) -> Passage:
    passage = await read_passage(backend, mining(caller, thread_id), thread_id)
    assert passage is not None
    return passage


def mined_through(database: TestDatabase, thread_id: UUID) -> UUID | None:
    (row,) = stored(database, "select mined_through from chat_thread where id = %s", thread_id)
    through: UUID | None = row["mined_through"]
    return through
