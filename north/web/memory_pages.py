"""Settings → Memory: the list, one row, its history."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, TypeVar
from uuid import UUID

from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from north.errors import InvalidInput, MatterNotFound, MemoryNotFound
from north.memory.edit import history
from north.memory.listing import MemoryFilter, Page, list_memories
from north.memory.search import search_memories
from north.model import Caller, Memory, MemoryType, Origin, Rule, Scope, Status, User
from north.web.matter_choice import matter_choice
from north.web.pages import address, is_htmx, local_address, render, render_fragment, see_other
from north.web.sessions import CurrentUser, PageRoute, RunningBackend, settings_caller
from north.web.wording import EXPORT_FORMATS

router = APIRouter(route_class=PageRoute, include_in_schema=False)

MEMORIES = "/settings/memory"
PARTS = "parts/memory.html"
EVERYTHING = MemoryFilter()
Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Adding:
    """The form that adds a memory: what was typed, and what came of it."""

    content: str = ""
    type: str = MemoryType.FACT
    where: str = Scope.USER_PRIVATE
    matter: str = ""
    open: bool = False
    error: str | None = None
    rule: Rule | None = None
    known: Memory | None = None
    saved: bool = False


NOTHING_ADDED = Adding()


def chosen(options: type[Choice], value: str) -> Choice | None:
    """The option that a form's value names; anything else is no choice."""
    return options(value) if value in options.__members__.values() else None


def filters_of(scope: str = "", matter: str = "", type: str = "", origin: str = "", q: str = "") -> MemoryFilter:
    """The filters in the page's address."""
    return MemoryFilter(
        scope=chosen(Scope, scope),
        type=chosen(MemoryType, type),
        matter=matter.strip() or None,
        origin=chosen(Origin, origin),
        query=q.strip() or None,
    )


Filters = Annotated[MemoryFilter, Depends(filters_of)]


def list_address(filters: MemoryFilter, cursor: str | None = None, path: str = MEMORIES) -> str:
    """The address of a filtered list, so that a view can be linked; `path` is of what else takes the same filters."""
    return address(
        path,
        q=filters.query,
        scope=filters.scope,
        matter=filters.matter,
        type=filters.type,
        origin=filters.origin,
        cursor=cursor,
    )


@router.get(MEMORIES)
async def memories_page(
    request: Request,
    backend: RunningBackend,
    user: CurrentUser,
    filters: Filters,
    cursor: str | None = None,
    highlight: str = "",
) -> Response:
    """The list as a page, or as the piece of it that htmx asks for."""
    caller = settings_caller(user)
    page = await _page(backend, caller, filters, cursor)
    back = list_address(filters)
    more = list_address(filters, page.next_cursor)
    if is_htmx(request) and cursor:
        return HTMLResponse(render_fragment(PARTS, "rows", page, back, more, focus_first=True))
    if is_htmx(request):
        piece = render(request, "memory_list.html", page=page, more=more, highlight=None, **_about(filters))
        piece.headers["HX-Push-Url"] = back
        return piece
    shown = await _highlighted(backend, caller, highlight)
    return await show_memories(request, backend, user, page=page, filters=filters, shown=shown)


async def show_memories(
    request: Request,
    backend: RunningBackend,
    user: User,
    *,
    page: Page | None = None,
    filters: MemoryFilter = EVERYTHING,
    shown: Memory | None = None,
    adding: Adding = NOTHING_ADDED,
    status: int = 200,
) -> Response:
    """Render the Memories tab. `shown` is a memory that a link points at; a deleted one stands above the list."""
    caller = settings_caller(user)
    page = page or await _page(backend, caller, filters, None)
    deleted = shown if shown and shown.status != Status.ACTIVE else None
    if shown and not deleted and shown.id not in {memory.id for memory in page.memories}:
        page = replace(page, memories=(shown, *page.memories))
    return render(
        request,
        "memories.html",
        status,
        user=user,
        page=page,
        filters=filters,
        **_about(filters),
        more=list_address(filters, page.next_cursor),
        highlight=str(shown.id) if shown else None,
        deleted=deleted,
        matters=await matter_choice(backend, caller),
        adding=adding,
    )


@router.get(MEMORIES + "/{memory_id:uuid}")
async def memory_row(
    request: Request, backend: RunningBackend, user: CurrentUser, memory_id: UUID, next: str = ""
) -> Response:
    """One row as it stands now, after an edit was cancelled."""
    memory = await current_version(backend, settings_caller(user), memory_id)
    if not is_htmx(request):
        return see_other(memory_address(memory))
    return row_as_it_stands(memory, local_address(next, MEMORIES))


@router.get(MEMORIES + "/{memory_id:uuid}/history")
async def memory_history(request: Request, backend: RunningBackend, user: CurrentUser, memory_id: UUID) -> Response:
    """Every version of a memory, newest first."""
    versions = await history(backend, settings_caller(user), memory_id)
    if is_htmx(request):
        return HTMLResponse(render_fragment(PARTS, "history", versions))
    return render(request, "memory_history.html", user=user, versions=versions)


def memory_address(memory: Memory) -> str:
    """Where a link to this memory leads: the list, with the memory marked in it."""
    return f"{address(MEMORIES, highlight=memory.id)}#memory-{memory.id}"


def row_as_it_stands(memory: Memory, back: str, status: int = 200) -> HTMLResponse:
    """A row, live or deleted, with the keyboard on it."""
    if memory.status == Status.ACTIVE:
        return HTMLResponse(render_fragment(PARTS, "row", memory, back, focus=True), status)
    return HTMLResponse(render_fragment(PARTS, "deleted_row", memory, back), status)


async def current_version(backend: RunningBackend, caller: Caller, memory_id: UUID) -> Memory:
    """The newest version of the memory that this one became.

    Raises:
        MemoryNotFound: no such memory for this caller.
    """
    return (await history(backend, caller, memory_id))[0]


def _about(filters: MemoryFilter) -> dict[str, Any]:
    """What a list says of itself: where it stands, whether it is filtered, and where its files are."""
    return {
        "back": list_address(filters),
        "filtered": filters != EVERYTHING,
        "export": {each: list_address(filters, path=f"{MEMORIES}/export/{each}") for each in EXPORT_FORMATS},
    }


async def _page(backend: RunningBackend, caller: Caller, filters: MemoryFilter, cursor: str | None) -> Page:
    """A page of the list. An old link to a matter or a place that is gone shows an empty or the first page."""
    find = search_memories if filters.query else list_memories
    try:
        return await find(backend, caller, filters, cursor or None)
    except MatterNotFound:
        return Page((), None)
    except InvalidInput:
        return await find(backend, caller, filters)


async def _highlighted(backend: RunningBackend, caller: Caller, highlight: str) -> Memory | None:
    try:
        return await current_version(backend, caller, UUID(highlight))
    except (ValueError, MemoryNotFound):
        return None
