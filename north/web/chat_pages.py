"""The chat: a new one, a conversation, and sending a message.

`chat.js` asks for the answer as a stream of events; a plain form gets the page back with the whole answer.
"""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form
from starlette.requests import Request
from starlette.responses import Response

from north.chat.assistant import Assistant
from north.chat.paused import resume, run_turn, waiting_in
from north.chat.threads import MESSAGES_SHOWN, check_message, create_thread, get_thread, list_threads
from north.errors import InvalidInput, MatterNotFound, NorthError, ThreadNotPaused, Unavailable
from north.model import Message, Thread, User
from north.statuses import status_of
from north.web.chat_stream import stream_answer
from north.web.error_pages import wants_events
from north.web.matter_choice import matter_choice
from north.web.pages import render, see_other
from north.web.sessions import CurrentUser, PageRoute, RunningBackend, chat_caller
from north.web.wording import unanswered_in_words

router = APIRouter(route_class=PageRoute, include_in_schema=False)

CHAT = "/chat"


@router.get("/")
async def start_page() -> Response:
    """North begins with the chat."""
    return see_other(CHAT)


@router.get(CHAT)
async def new_chat(
    request: Request, backend: RunningBackend, user: CurrentUser, find: str = "", deleted: UUID | None = None
) -> Response:
    """An empty chat, on a matter or on none. `deleted` is the conversation that has just been deleted."""
    return await _show_new(request, backend, user, find=find, deleted=deleted)


@router.get(CHAT + "/{thread_id:uuid}")
async def thread_page(
    request: Request, backend: RunningBackend, user: CurrentUser, thread_id: UUID, find: str = ""
) -> Response:
    """A conversation."""
    return await show_thread(request, backend, user, thread_id, find=find)


@router.post(CHAT)
async def start_thread(
    request: Request,
    backend: RunningBackend,
    user: CurrentUser,
    text: Annotated[str, Form()] = "",
    matter: Annotated[str, Form()] = "",
    incognito: Annotated[bool, Form()] = False,
) -> Response:
    """Open a conversation with its first message; its matter, and whether it is remembered, are fixed from here on."""
    try:
        check_message(text)
        thread = await create_thread(backend, chat_caller(user), matter.strip() or None, incognito=incognito)
    except (InvalidInput, MatterNotFound) as error:
        if wants_events(request):
            raise
        return await _show_new(
            request, backend, user, text=text, matter=matter, incognito=incognito, error=str(error),
            status=status_of(error),
        )  # fmt: skip
    return await _answer(request, backend, user, thread.id, text, opened=thread)


@router.post(CHAT + "/{thread_id:uuid}/messages")
async def send_message(
    request: Request,
    backend: RunningBackend,
    user: CurrentUser,
    thread_id: UUID,
    text: Annotated[str, Form()] = "",
) -> Response:
    """Send a message in a conversation and answer it."""
    return await _answer(request, backend, user, thread_id, text)


@router.post(CHAT + "/{thread_id:uuid}/resume")
async def resume_thread(
    request: Request, backend: RunningBackend, user: CurrentUser, thread_id: UUID, save: Annotated[bool, Form()]
) -> Response:
    """Let a thread go on that an earlier release left paused; leaves with `north.chat.paused`."""
    try:
        await resume(request.app.state.assistant, chat_caller(user, thread_id), thread_id, approved=save)
    except Unavailable as error:
        return await show_thread(request, backend, user, thread_id, problem=str(error), error=error)
    except ThreadNotPaused:
        pass  # a second press of the button: the answer is there
    return see_other(f"{CHAT}/{thread_id}#latest")


async def _answer(
    request: Request,
    backend: RunningBackend,
    user: User,
    thread_id: UUID,
    text: str,
    opened: Thread | None = None,
) -> Response:
    assistant: Assistant = request.app.state.assistant
    caller = chat_caller(user, thread_id)
    if wants_events(request):
        return await stream_answer(assistant, caller, thread_id, text, opened)
    try:
        await run_turn(assistant, caller, thread_id, text)
    except InvalidInput as error:
        return await show_thread(request, backend, user, thread_id, text=text, error=error)
    except Unavailable as error:
        return await show_thread(request, backend, user, thread_id, problem=str(error), error=error)
    return see_other(f"{CHAT}/{thread_id}#latest")


async def _show_new(
    request: Request,
    backend: RunningBackend,
    user: User,
    *,
    text: str = "",
    matter: str = "",
    incognito: bool = False,
    error: str | None = None,
    status: int = 200,
    find: str = "",
    deleted: UUID | None = None,
) -> Response:
    caller = chat_caller(user)
    return render(
        request,
        "chat.html",
        status,
        user=user,
        threads=await list_threads(backend, caller, query=find),
        find=find,
        matters=await matter_choice(backend, caller),
        thread=None,
        deleted=deleted,
        messages=(),
        waiting=(),
        cut=False,
        address=CHAT,
        action=CHAT,
        text=text,
        matter=matter,
        incognito=incognito,
        problem=None,
        retry="",
        error=error,
    )


async def show_thread(
    request: Request,
    backend: RunningBackend,
    user: User,
    thread_id: UUID,
    *,
    text: str = "",
    problem: str | None = None,
    error: NorthError | None = None,
    unnamed: str | None = None,
    status: int = 200,
    find: str = "",
) -> Response:
    """A conversation as a page.

    Args:
        request: what is answered.
        backend: the running North.
        user: the lawyer.
        thread_id: the conversation.
        text: what stands in the composer.
        problem: why the last message has no answer.
        error: what is wrong with this request.
        unnamed: why it could not be renamed.
        status: the reply's, unless `error` has one.
        find: which conversations the side panel lists.
    """
    caller = chat_caller(user, thread_id)
    thread = await get_thread(backend, caller, thread_id)
    waiting = await waiting_in(backend, caller, thread)
    unanswered = None if waiting else _unanswered(thread)
    return render(
        request,
        "chat.html",
        status_of(error) if error else status,
        user=user,
        threads=await list_threads(backend, caller, query=find),
        find=find,
        thread=thread,
        deleted=None,
        unnamed=unnamed,
        messages=thread.messages,
        waiting=waiting,
        cut=len(thread.messages) == MESSAGES_SHOWN,
        address=f"{CHAT}/{thread_id}",
        action=f"{CHAT}/{thread_id}/messages",
        text=text,
        problem=problem or (unanswered_in_words(unanswered) if unanswered else None),
        retry=unanswered.content if unanswered else "",
        error=str(error) if error and not problem else None,
    )


def _unanswered(thread: Thread) -> Message | None:
    last = thread.messages[-1] if thread.messages else None
    return last if last and last.role == "user" else None
