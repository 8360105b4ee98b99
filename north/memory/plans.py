"""What the door decides about drafts, and what those who brought them are told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from uuid import UUID

from north.memory.events import Event
from north.memory.terms import terms
from north.memory.text import content_key
from north.model import (
    AlreadyKnown,
    Caller,
    Confidence,
    Matter,
    Memory,
    MemoryType,
    Outcome,
    Person,
    RefusedByRule,
    RefusedByWall,
    Saved,
    Scope,
    Source,
    Status,
)

TOLD = 3
"""Of how many memories with close wording the bringer of a draft is told."""
LiveKey = tuple[bytes, Scope, UUID | None, UUID | None]
"""What only one live row can have: the key of its text, its scope, and whose or which matter's it is."""


@dataclass(frozen=True)
class NewRow:
    """A version of a memory, about to be inserted."""

    id: UUID
    scope: Scope
    type: MemoryType
    target_user_id: UUID | None
    target_matter_id: UUID | None
    content: str
    confidence: Confidence = Confidence.HIGH
    evidence: str | None = None
    source_label: str | None = None
    supersedes_id: UUID | None = None
    captured_at: datetime | None = None
    message_id: UUID | None = None

    @cached_property
    def live_key(self) -> LiveKey:
        """What only one live row can have."""
        return content_key(self.content), self.scope, self.target_user_id, self.target_matter_id

    @cached_property
    def terms(self) -> list[str]:
        """The terms under which it is found."""
        return terms(self.content)


Plan = NewRow | RefusedByRule | RefusedByWall | UUID
"""What becomes of a draft: a new row, a refusal, or the live row that says the same already."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What becomes of a draft."""

    plan: Plan

    @property
    def memory_id(self) -> UUID | None:
        """The memory that the draft has become, or was already."""
        match self.plan:
            case NewRow():
                return self.plan.id
            case UUID():
                return self.plan
            case _:
                return None

    def similar(self, hints: Sequence[Memory]) -> tuple[Memory, ...]:
        """Of the memories with close wording those that its bringer is told; a refusal has none."""
        others = [hint for hint in hints if hint.id != self.memory_id]
        return tuple(others[:TOLD]) if self.memory_id else ()

    @property
    def event(self) -> Event:
        """What the decision is told as."""
        match self.plan:
            case NewRow(id=memory_id, scope=scope, type=type, confidence=confidence):
                return "memory_saved", memory_id, {"scope": scope, "type": type, "confidence": confidence}
            case RefusedByRule(rule):
                return "memory_refused", rule.id, {"by": "rule"}
            case RefusedByWall(source):
                return "memory_refused", None, {"by": "wall", "source": source}
            case UUID():
                return "memory_already_known", self.plan, {}

    def outcome(self, memories: Mapping[UUID, Memory], hints: Sequence[Memory]) -> Outcome:
        """What the draft's bringer is told, with the memories that have close wording."""
        match self.plan:
            case NewRow(id=memory_id):
                return Saved(memories[memory_id], self.similar(hints))
            case UUID():
                return AlreadyKnown(memories[self.plan], self.similar(hints))
            case refusal:
                return refusal


def known(decided: Sequence[Decided]) -> list[UUID]:
    """The memories that drafts turn out to be, and that were there before."""
    new = {each.plan.id for each in decided if isinstance(each.plan, NewRow)}
    return list({each.plan for each in decided if isinstance(each.plan, UUID)} - new)


def as_read_back(row: NewRow, caller: Caller, capturer: Person, now: datetime, matters: Iterable[Matter]) -> Memory:
    """A row as it would be read back, without a round trip for it."""
    message_id = row.message_id or caller.message_id
    sourced = caller.thread_id is not None or row.source_label is not None
    return Memory(
        id=row.id,
        content=row.content,
        type=row.type,
        scope=row.scope,
        matter=next((matter for matter in matters if matter.id == row.target_matter_id), None),
        status=Status.ACTIVE,
        confidence=row.confidence,
        origin=caller.origin,
        created_at=row.captured_at or now,
        captured_by=capturer,
        source=Source(caller.thread_id, message_id, row.source_label, yours=True) if sourced else None,
        evidence=row.evidence,
    )
