"""Settings → Import: bring in what other assistants know, watch it being read, cancel it or undo it."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from north.connectors.uploads import open_upload
from north.errors import ImportEnded, ImportRunning, InvalidInput, TooManyImports
from north.memory.backend import Backend
from north.memory.imports import IMPORT_LIMIT, cancel_import, get_import, list_imports, receive, undo_import
from north.model import Caller, Import, Origin, User
from north.statuses import status_of
from north.web.import_wording import is_under_way
from north.web.pages import is_htmx, render, render_fragment, see_other
from north.web.sessions import CurrentUser, PageRoute, RunningBackend

router = APIRouter(route_class=PageRoute, include_in_schema=False)

IMPORTS = "/settings/import"
PARTS = "parts/imports.html"
FILE, PASTED = "file", "pasted"
PASTED_NAME = "Pasted list"


@router.get(IMPORTS)
async def imports_page(request: Request, backend: RunningBackend, user: CurrentUser) -> Response:
    """The forms, and every import with its report."""
    return await _show(request, backend, user)


@router.post(IMPORTS)
async def bring_in(request: Request, backend: RunningBackend, user: CurrentUser) -> Response:
    """Take a file, or a list that was pasted, as it arrives; it is read afterwards."""
    try:
        upload = await open_upload(request, IMPORT_LIMIT, fields=(FILE, PASTED))
        name = PASTED_NAME if upload.field == PASTED else upload.name
        brought = await receive(backend, _caller(user), name, upload.chunks)
    except (InvalidInput, TooManyImports) as error:
        if is_htmx(request):
            return HTMLResponse(render_fragment(PARTS, "refused", str(error)), 422)
        return await _show(request, backend, user, refused=str(error), status=status_of(error))
    if is_htmx(request):
        return HTMLResponse(render_fragment(PARTS, "new_import", brought))
    return see_other(_address(brought))


@router.get(IMPORTS + "/{import_id:uuid}")
async def import_now(request: Request, backend: RunningBackend, user: CurrentUser, import_id: UUID) -> Response:
    """How far an import is. What asks again and again gets the bar alone, until there is a report to show."""
    brought = await get_import(backend, _caller(user), import_id)
    if not is_htmx(request):
        return see_other(_address(brought))
    if is_under_way(brought):
        return HTMLResponse(render_fragment(PARTS, "running", brought))
    ended = HTMLResponse(render_fragment(PARTS, "ended_import", brought))
    ended.headers["HX-Retarget"] = f"#import-{brought.id}"
    return ended


@router.post(IMPORTS + "/{import_id:uuid}/cancel")
async def cancel(request: Request, backend: RunningBackend, user: CurrentUser, import_id: UUID) -> Response:
    """Stop reading a file. One that has come to its end meanwhile is shown as it stands."""
    try:
        brought = await cancel_import(backend, _caller(user), import_id)
    except ImportEnded:
        brought = await get_import(backend, _caller(user), import_id)
    return _changed(request, brought)


@router.post(IMPORTS + "/{import_id:uuid}/undo")
async def undo(request: Request, backend: RunningBackend, user: CurrentUser, import_id: UUID) -> Response:
    """Delete what an import brought, at once."""
    try:
        brought = await undo_import(backend, _caller(user), import_id)
    except ImportRunning:
        brought = await get_import(backend, _caller(user), import_id)
    return _changed(request, brought)


def _caller(user: User) -> Caller:
    return Caller(user.organization_id, user.id, Origin.IMPORT)


def _address(brought: Import) -> str:
    return f"{IMPORTS}#import-{brought.id}"


def _changed(request: Request, brought: Import) -> Response:
    if is_htmx(request):
        return HTMLResponse(render_fragment(PARTS, "import_item", brought, focus=True))
    return see_other(_address(brought))


async def _show(
    request: Request, backend: Backend, user: User, *, refused: str | None = None, status: int = 200
) -> Response:
    imports = await list_imports(backend, _caller(user))
    return render(request, "import.html", status, user=user, imports=imports, refused=refused, limit=IMPORT_LIMIT)
