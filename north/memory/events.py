"""What happened to memory, as rows of `product_event`: kinds and ids, never a text."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from psycopg.types.json import Jsonb

from north.db.connect import Transaction
from north.model import Caller, new_id

Event = tuple[str, UUID | None, dict[str, str]]
"""The event's name, the id of the memory or rule that it is about, and more about it."""


async def tell(transaction: Transaction, caller: Caller, events: Sequence[Event]) -> None:
    """Queue events; they commit with what they tell of."""
    rows = [
        {"id": new_id(), "name": name, "subject_id": subject, "properties": Jsonb({"origin": caller.origin, **more})}
        for name, subject, more in events
    ]
    await transaction.insert("memory.insert_event", rows)
