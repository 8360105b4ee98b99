"""THE DOOR: every memory comes in here, from every surface.

In one transaction: limits, wall, rules, duplicates, row, event. Nothing else of North reaches the insert.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor

from north.db.connect import Row, Transaction
from north.db.races import retried
from north.errors import InvalidInput, MatterNotFound
from north.memory import receipts, similar, wall
from north.memory.backend import Backend
from north.memory.drafts import checked
from north.memory.events import tell
from north.memory.matters import id_in
from north.memory.plans import Decided, LiveKey, NewRow, Plan, as_read_back, known
from north.memory.rows import answer_by_id, ask_by_id
from north.memory.rules import forbidding, to_rule
from north.memory.text import content_key
from north.memory.wall import SHARED_SCOPES
from north.model import (
    Caller,
    Draft,
    Matter,
    Memory,
    Outcome,
    Person,
    RefusedByRule,
    RefusedByWall,
    Rule,
    Saved,
    Scope,
    new_id,
)

BATCH_LIMIT = 500


async def save(
    backend: Backend, caller: Caller, drafts: Sequence[Draft], idempotency_key: str | None = None
) -> list[Outcome]:
    """Save drafts as live memories; the next recall has them.

    Args:
        backend: the running North.
        caller: who captures, by which surface; from the credential, never from an argument.
        drafts: 1 to 500. All are decided in one transaction.
        idempotency_key: at most 200 characters; the same key with the same drafts gets the first outcome again.

    Returns:
        One outcome a draft, in order. A rule's or the wall's refusal is an outcome; it stops no other draft.

    Raises:
        InvalidInput: a draft cannot be stored as it is; nothing was written.
        MatterNotFound: a draft names a matter that the firm does not have; nothing was written.
        IdempotencyKeyReused: the key belongs to other drafts.
        DatabaseUnavailable: nothing was written.
    """
    if not 1 <= len(drafts) <= BATCH_LIMIT:
        raise InvalidInput(reason=f"send 1 to {BATCH_LIMIT} memories at a time")
    drafts = [checked(draft) for draft in drafts]
    receipt = receipts.make(idempotency_key, drafts)
    hints = similar.Hints(backend.database, caller, drafts)
    if receipt is not None:  # which names them
        await hints.found()
    outcomes = await _save_once(backend, caller, drafts, receipt, hints)
    saved = [(outcome.memory.id, outcome.memory.content) for outcome in outcomes if isinstance(outcome, Saved)]
    backend.backlog.add(caller.organization_id, caller.user_id, saved)
    return outcomes


@retried
async def _save_once(
    backend: Backend,
    caller: Caller,
    drafts: Sequence[Draft],
    receipt: receipts.Receipt | None,
    hints: similar.Hints,
) -> list[Outcome]:
    async with backend.database.tenant(caller, keep_plans=True) as transaction:
        world = await _look(transaction, backend, caller, drafts, receipt)
        if world.first_outcome is not None:
            return await receipts.replay(transaction, caller, world.first_outcome)
        decided = _decide(caller, drafts, world)
        before = await _carry_out(transaction, backend, caller, decided)
        if receipt is not None:
            await receipts.record(transaction, receipt, decided, await hints.found())
    # Only now, so that what was read is waited for together with the commit, and no connection is held for the hints.
    return await _outcomes(caller, decided, world, before, await hints.found())


async def save_in(transaction: Transaction, backend: Backend, caller: Caller, drafts: Sequence[Draft]) -> list[Outcome]:
    """Save in a transaction that holds more than the save; checking and trying again are up to the caller.

    No memories with similar words are looked for, which is most of the time that many drafts take.
    """
    world = await _look(transaction, backend, caller, drafts, None)
    decided = _decide(caller, drafts, world)
    before = await _carry_out(transaction, backend, caller, decided)
    return await _outcomes(caller, decided, world, before, [[] for _ in drafts])


@dataclass(frozen=True, slots=True)
class _World:
    """What the door knows before it decides."""

    now: datetime
    capturer: Person
    rules: list[Rule]
    barred_by: str | None
    matters: dict[str, Matter]
    twins: dict[LiveKey, UUID]
    first_outcome: list[dict[str, Any]] | None


async def _look(
    transaction: Transaction,
    backend: Backend,
    caller: Caller,
    drafts: Sequence[Draft],
    receipt: receipts.Receipt | None,
) -> _World:
    """Read everything that the decision needs, in one round trip."""
    shared = any(draft.scope in SHARED_SCOPES for draft in drafts)
    writer = await (wall.hold(transaction) if shared else transaction.send("memory.writer"))
    rules = await transaction.send("rules.live")
    barred = await wall.ask(transaction, backend, caller)
    keys = [content_key(draft.content) for draft in drafts]
    twins = await transaction.send("memory.live_twins", content_keys=keys)
    names = {draft.matter for draft in drafts if draft.matter}
    matters = {name: await transaction.send("matters.find", matter=name, matter_id=id_in(name)) for name in names}
    first = await receipts.ask(transaction, receipt) if receipt else None
    found = {name: await cursor.fetchone() for name, cursor in matters.items()}
    writing = await writer.fetchone()
    assert writing is not None
    return _World(
        now=writing["now"],
        capturer=Person(caller.user_id, writing["name"]),
        rules=[to_rule(row) for row in await rules.fetchall()],
        barred_by=await wall.answer(barred),
        matters={name: Matter(row["id"], row["number"], row["name"]) for name, row in found.items() if row},
        twins={
            (row["content_key"], Scope(row["scope"]), row["target_user_id"], row["target_matter_id"]): row["id"]
            for row in await twins.fetchall()
        },
        first_outcome=await receipts.answer(first, receipt) if first and receipt else None,
    )


def _decide(caller: Caller, drafts: Sequence[Draft], world: _World) -> list[Decided]:
    decided: list[Decided] = []
    live = dict(world.twins)
    for draft in drafts:
        row = _new_row(caller, draft, world.matters)
        plan: Plan
        if draft.scope in SHARED_SCOPES and world.barred_by:
            plan = RefusedByWall(world.barred_by)
        elif rule := forbidding(world.rules, draft.scope, draft.type, draft.content):
            plan = RefusedByRule(rule)
        elif row.live_key in live:
            plan = live[row.live_key]
        else:
            live[row.live_key] = row.id
            plan = row
        decided.append(Decided(plan))
    return decided


def _new_row(caller: Caller, draft: Draft, matters: dict[str, Matter]) -> NewRow:
    matter = matters.get(draft.matter) if draft.matter else None
    if draft.scope is Scope.MATTER and matter is None:
        raise MatterNotFound
    return NewRow(
        id=new_id(),
        scope=draft.scope,
        type=draft.type,
        target_user_id=caller.user_id if draft.scope is Scope.USER_PRIVATE else None,
        target_matter_id=matter.id if matter else None,
        content=draft.content,
        confidence=draft.confidence,
        evidence=draft.evidence,
        source_label=draft.source_label,
        captured_at=draft.captured_at,
        message_id=draft.message_id,
    )


async def _carry_out(
    transaction: Transaction, backend: Backend, caller: Caller, decided: Sequence[Decided]
) -> AsyncCursor[Row] | None:
    """Queue what was decided, and the question for the memories that were there before."""
    rows = [each.plan for each in decided if isinstance(each.plan, NewRow)]
    # In one order, so that two batches with the same facts wait for each other and not in a circle.
    await write(transaction, backend, caller, sorted(rows, key=lambda row: row.live_key[0]))
    await tell(transaction, caller, [each.event for each in decided])
    return await ask_by_id(transaction, known(decided))


async def write(transaction: Transaction, backend: Backend, caller: Caller, rows: Sequence[NewRow]) -> None:
    """Insert rows that have been decided on, with their postings; `edit` writes new versions by it."""
    if not rows:
        return
    await transaction.insert("memory.insert_memory", [_columns(caller, row) for row in rows])
    for row in rows:
        await write_terms(transaction, caller, row.id, row.scope, row.target_user_id, row.target_matter_id, row.terms)
    if backend.embedder.available and not backend.embedder.local:
        await backend.jobs.enqueue(
            transaction,
            "embed",
            organization_id=str(caller.organization_id),
            user_id=str(caller.user_id),
            memory_ids=[str(row.id) for row in rows],
        )


def _columns(caller: Caller, row: NewRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "scope": row.scope,
        "type": row.type,
        "target_user_id": row.target_user_id,
        "target_matter_id": row.target_matter_id,
        "content": row.content,
        "content_key": row.live_key[0],
        "length": len(row.terms),
        "confidence": row.confidence,
        "origin": caller.origin,
        "source_thread_id": caller.thread_id,
        "source_message_id": row.message_id or caller.message_id,
        "source_label": row.source_label,
        "captured_by": caller.user_id,
        "evidence": row.evidence,
        "supersedes_id": row.supersedes_id,
        "captured_at": row.captured_at,
    }


async def write_terms(
    transaction: Transaction,
    caller: Caller,
    memory_id: UUID,
    scope: Scope,
    target_user_id: UUID | None,
    target_matter_id: UUID | None,
    words: Sequence[str],
) -> None:
    """Insert the postings of a row that is live from now on; `words` are the `terms` of its content."""
    counted = Counter(words)
    await transaction.send(
        "memory.insert_terms",
        terms=list(counted),
        counts=list(counted.values()),
        bucket=target_user_id or target_matter_id or caller.organization_id,
        memory_id=memory_id,
        length=len(words),
        scope=scope,
        target_user_id=target_user_id,
    )


async def _outcomes(
    caller: Caller,
    decided: Sequence[Decided],
    world: _World,
    before: AsyncCursor[Row] | None,
    hints: Sequence[Sequence[Memory]],
) -> list[Outcome]:
    """What is told of each draft; `before` brings the memories that were there before."""
    memories = await answer_by_id(before, caller)
    for each in decided:
        if isinstance(each.plan, NewRow):
            memories[each.plan.id] = as_read_back(each.plan, caller, world.capturer, world.now, world.matters.values())
    return [each.outcome(memories, close) for each, close in zip(decided, hints, strict=True)]
