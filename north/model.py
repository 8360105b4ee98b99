"""The nouns of North, as frozen values that every layer shares."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import uuid_utils.compat

CONTENT_LIMIT = 2000
"""The longest memory, in characters, after normalisation."""


def new_id(after: UUID | None = None) -> UUID:
    """A fresh UUIDv7 (RFC 9562): unique, and ordered by the time it was made.

    `after` is an id that the new one has to follow, whatever the clock says: two machines' clocks may differ.
    """
    made = uuid_utils.compat.uuid7()
    return made if after is None or made > after else UUID(int=after.int + 1)


class Scope(StrEnum):
    """Whom a memory belongs to."""

    USER_PRIVATE = "user_private"
    MATTER = "matter"
    FIRM_GLOBAL = "firm_global"


class MemoryType(StrEnum):
    """What kind of statement a memory is."""

    IDENTITY = "identity"
    PREFERENCE = "preference"
    INSTRUCTION = "instruction"
    PLAYBOOK_RULE = "playbook_rule"
    FACT = "fact"
    DECISION = "decision"
    DEADLINE = "deadline"
    PARTY = "party"
    REFERENCE = "reference"


class Status(StrEnum):
    """Where a version of a memory stands. Only these three are ever written."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"


class Confidence(StrEnum):
    """How sure the capturing side was; audit metadata, never a filter."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Origin(StrEnum):
    """The surface by which a memory came in."""

    CHAT = "chat"
    MCP = "mcp"
    API = "api"
    SETTINGS = "settings"
    MINER = "miner"
    IMPORT = "import"


@dataclass(slots=True, eq=False)
class Key:
    """The credential by which each transaction of a caller admits itself: what it stands in the lookup table by.

    `admitted` says that a transaction has done so. It is never stored or sent.
    """

    kind: str
    key_hash: bytes = field(repr=False)
    admitted: bool = False


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is acting, for which firm, by which surface.

    `organization_id` and `user_id` come from the caller's credential and never from an argument.
    `thread_id` and `message_id` name the chat turn in which something is captured. `client` is the
    credential's own name for the connected program and `session` the handle of an MCP session; both
    matter to the ethical wall alone.

    A caller with a `key` is expected and not yet admitted: each of its transactions checks the key before anything
    else. Without one, the credential was checked before the caller was made.
    """

    organization_id: UUID
    user_id: UUID
    origin: Origin
    thread_id: UUID | None = None
    message_id: UUID | None = None
    client: str | None = None
    session: str | None = None
    key: Key | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class User:
    """A lawyer, or the firm's administrator."""

    id: UUID
    organization_id: UUID
    email: str
    name: str
    role: str


@dataclass(frozen=True, slots=True)
class Person:
    """A lawyer as a colleague sees them."""

    id: UUID
    name: str


@dataclass(frozen=True, slots=True)
class Matter:
    """A client matter; `number` is unique in the firm."""

    id: UUID
    number: str
    name: str
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Where a memory was captured. `yours` is false for a colleague's thread, which stays closed."""

    thread_id: UUID | None
    message_id: UUID | None
    label: str | None
    yours: bool


@dataclass(frozen=True, slots=True)
class Memory:
    """One version of a memory."""

    id: UUID
    content: str
    type: MemoryType
    scope: Scope
    matter: Matter | None
    status: str
    confidence: Confidence
    origin: Origin
    created_at: datetime
    captured_by: Person | None
    source: Source | None
    supersedes_id: UUID | None = None
    superseded_at: datetime | None = None
    archived_at: datetime | None = None
    archived_by: Person | None = None
    evidence: str | None = None
    uses: int = 0
    last_used_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """What somebody asks North to remember.

    `matter` is a matter's id or number; it is required for, and only allowed with, scope `matter`.
    `captured_at` is the time of the original statement when it is not now (an import). `message_id` is the message
    that says it, where that is not the caller's.
    """

    content: str
    type: MemoryType
    scope: Scope = Scope.USER_PRIVATE
    matter: str | None = None
    confidence: Confidence = Confidence.HIGH
    evidence: str | None = None
    source_label: str | None = None
    captured_at: datetime | None = None
    message_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A lawyer's standing rule. `scope` or `type` of None means any."""

    id: UUID
    action: str
    scope: Scope | None
    type: MemoryType | None
    phrase: str | None
    origin: str
    reason: str | None
    created_at: datetime
    refused: int = 0


