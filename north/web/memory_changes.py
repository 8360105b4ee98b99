"""Settings → Memory: adding, editing, deleting and restoring, each at once.

Every change is a plain form that leads back to the list; where htmx sends it, the answer is the row alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from north.errors import InvalidInput, MatterNotFound, MemoryDuplicate, MemoryNotLive, NorthError, Refused
from north.memory.edit import archive, edit, restore
from north.memory.save import save
from north.model import (
    AlreadyKnown,
    Draft,
    Memory,
    MemoryType,
    Outcome,
    RefusedByRule,
    RefusedByWall,
    Saved,
    Scope,
    Status,
    User,
)
from north.statuses import status_of
from north.web.matter_choice import matter_choice
from north.web.memory_pages import (
    MEMORIES,
    PARTS,
    Adding,
    chosen,
    current_version,
    memory_address,
    row_as_it_stands,
    show_memories,
)
from north.web.pages import is_htmx, local_address, render, render_fragment, see_other
from north.web.sessions import CurrentUser, PageRoute, RunningBackend, settings_caller

router = APIRouter(route_class=PageRoute, include_in_schema=False)

CHANGED_MEANWHILE = "This was changed while you were editing it. Both texts stand here; Save puts yours in place."


@router.post(MEMORIES)
async def add_memory(
    request: Request,
    backend: RunningBackend,
    user: CurrentUser,
    content: Annotated[str, Form()] = "",
    type: Annotated[str, Form()] = "",
    where: Annotated[str, Form()] = "",
    matter: Annotated[str, Form()] = "",
) -> Response:
    """Save what a lawyer wrote by hand; `where` is a scope or a matter's id, `matter` a number with scope `matter`."""
    typed = Adding(content, chosen(MemoryType, type) or MemoryType.FACT, where, matter, open=True)
    try:
        [outcome] = await save(backend, settings_caller(user), [_draft(typed)])
    except (InvalidInput, MatterNotFound) as error:
        return await _add_again(request, backend, user, replace(typed, error=str(error)), status_of(error))
    if isinstance(outcome, Saved):
        return await _added(request, backend, user, typed, outcome.memory)
    return await _add_again(request, backend, user, *_why_not(typed, outcome))


def _draft(typed: Adding) -> Draft:
    scope = chosen(Scope, typed.where) or Scope.MATTER
    number = typed.matter.strip() if typed.where == Scope.MATTER else typed.where
    return Draft(typed.content, MemoryType(typed.type), scope, number or None if scope == Scope.MATTER else None)


def _why_not(typed: Adding, outcome: Outcome) -> tuple[Adding, int]:
    match outcome:
        case AlreadyKnown(memory):
            return replace(typed, known=memory), 200
        case RefusedByRule(rule):
            return replace(typed, rule=rule), 422
        case RefusedByWall(source):
            return replace(typed, error=f"Not saved: this session has read from {source}."), 422
        case _:
            return typed, 200


async def _added(request: Request, backend: RunningBackend, user: User, typed: Adding, memory: Memory) -> Response:
    if not is_htmx(request):
        return see_other(memory_address(memory))
    matters = await matter_choice(backend, settings_caller(user))
    form = render_fragment(PARTS, "add_form", matters, replace(typed, content="", saved=True))
    return HTMLResponse(form + render_fragment(PARTS, "new_row", memory, MEMORIES))


async def _add_again(request: Request, backend: RunningBackend, user: User, typed: Adding, status: int) -> Response:
    if not is_htmx(request):
        return await show_memories(request, backend, user, adding=typed, status=status)
    matters = await matter_choice(backend, settings_caller(user))
    return HTMLResponse(render_fragment(PARTS, "add_form", matters, typed), 200 if status == 200 else 422)


