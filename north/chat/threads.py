"""A lawyer's threads and their messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from north.db.connect import Row, Transaction
from north.db.races import retried
from north.errors import ContentEmpty, MessageTooLong, ThreadNotFound
from north.memory.backend import Backend
from north.memory.input import check_line, like_patterns
from north.memory.matters import matter_in
from north.memory.rows import memories_by_id
from north.memory.text import check_storable, visible
from north.model import Caller, Matter, Memory, Message, Thread, new_id

MESSAGES_SHOWN = 400
MESSAGE_LIMIT = 100_000
TITLE_LIMIT = 120


@retried
async def create_thread(backend: Backend, caller: Caller, matter: str | None, *, incognito: bool = False) -> Thread:
    """Open a thread, on a matter (its id or number) or on none; that is fixed for good.

    Args:
        backend: the running North.
        caller: the lawyer.
        matter: id or number.
        incognito: whether nothing is remembered from it; what is known already is used all the same. Fixed for good.

    Raises:
        MatterNotFound: the firm has no such matter.
    """
    thread_id = new_id()
    async with backend.database.tenant(caller) as transaction:
        found = await matter_in(transaction, matter) if matter else None
        await transaction.send(
            "threads.insert_thread", id=thread_id, matter_id=found.id if found else None, incognito=incognito
        )
        return await thread_in(transaction, thread_id)


@retried
async def list_threads(backend: Backend, caller: Caller, limit: int = 50, query: str | None = None) -> list[Thread]:
    """The lawyer's threads without messages, the last used first; with a query, those whose title has its words."""
    async with backend.database.tenant(caller, read_only=True) as transaction:
        rows = await transaction.fetch("threads.listed", patterns=like_patterns(query), limit=limit)
    return [_to_thread(row) for row in rows]


@retried
async def get_thread(backend: Backend, caller: Caller, thread_id: UUID) -> Thread:
    """A thread with its newest 400 messages, and the memories that each answer saved and used.

    Raises:
        ThreadNotFound: the lawyer has no such thread.
    """
    async with backend.database.tenant(caller, read_only=True) as transaction:
        thread = await transaction.send("threads.thread", thread_id=thread_id)
        rows = await transaction.fetch("threads.messages", thread_id=thread_id, limit=MESSAGES_SHOWN)
        row = await thread.fetchone()
        if row is None:
            raise ThreadNotFound
        memories = await memories_by_id(transaction, caller, list(_memory_ids(rows)))
    return _to_thread(row, tuple(to_message(message, memories) for message in rows))


@retried
async def get_message(backend: Backend, caller: Caller, thread_id: UUID, message_id: UUID) -> Message:
    """One message of a thread, with the memories that it saved and used.

    Raises:
        ThreadNotFound: the lawyer has no such thread, or it has no such message.
    """
    async with backend.database.tenant(caller, read_only=True) as transaction:
        await thread_in(transaction, thread_id)
        rows = await transaction.fetch("threads.message", thread_id=thread_id, message_id=message_id)
        if not rows:
            raise ThreadNotFound
        memories = await memories_by_id(transaction, caller, list(_memory_ids(rows)))
    return to_message(rows[0], memories)


async def thread_in(transaction: Transaction, thread_id: UUID) -> Thread:
    """A thread without its messages, inside a transaction.

    Raises:
        ThreadNotFound: the lawyer has no such thread.
    """
    row = await transaction.first("threads.thread", thread_id=thread_id)
    if row is None:
        raise ThreadNotFound
    return _to_thread(row)


@retried
async def rename_thread(backend: Backend, caller: Caller, thread_id: UUID, title: str) -> Thread:
    """Give a thread a title of 1 to 120 characters.

    Raises:
        ThreadNotFound: the lawyer has no such thread.
        InvalidInput: the title is empty, too long or not one line.
    """
    async with backend.database.tenant(caller) as transaction:
        await transaction.send("threads.rename", thread_id=thread_id, title=check_line(title, "title", TITLE_LIMIT))
        return await thread_in(transaction, thread_id)


@retried
async def delete_thread(backend: Backend, caller: Caller, thread_id: UUID) -> None:
    """Take a thread out of the list; `restore_thread` puts it back. What was remembered from it stays.

    Raises:
        ThreadNotFound: the lawyer has no such thread.
    """
    async with backend.database.tenant(caller) as transaction:
        await thread_in(transaction, thread_id)
        await transaction.send("threads.delete_thread", thread_id=thread_id)


@retried
async def restore_thread(backend: Backend, caller: Caller, thread_id: UUID) -> Thread:
    """Undo the deletion of a thread.

    Raises:
        ThreadNotFound: the lawyer has no such thread.
    """
    async with backend.database.tenant(caller) as transaction:
        await transaction.send("threads.restore_thread", thread_id=thread_id)
        return await thread_in(transaction, thread_id)


def check_message(text: str) -> str:
    """What a lawyer typed, when it can be a message: 1 to 100,000 characters of text.

    Raises:
        ContentEmpty, ContentNotText, MessageTooLong: it cannot.
    """
    message = text.replace("\r\n", "\n").strip()
    if not visible(message[:500]) and not visible(message):
        raise ContentEmpty("The message is empty. Type something and send it again.")
    check_storable(message)
    if len(message) > MESSAGE_LIMIT:
        raise MessageTooLong(length=len(message), limit=MESSAGE_LIMIT)
    return message


def title_of(text: str) -> str:
    """A thread's title from its first message: its first line, cut at a word."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = "".join(character for character in line if character.isprintable())
    if len(line) <= TITLE_LIMIT // 2:
        return line or "New chat"
    return line[: TITLE_LIMIT // 2].rsplit(" ", 1)[0].rstrip() + "…"


def to_message(row: Row, memories: dict[UUID, Memory]) -> Message:
    """Build a message; a memory that the caller may not see any more is left out."""
    effects: dict[str, Any] = row["effects"] or {}
    return Message(
        id=row["id"],
        role=row["role"],
        content=row["content"],
        created_at=row["created_at"],
        saved=_those(effects.get("saved", ()), memories),
        recalled=_those(effects.get("recalled", ()), memories),
        refused=tuple(effects.get("refused", ())),
        error_code=row["error_code"],
        forgotten=_those(effects.get("forgotten", ()), memories),
    )


def _those(ids: Iterable[str], memories: dict[UUID, Memory]) -> tuple[Memory, ...]:
    return tuple(memories[UUID(text)] for text in ids if UUID(text) in memories)


def _memory_ids(rows: Iterable[Row]) -> set[UUID]:
    return {
        UUID(text)
        for row in rows
        if row["effects"]
        for kind in ("saved", "recalled", "forgotten")
        for text in row["effects"].get(kind, ())
    }


def _to_thread(row: Row, messages: tuple[Message, ...] = ()) -> Thread:
    matter = Matter(row["matter_id"], row["matter_number"], row["matter_name"]) if row["matter_id"] else None
    return Thread(
        id=row["id"],
        title=row["title"],
        matter=matter,
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        paused=row["paused"],
        messages=messages,
        incognito=row["incognito"],
    )