@dataclass(frozen=True, slots=True)
class Saved:
    """The memory was written and is live. `similar` are live memories with close wording."""

    memory: Memory
    similar: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class AlreadyKnown:
    """A live memory says the same already; nothing was written."""

    memory: Memory
    similar: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class RefusedByRule:
    """One of the lawyer's own rules forbids this capture; nothing was written."""

    rule: Rule


@dataclass(frozen=True, slots=True)
class RefusedByWall:
    """The session consulted a walled source and may not write firm memory; nothing was written."""

    source: str


Refused = RefusedByRule | RefusedByWall
Outcome = Saved | AlreadyKnown | Refused


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory that answers a query. `score` runs from 0 (unrelated) upwards; higher is closer.

    `cosine` is the similarity of the vectors, in [-1, 1]; None where one of them is missing.
    """

    memory: Memory
    score: float
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class Recall:
    """What the two buckets hold for a query, best first.

    Two buckets and only two: the lawyer's own memory and the current matter's. Adding a firm bucket
    would re-open the question of who signs off memory that is injected firm-wide.
    """

    personal: tuple[Recalled, ...] = ()
    matter: tuple[Recalled, ...] = ()
    matter_number: str | None = None

    @property
    def memories(self) -> tuple[Memory, ...]:
        """Both buckets' memories, the closest first."""
        both = sorted((*self.personal, *self.matter), key=lambda hit: -hit.score)
        return tuple(hit.memory for hit in both)


@dataclass(frozen=True, slots=True)
class Message:
    """One visible message of a thread; `role` is `user` or `assistant`."""

    id: UUID
    role: str
    content: str
    created_at: datetime
    saved: tuple[Memory, ...] = ()
    recalled: tuple[Memory, ...] = ()
    refused: tuple[str, ...] = ()
    error_code: str | None = None
    forgotten: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation of one lawyer, optionally on a matter. Nothing is remembered from an incognito one."""

    id: UUID
    title: str
    matter: Matter | None
    created_at: datetime
    updated_at: datetime
    paused: bool = False
    messages: tuple[Message, ...] = field(default=())
    incognito: bool = False


@dataclass(frozen=True, slots=True)
class Token:
    """An access token as its owner sees it; the secret itself is shown once, at creation."""

    id: UUID
    name: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A program that asks lawyers to let it act for them, as it describes itself.

    `id` is the address of its metadata document, or the one that it was given when it registered. Nobody has
    checked `name`; what cannot be forged is where an answer goes: to one of `redirect_uris`.
    """

    id: str
    name: str
    redirect_uris: tuple[str, ...]
    has_secret: bool = False


@dataclass(frozen=True, slots=True)
class ConnectedProgram:
    """A program that a lawyer lets act for them; `host` is where its answers go."""

    id: UUID
    name: str
    host: str
    created_at: datetime
    last_used_at: datetime | None


class ImportStatus(StrEnum):
    """Where an import stands."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class FailedConversation:
    """A conversation that could not be imported, and why, for people."""

    conversation: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of a file's conversations and explicit memories: seen = imported + all skipped + all failed."""

    seen: int = 0
    imported: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    failed: tuple[FailedConversation, ...] = ()
    failed_count: int = 0
    """All that failed; `failed` names the first of them."""
    memories: int = 0
    """How many memories were saved."""


@dataclass(frozen=True, slots=True)
class Import:
    """One file that a lawyer brought in; `progress` runs from 0 to 1, `error_code` says why it failed as a whole."""

    id: UUID
    file_name: str
    status: ImportStatus
    progress: float
    report: ImportReport
    created_at: datetime
    finished_at: datetime | None = None
    undone_at: datetime | None = None
    error_code: str | None = None
    error: str | None = None
