"""Changing what North remembers: a new version, archive, restore, history. Nothing is ever hard-deleted."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from north.db.connect import Row, Transaction
from north.db.races import retried
from north.errors import (
    EditRefusedByRule,
    EditRefusedByWall,
    MemoryDuplicate,
    MemoryNotFound,
    MemoryNotLive,
    NothingToChange,
)
from north.memory import wall
from north.memory.backend import Backend
from north.memory.events import tell
from north.memory.plans import NewRow
from north.memory.rows import memories_by_id
from north.memory.rules import describe, forbidding, to_rule
from north.memory.save import write, write_terms
from north.memory.text import check_content, content_key
from north.memory.wall import SHARED_SCOPES
from north.model import Caller, Confidence, Memory, MemoryType, Scope, Status, new_id


async def edit(
    backend: Backend,
    caller: Caller,
    memory_id: UUID,
    content: str | None = None,
    type: MemoryType | None = None,
) -> Memory:
    """Supersede a live memory by a new version, which is live at once.

    A rule refuses an edit when it forbids the new version and did not forbid the old one: an edit brings in nothing
    that is never to be remembered, and what was saved before the rule can still be put right.

    Args:
        backend: the running North.
        caller: any lawyer for matter and firm memory; only the owner finds a personal one.
        memory_id: the live version.
        content: the new text; None leaves it.
        type: the new type; None leaves it.

    Returns:
        The new version; the old one when nothing differs.

    Raises:
        NothingToChange: neither is given.
        MemoryNotFound: no such memory for this caller.
        MemoryNotLive: it was edited or deleted meanwhile; `current` is the version that stands now, or None.
        MemoryDuplicate: another live memory says exactly this.
        EditRefusedByRule, EditRefusedByWall: nothing was written.
        InvalidInput: the text cannot be stored.
    """
    if content is None and type is None:
        raise NothingToChange
    text = check_content(content) if content is not None else None

    @retried
    async def once() -> tuple[Memory, bool]:
        async with backend.database.tenant(caller, keep_plans=True) as transaction:
            return await edit_in(transaction, backend, caller, memory_id, text, type)

    edited, changed = await once()
    if changed:
        backend.backlog.add(caller.organization_id, caller.user_id, [(edited.id, edited.content)])
    return edited


async def edit_in(
    transaction: Transaction,
    backend: Backend,
    caller: Caller,
    memory_id: UUID,
    content: str | None,
    type: MemoryType | None,
    *,
    confidence: Confidence = Confidence.HIGH,
    evidence: str | None = None,
    source_label: str | None = None,
    captured_at: datetime | None = None,
) -> tuple[Memory, bool]:
    """Supersede in a transaction that holds more than the edit; checking and trying again are up to the caller.

    Returns:
        The version that stands now, and whether it is a new one.
    """
    rules = await transaction.send("rules.live")
    await wall.hold(transaction)
    barred = await wall.ask(transaction, backend, caller)
    old = await _live_row(transaction, caller, memory_id)
    new = NewRow(
        id=new_id(),
        scope=Scope(old["scope"]),
        type=type or MemoryType(old["type"]),
        target_user_id=old["target_user_id"],
        target_matter_id=old["target_matter_id"],
        content=content if content is not None else old["content"],
        confidence=confidence,
        evidence=evidence,
        source_label=source_label,
        supersedes_id=memory_id,
        captured_at=captured_at,
    )
    if new.content == old["content"] and new.type == old["type"]:
        return await _shown(transaction, caller, memory_id), False
    barred_by = await wall.answer(barred)
    if new.scope in SHARED_SCOPES and barred_by:
        raise EditRefusedByWall(source=barred_by)
    was = MemoryType(old["type"]), old["content"]
    brought_in = [rule for rule in map(to_rule, await rules.fetchall()) if not forbidding([rule], new.scope, *was)]
    if rule := forbidding(brought_in, new.scope, new.type, new.content):
        raise EditRefusedByRule(rule=describe(rule), rule_id=rule.id)
    await _refuse_duplicate(transaction, caller, old, new)
    await transaction.send("memory.supersede", memory_id=memory_id)
    await transaction.send("memory.delete_terms", memory_id=memory_id)
    await write(transaction, backend, caller, [new])
    await tell(transaction, caller, [("memory_edited", new.id, {})])
    return await _shown(transaction, caller, new.id), True


async def archive(backend: Backend, caller: Caller, memory_id: UUID) -> Memory:
    """Delete a memory: it is archived, and gone from the next recall. Deleting it again changes nothing.

    Raises:
        MemoryNotFound: no such memory for this caller.
        MemoryNotLive: it was edited meanwhile; `current` is the version that stands now.
    """

    @retried
    async def once() -> Memory:
        async with backend.database.tenant(caller) as transaction:
            row = await _row(transaction, memory_id)
            if row["status"] != Status.ARCHIVED:
                await _require_live(transaction, caller, row)
                await transaction.send("memory.archive", memory_id=memory_id)
                await transaction.send("memory.delete_terms", memory_id=memory_id)
                await tell(transaction, caller, [("memory_archived", memory_id, {})])
            return await _shown(transaction, caller, memory_id)

    return await once()


async def restore(backend: Backend, caller: Caller, memory_id: UUID) -> Memory:
    """Undo a deletion. Restoring a live memory changes nothing.

    Raises:
        MemoryNotFound: no such memory for this caller.
        MemoryNotLive: a newer version is live, which is `current`.
        MemoryDuplicate: another live memory says exactly this.
    """

    @retried
    async def once() -> Memory:
        async with backend.database.tenant(caller, keep_plans=True) as transaction:
            row = await _row(transaction, memory_id)
            if row["status"] == Status.ACTIVE:
                return await _shown(transaction, caller, memory_id)
            newer = await transaction.first("memory.live_in_lineage", memory_id=row["supersedes_id"] or memory_id)
            if row["status"] != Status.ARCHIVED or newer:
                raise MemoryNotLive(current=await _shown(transaction, caller, newer["id"]) if newer else None)
            await _restore_row(transaction, caller, row)
            return await _shown(transaction, caller, memory_id)

    return await once()


async def _restore_row(transaction: Transaction, caller: Caller, row: Row) -> None:
    scope = Scope(row["scope"])
    again = NewRow(
        row["id"], scope, MemoryType(row["type"]), row["target_user_id"], row["target_matter_id"], row["content"]
    )
    await _refuse_duplicate(transaction, caller, row, again)
    await transaction.send("memory.restore", memory_id=row["id"])
    await write_terms(transaction, caller, again.id, scope, again.target_user_id, again.target_matter_id, again.terms)
    await tell(transaction, caller, [("memory_restored", row["id"], {})])


@retried
async def history(backend: Backend, caller: Caller, memory_id: UUID) -> list[Memory]:
    """Every version that this one comes from or led to, newest first.

    Raises:
        MemoryNotFound: no such memory for this caller.
    """
    async with backend.database.tenant(caller) as transaction:
        rows = await transaction.fetch("memory.lineage", memory_id=memory_id)
        versions = await memories_by_id(transaction, caller, [row["id"] for row in rows])
    if not versions:
        raise MemoryNotFound
    return sorted(versions.values(), key=lambda memory: (memory.created_at, memory.id), reverse=True)


async def _row(transaction: Transaction, memory_id: UUID) -> Row:
    row = await transaction.first("memory.for_change", memory_id=memory_id)
    if row is None:
        raise MemoryNotFound
    return row


async def _live_row(transaction: Transaction, caller: Caller, memory_id: UUID) -> Row:
    row = await _row(transaction, memory_id)
    await _require_live(transaction, caller, row)
    return row


async def _require_live(transaction: Transaction, caller: Caller, row: Row) -> None:
    if row["status"] == Status.ACTIVE:
        return
    newer = await transaction.first("memory.live_in_lineage", memory_id=row["id"])
    raise MemoryNotLive(current=await _shown(transaction, caller, newer["id"]) if newer else None)


async def _refuse_duplicate(transaction: Transaction, caller: Caller, old: Row, new: NewRow) -> None:
    for twin in await transaction.fetch("memory.live_twins", content_keys=[content_key(new.content)]):
        place = (Scope(twin["scope"]), twin["target_user_id"], twin["target_matter_id"])
        if twin["id"] != old["id"] and place == new.live_key[1:]:
            raise MemoryDuplicate(current=await _shown(transaction, caller, twin["id"]))


async def _shown(transaction: Transaction, caller: Caller, memory_id: UUID) -> Memory:
    return (await memories_by_id(transaction, caller, [memory_id]))[memory_id]
