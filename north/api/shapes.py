"""The nouns as JSON. What a reply holds and what the API's description says of it are one definition."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from north.model import Confidence, Import, ImportStatus, Memory, MemoryType, Origin, Recalled, Rule, Scope


class RequestBody(BaseModel):
    """A body. What it does not name is refused, so that nobody can believe to have chosen a firm or a user."""

    model_config = ConfigDict(extra="forbid")


class Shape(BaseModel):
    """A part of a reply, read from the value of the same noun."""

    model_config = ConfigDict(from_attributes=True)


MatterReference = Annotated[str, Field(description="A matter's number or its id.", examples=["HV-1001"])]
SessionHandle = Annotated[
    str | None, Field(description="The handle that `north__briefing` gave to this session, for the ethical wall.")
]


class PersonShape(Shape):
    """A lawyer of the firm."""

    id: UUID
    name: str


class MatterName(Shape):
    """A matter, as other things name it."""

    id: UUID
    number: str
    name: str


class MatterShape(MatterName):
    """A client matter; its number is unique in the firm."""

    created_at: datetime


class SourceShape(Shape):
    """Where a memory was captured. A colleague's thread stays closed: `yours` is false and no id is given."""

    thread_id: UUID | None
    message_id: UUID | None
    label: str | None
    yours: bool


class MemoryShape(Shape):
    """One version of a memory."""

    id: UUID
    content: str
    type: MemoryType
    scope: Scope
    matter: MatterName | None
    status: str = Field(description="`active` (live), `superseded` (edited since) or `archived` (deleted).")
    confidence: Confidence
    origin: Origin
    created_at: datetime
    captured_by: PersonShape | None
    source: SourceShape | None
    supersedes_id: UUID | None = Field(description="The version before this one.")
    uses: int = Field(description="How many times it was shown to somebody or to an assistant.")
    last_used_at: datetime | None


class ScoredMemory(MemoryShape):
    """A memory that answers a query."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    score: float = Field(
        default_factory=float,  # until `of` sets it
        description="From 0 (unrelated) upwards; higher is closer. Comparable within one reply.",
    )

    @classmethod
    def of(cls, hit: Recalled) -> Self:
        """A hit of a recall."""
        shape = cls.model_validate(hit.memory)
        shape.score = hit.score
        return shape


class RuleShape(Shape):
    """A standing rule of yours. A `scope`, `type` or `phrase` of null stands for any."""

    id: UUID
    action: str
    scope: Scope | None
    type: MemoryType | None
    phrase: str | None
    origin: str
    reason: str | None = Field(description="Why North made the rule by itself; null for one that you made.")
    created_at: datetime


class TokenShape(Shape):
    """An access token, without its secret."""

    id: UUID
    name: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None


class ThreadShape(Shape):
    """A conversation of yours."""

    id: UUID
    title: str
    matter: MatterName | None
    paused: bool
    created_at: datetime


class MessageShape(Shape):
    """One message of a thread."""

    id: UUID
    role: str = Field(description="`user` or `assistant`.")
    content: str
    created_at: datetime
    saved: list[MemoryShape] = Field(description="What this message made North remember.")
    recalled: list[MemoryShape] = Field(description="What North remembered for this answer.")
    refused: list[str] = Field(description="Saves that were refused, and why.")
    error_code: str | None = Field(description="Why there is no answer; send the text again.")


class ThreadWithMessages(ThreadShape):
    """A conversation of yours with its newest messages, oldest first."""

    messages: list[MessageShape]


class FailedConversationShape(Shape):
    """A conversation that could not be imported."""

    conversation: str = Field(description="Its title.")
    reason: str = Field(description="Why, as a sentence.")


class ImportReportShape(Shape):
    """What became of a file, in conversations and explicit memories: seen = imported + all skipped + all failed."""

    seen: int
    imported: int
    skipped: dict[str, int] = Field(description="How many, by reason.")
    failed: list[FailedConversationShape] = Field(description="The first hundred.")
    failed_count: int = Field(description="All that failed.")
    memories: int = Field(description="How many memories were saved.")


class ImportFailureShape(Shape):
    """Why an import failed as a whole."""

    code: str = Field(description="Stable; decide by it.")
    detail: str


class ImportShape(Shape):
    """A file that you brought in."""

    id: UUID
    status: ImportStatus
    progress: float = Field(description="How much of the file has been read, from 0 to 1.")
    file_name: str
    created_at: datetime
    finished_at: datetime | None
    undone_at: datetime | None = Field(description="When what it brought was taken out again.")
    error: ImportFailureShape | None
    report: ImportReportShape = Field(description="So far, while it runs.")


class MemoryReply(Shape):
    """A memory as it stands now."""

    memory: MemoryShape


class RefusingRule(Shape):
    """The rule that forbade a save or an edit."""

    id: UUID
    sentence: str


def memory_shape(memory: Memory) -> MemoryShape:
    """A memory as JSON shows it."""
    return MemoryShape.model_validate(memory)


def memory_shapes(memories: Iterable[Memory]) -> list[MemoryShape]:
    """Memories as JSON shows them, in the order given."""
    return [MemoryShape.model_validate(memory) for memory in memories]


def rule_shape(rule: Rule) -> RuleShape:
    """A rule as JSON shows it."""
    return RuleShape.model_validate(rule)


def import_shape(brought: Import) -> ImportShape:
    """An import as JSON shows it."""
    failure = ImportFailureShape(code=brought.error_code, detail=brought.error or "") if brought.error_code else None
    return ImportShape(
        id=brought.id,
        status=brought.status,
        progress=brought.progress,
        file_name=brought.file_name,
        created_at=brought.created_at,
        finished_at=brought.finished_at,
        undone_at=brought.undone_at,
        error=failure,
        report=ImportReportShape.model_validate(brought.report),
    )
