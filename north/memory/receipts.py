"""Remembers what a request with an idempotency key led to, so that its repetition gets the same answer."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.types.json import Jsonb

from north.db.connect import Row, Transaction
from north.errors import IdempotencyKeyReused, InvalidInput
from north.memory.plans import Decided, NewRow
from north.memory.rows import memories_by_id
from north.memory.rules import to_rule
from north.model import AlreadyKnown, Caller, Draft, Memory, Outcome, RefusedByRule, RefusedByWall, Saved

KEY_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Receipt:
    """A key and the request that it stands for, both hashed."""

    key_hash: bytes
    request_hash: bytes


def make(idempotency_key: str | None, drafts: Sequence[Draft]) -> Receipt | None:
    """The receipt for these drafts; None without a key.

    Raises:
        InvalidInput: the key is empty or has more than 200 characters.
    """
    if idempotency_key is None:
        return None
    if not 1 <= len(idempotency_key) <= KEY_LIMIT:
        raise InvalidInput(reason=f"an Idempotency-Key has 1 to {KEY_LIMIT} characters")
    key = idempotency_key.encode("utf-8", "surrogatepass")
    return Receipt(hashlib.sha256(key).digest(), hashlib.sha256(repr(drafts).encode()).digest())


async def ask(transaction: Transaction, receipt: Receipt) -> AsyncCursor[Row]:
    """Queue the question what this key led to; and drop keys that are older than a week."""
    await transaction.send("idempotency.forget_old")
    return await transaction.send("idempotency.find", key_hash=receipt.key_hash)


async def answer(cursor: AsyncCursor[Row], receipt: Receipt) -> list[dict[str, Any]] | None:
    """The stored outcome for this key, if there is one.

    Raises:
        IdempotencyKeyReused: it belongs to another request.
    """
    row = await cursor.fetchone()
    if row is None:
        return None
    if row["request_hash"] != receipt.request_hash:
        raise IdempotencyKeyReused
    stored: list[dict[str, Any]] = row["outcome"]
    return stored


async def record(
    transaction: Transaction, receipt: Receipt, decided: Sequence[Decided], hints: Sequence[Sequence[Memory]]
) -> None:
    """Store the outcome; of two requests at once, one wins and the other loses its race."""
    await transaction.send(
        "idempotency.record",
        key_hash=receipt.key_hash,
        request_hash=receipt.request_hash,
        outcome=Jsonb([_to_json(*each) for each in zip(decided, hints, strict=True)]),
    )


def _to_json(decided: Decided, hints: Sequence[Memory]) -> dict[str, Any]:
    match decided.plan:
        case RefusedByRule(rule):
            return {"outcome": "refused_by_rule", "rule_id": str(rule.id)}
        case RefusedByWall(source):
            return {"outcome": "refused_by_wall", "source": source}
        case plan:
            kind = "saved" if isinstance(plan, NewRow) else "already_known"
            similar = [str(memory.id) for memory in decided.similar(hints)]
            return {"outcome": kind, "memory_id": str(decided.memory_id), "similar": similar}


async def replay(transaction: Transaction, caller: Caller, stored: Sequence[dict[str, Any]]) -> list[Outcome]:
    """The first outcome again, with the memories as they are now."""
    ids = [UUID(text) for entry in stored if "memory_id" in entry for text in (entry["memory_id"], *entry["similar"])]
    memories = await memories_by_id(transaction, caller, ids)
    outcomes: list[Outcome] = []
    for entry in stored:
        match entry["outcome"]:
            case "refused_by_rule":
                row = await transaction.first("rules.by_id", rule_id=UUID(entry["rule_id"]))
                assert row is not None
                outcomes.append(RefusedByRule(to_rule(row)))
            case "refused_by_wall":
                outcomes.append(RefusedByWall(entry["source"]))
            case kind:
                similar = tuple(memories[UUID(text)] for text in entry["similar"] if UUID(text) in memories)
                made = Saved if kind == "saved" else AlreadyKnown
                outcomes.append(made(memories[UUID(entry["memory_id"])], similar))
    return outcomes