@router.get(MEMORIES + "/{memory_id:uuid}/edit")
async def edit_page(
    request: Request, backend: RunningBackend, user: CurrentUser, memory_id: UUID, next: str = ""
) -> Response:
    """The form that edits a memory, in place of its row or as a page."""
    back = local_address(next, MEMORIES)
    memory = await current_version(backend, settings_caller(user), memory_id)
    if memory.status != Status.ACTIVE:
        return row_as_it_stands(memory, back) if is_htmx(request) else see_other(memory_address(memory))
    return _edit_form(request, user, memory, back, memory.content, memory.type)


@router.post(MEMORIES + "/{memory_id:uuid}/edit")
async def edit_memory(
    request: Request,
    backend: RunningBackend,
    user: CurrentUser,
    memory_id: UUID,
    content: Annotated[str, Form()] = "",
    type: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "",
) -> Response:
    """Put a new version in place. What was typed is never lost, whatever stands against it."""
    caller, back = settings_caller(user), local_address(next, MEMORIES)
    new_type = chosen(MemoryType, type)
    try:
        memory = await edit(backend, caller, memory_id, content, new_type)
    except MemoryNotLive as error:
        stands: Memory | None = error.detail.get("current")
        gone = stands is None
        shown = stands or await current_version(backend, caller, memory_id)
        return _edit_form(
            request, user, shown, back, content, new_type or shown.type,
            error=CHANGED_MEANWHILE, other=shown.content, gone=gone, status=409,
        )  # fmt: skip
    except (InvalidInput, Refused, MemoryDuplicate) as error:
        old = await current_version(backend, caller, memory_id)
        return _edit_form(request, user, old, back, content, new_type or old.type, error=str(error), status=422)
    return _changed(request, memory, back)


@router.post(MEMORIES + "/{memory_id:uuid}/delete")
async def delete_memory(
    request: Request,
    backend: RunningBackend,
    user: CurrentUser,
    memory_id: UUID,
    next: Annotated[str, Form()] = "",
) -> Response:
    """Delete a memory at once, and offer to undo it where it stood."""
    back = local_address(next, MEMORIES)
    try:
        memory = await archive(backend, settings_caller(user), memory_id)
    except MemoryNotLive as error:
        return _conflicting(request, error, back)
    return row_as_it_stands(memory, back) if is_htmx(request) else see_other(memory_address(memory))


@router.post(MEMORIES + "/{memory_id:uuid}/restore")
async def restore_memory(
    request: Request,
    backend: RunningBackend,
    user: CurrentUser,
    memory_id: UUID,
    next: Annotated[str, Form()] = "",
) -> Response:
    """Undo a deletion."""
    back = local_address(next, MEMORIES)
    try:
        memory = await restore(backend, settings_caller(user), memory_id)
    except (MemoryNotLive, MemoryDuplicate) as error:
        return _conflicting(request, error, back)
    return _changed(request, memory, back)


def _changed(request: Request, memory: Memory, back: str) -> Response:
    if is_htmx(request):
        return row_as_it_stands(memory, back)
    return see_other(f"{back.partition('#')[0]}#memory-{memory.id}")


def _conflicting(request: Request, error: NorthError, back: str) -> Response:
    """Somebody was faster: show what stands now, which can be changed in its turn."""
    current: Memory | None = error.detail.get("current")
    if current is None:
        raise error
    return row_as_it_stands(current, back, 409) if is_htmx(request) else see_other(memory_address(current))


def _edit_form(
    request: Request,
    user: User,
    memory: Memory,
    back: str,
    content: str,
    type: MemoryType,
    *,
    error: str | None = None,
    other: str | None = None,
    gone: bool = False,
    status: int = 200,
) -> Response:
    if not is_htmx(request):
        return render(
            request, "memory_edit.html", status, user=user, memory=memory, back=back, content=content,
            type=type, error=error, other=other, gone=gone,
        )  # fmt: skip
    if gone:
        return HTMLResponse(render_fragment(PARTS, "gone_form", memory, content, type), status)
    form = render_fragment(PARTS, "edit_form", memory, back, content, type, error=error, other=other)
    return HTMLResponse(form, status)
