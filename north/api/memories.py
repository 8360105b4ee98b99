"""What North remembers: save, list, look, change, delete, restore."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import Header, Path, Query, Response, status
from pydantic import Field

from north import errors
from north.api.callers import Recognised, Running, SignedIn, calls, known_id
from north.api.description import failures
from north.api.metrics import SAVES
from north.api.shapes import (
    MatterReference,
    MemoryReply,
    MemoryShape,
    RequestBody,
    SessionHandle,
    Shape,
    memory_shape,
    memory_shapes,
)
from north.memory.edit import archive, edit, history, restore
from north.memory.listing import PAGE_LIMIT, MemoryFilter, get_memory, list_memories
from north.memory.rules import describe
from north.memory.save import save
from north.model import (
    CONTENT_LIMIT,
    AlreadyKnown,
    Confidence,
    Draft,
    Memory,
    MemoryType,
    RefusedByRule,
    RefusedByWall,
    Saved,
    Scope,
    Status,
)

router = calls("/v1/memories", "memories")

SAVING = (
    errors.ContentEmpty,
    errors.ContentTooLong,
    errors.ContentNotText,
    errors.MatterRequired,
    errors.MatterNotAllowed,
    errors.MatterNotFound,
    errors.IdempotencyKeyReused,
    errors.EditRefusedByRule,
    errors.EditRefusedByWall,
    errors.SessionUnknown,
    errors.DatabaseBusy,
)
EDITING = (
    errors.MemoryNotFound,
    errors.MemoryNotLive,
    errors.MemoryDuplicate,
    errors.NothingToChange,
    errors.ContentEmpty,
    errors.ContentTooLong,
    errors.ContentNotText,
    errors.EditRefusedByRule,
    errors.EditRefusedByWall,
    errors.SessionUnknown,
    errors.DatabaseBusy,
)
CHANGING = (errors.MemoryNotFound, errors.MemoryNotLive, errors.DatabaseBusy)

EXAMPLE = "The client is a Delaware LLC."
KEY_DESCRIPTION = "1 to 200 characters of your own; the same request with the same key gets the first outcome again."

MemoryId = Annotated[str, Path(alias="id", description="A memory's id.")]


class NewMemory(RequestBody):
    """What to remember: one sentence or two that stand alone."""

    content: str = Field(description=f"The text, at most {CONTENT_LIMIT:,} characters.", examples=[EXAMPLE])
    type: MemoryType = Field(examples=["fact"])
    scope: Scope = Field(description="`user_private` is yours alone; `matter` is the firm's.", examples=["matter"])
    matter: MatterReference | None = Field(default=None, description="Required for, and only for, scope `matter`.")
    confidence: Confidence = Field(default=Confidence.HIGH, description="For the record; nothing is filtered by it.")
    session: SessionHandle = None


class MemoryChange(RequestBody):
    """What is to be different; leave out what stays."""

    content: str | None = Field(default=None, description="The new text.")
    type: MemoryType | None = None
    session: SessionHandle = None


class SaveReply(Shape):
    """What became of a save. `similar` are live memories with close wording: update one instead of adding another."""

    outcome: Literal["saved", "already_known"]
    memory: MemoryShape
    similar: list[MemoryShape]


class MemoryList(Shape):
    """One page of memories, newest first."""

    memories: list[MemoryShape]
    next_cursor: str | None = Field(description="Send it as `cursor` for the next page; null on the last.")


class MemoryVersions(Shape):
    """Every version of a memory, newest first."""

    versions: list[MemoryShape]


@router.post(
    "",
    summary="Save a memory",
    status_code=status.HTTP_201_CREATED,
    responses=failures(*SAVING, body=True)
    | {200: {"model": SaveReply, "description": "A live memory says exactly this already; nothing was written."}},
)
async def create(
    new: NewMemory,
    response: Response,
    backend: Running,
    caller: Recognised,
    idempotency_key: Annotated[str | None, Header(alias="Idempotency-Key", description=KEY_DESCRIPTION)] = None,
) -> SaveReply:
    """Save a durable fact; it is live at once, and nobody is asked to confirm it.

    A rule of yours (`refused_by_rule`) or the ethical wall (`refused_by_wall`) can refuse it.
    """
    draft = Draft(new.content, new.type, new.scope, new.matter, new.confidence)
    (outcome,) = await save(backend, replace(caller, session=new.session or None), [draft], idempotency_key)
    match outcome:
        case RefusedByRule(rule):
            SAVES.labels("refused_by_rule").inc()
            raise errors.EditRefusedByRule(rule=describe(rule), rule_id=rule.id)
        case RefusedByWall(source):
            SAVES.labels("refused_by_wall").inc()
            raise errors.EditRefusedByWall(source=source)
        case Saved():
            kind: Literal["saved", "already_known"] = "saved"
        case AlreadyKnown():
            kind = "already_known"
            response.status_code = status.HTTP_200_OK
    SAVES.labels(kind).inc()
    return SaveReply(outcome=kind, memory=memory_shape(outcome.memory), similar=memory_shapes(outcome.similar))


@router.get("", summary="List memories", responses=failures(errors.InvalidInput, errors.MatterNotFound))
async def list_all(
    backend: Running,
    caller: Recognised,
    scope: Scope | None = None,
    type: MemoryType | None = None,
    matter: MatterReference | None = None,
    state: Annotated[Status, Query(alias="status")] = Status.ACTIVE,
    q: Annotated[str | None, Query(description="Words that the text must hold, in any order.")] = None,
    cursor: Annotated[str | None, Query(description="`next_cursor` of the page before.", max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 50,
) -> MemoryList:
    """Everything that you may see, newest first: your personal memory, every matter's and the firm's."""
    filters = MemoryFilter(scope=scope, type=type, matter=matter, status=state, query=q)
    page = await list_memories(backend, caller, filters, cursor, limit)
    return MemoryList(memories=memory_shapes(page.memories), next_cursor=page.next_cursor)


@router.get("/{id}", summary="Get a memory", responses=failures(errors.MemoryNotFound))
async def get_one(memory_id: MemoryId, backend: Running, caller: Recognised) -> MemoryReply:
    """One version of a memory, whatever its status."""
    return _reply(await get_memory(backend, caller, known_id(memory_id, errors.MemoryNotFound)))


@router.get("/{id}/history", summary="Get every version", responses=failures(errors.MemoryNotFound))
async def get_history(memory_id: MemoryId, backend: Running, caller: SignedIn) -> MemoryVersions:
    """Every version of a memory, newest first: what it said, who changed it, when and from where."""
    versions = await history(backend, caller, known_id(memory_id, errors.MemoryNotFound))
    return MemoryVersions(versions=memory_shapes(versions))


@router.patch("/{id}", summary="Edit a memory", responses=failures(*EDITING, body=True))
async def edit_one(memory_id: MemoryId, change: MemoryChange, backend: Running, caller: Recognised) -> MemoryReply:
    """Supersede the live version by a new one, which has its own id and is live at once.

    When the version is no longer live, `conflict` carries the one that stands now as `current`.
    """
    known = known_id(memory_id, errors.MemoryNotFound)
    acting = replace(caller, session=change.session or None)
    return _reply(await edit(backend, acting, known, change.content, change.type))


@router.delete("/{id}", summary="Delete a memory", responses=failures(*CHANGING))
async def delete_one(memory_id: MemoryId, backend: Running, caller: Recognised) -> MemoryReply:
    """Archive a memory: it is gone from the next recall, and can be restored. Deleting it again changes nothing."""
    return _reply(await archive(backend, caller, known_id(memory_id, errors.MemoryNotFound)))


@router.post("/{id}/restore", summary="Undo a deletion", responses=failures(*CHANGING, errors.MemoryDuplicate))
async def restore_one(memory_id: MemoryId, backend: Running, caller: Recognised) -> MemoryReply:
    """Make a deleted memory live again, unless a newer version is live or another memory says exactly this."""
    return _reply(await restore(backend, caller, known_id(memory_id, errors.MemoryNotFound)))


def _reply(memory: Memory) -> MemoryReply:
    return MemoryReply(memory=memory_shape(memory))
