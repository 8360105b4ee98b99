"""A conversation as a thing of its own: found, renamed, deleted and brought back; and what its answers used."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit
from uuid import UUID

from fastapi import APIRouter, Form
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from north.chat.threads import delete_thread, get_message, get_thread, list_threads, rename_thread, restore_thread
from north.errors import InvalidInput
from north.memory.matters import id_in
from north.statuses import status_of
from north.web.chat_pages import CHAT, show_thread
from north.web.pages import address, is_htmx, render, render_fragment, see_other
from north.web.sessions import CurrentUser, PageRoute, RunningBackend, chat_caller

router = APIRouter(route_class=PageRoute, include_in_schema=False)

PARTS = "parts/threads.html"


@router.get(CHAT + "/threads")
async def found_threads(request: Request, backend: RunningBackend, user: CurrentUser, find: str = "") -> Response:
    """The conversations whose name has the words that are being typed, for the side panel."""
    if not is_htmx(request):
        return see_other(address(CHAT, find=find))
    threads = await list_threads(backend, chat_caller(user), query=find)
    current = id_in(urlsplit(request.headers.get("HX-Current-URL", "")).path.removeprefix(f"{CHAT}/"))
    return HTMLResponse(render_fragment(PARTS, "thread_links", threads, current, searched=bool(find.strip())))


@router.post(CHAT + "/{thread_id:uuid}/rename")
async def name_thread(
    request: Request,
    backend: RunningBackend,
    user: CurrentUser,
    thread_id: UUID,
    title: Annotated[str, Form()] = "",
) -> Response:
    """Give a conversation another name."""
    caller = chat_caller(user)
    try:
        thread = await rename_thread(backend, caller, thread_id, title)
    except InvalidInput as error:
        if not is_htmx(request):
            return await show_thread(request, backend, user, thread_id, unnamed=str(error), status=status_of(error))
        thread = await get_thread(backend, caller, thread_id)
        return HTMLResponse(render_fragment(PARTS, "thread_head", thread, str(error)), status_of(error))
    if is_htmx(request):
        return HTMLResponse(render_fragment(PARTS, "renamed", thread))
    return see_other(f"{CHAT}/{thread_id}")


@router.post(CHAT + "/{thread_id:uuid}/delete")
async def remove_thread(backend: RunningBackend, user: CurrentUser, thread_id: UUID) -> Response:
    """Delete a conversation at once; the page that follows offers to undo it."""
    await delete_thread(backend, chat_caller(user), thread_id)
    return see_other(address(CHAT, deleted=thread_id))


@router.post(CHAT + "/{thread_id:uuid}/restore")
async def bring_back_thread(backend: RunningBackend, user: CurrentUser, thread_id: UUID) -> Response:
    """Undo the deletion of a conversation."""
    await restore_thread(backend, chat_caller(user), thread_id)
    return see_other(f"{CHAT}/{thread_id}")


@router.get(CHAT + "/{thread_id:uuid}/messages/{message_id:uuid}/used")
async def used_memories(
    request: Request, backend: RunningBackend, user: CurrentUser, thread_id: UUID, message_id: UUID
) -> Response:
    """The memories that an answer was given, as rows below it or as a page."""
    message = await get_message(backend, chat_caller(user), thread_id, message_id)
    back = f"{CHAT}/{thread_id}"
    if is_htmx(request):
        return HTMLResponse(render_fragment("parts/notes.html", "used", message.recalled, back))
    return render(request, "used.html", user=user, memories=message.recalled, back=back)
