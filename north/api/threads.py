"""A lawyer's conversations with North's own assistant."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Header, Path, Response, status
from pydantic import Field
from starlette.requests import Request

from north import errors
from north.api.callers import Assisting, Running, SignedIn, calls, known_id
from north.api.description import failures
from north.api.shapes import (
    MatterReference,
    MemoryShape,
    RequestBody,
    Shape,
    ThreadShape,
    ThreadWithMessages,
    memory_shapes,
)
from north.api.stream import EVENT_STREAM, STREAM_DESCRIPTION, stream_reply
from north.chat.paused import resume, run_turn
from north.chat.threads import MESSAGE_LIMIT, create_thread, get_thread, list_threads

router = calls("/v1/threads", "threads")

ANSWERING = (
    errors.ThreadNotFound,
    errors.ContentEmpty,
    errors.ContentNotText,
    errors.MessageTooLong,
    errors.ModelUnavailable,
    errors.ModelTooSlow,
    errors.ModelOverLimit,
    errors.ModelRejected,
    errors.ModelConfused,
)

RESUMING = tuple(error for error in ANSWERING if not issubclass(error, errors.InvalidInput))

ThreadId = Annotated[str, Path(alias="id", description="A thread's id.")]


class NewThread(RequestBody):
    """A conversation to open, on a matter or on none; that is fixed for good."""

    matter: MatterReference | None = None


ON_NO_MATTER = NewThread()


class NewMessage(RequestBody):
    """What to say to the assistant."""

    text: str = Field(
        description=f"At most {MESSAGE_LIMIT:,} characters.", examples=["I always want citations in Bluebook form."]
    )


class Decision(RequestBody):
    """What to do with the save that an earlier release left waiting in the thread."""

    approved: bool = Field(description="Whether it is saved.")


class ThreadList(Shape):
    """Your conversations without their messages, the last used first; at most 50."""

    threads: list[ThreadShape]


class TurnReply(Shape):
    """The assistant's answer, what it saved in this turn, and what it was given from memory."""

    reply: str
    saved: list[MemoryShape]
    recalled: list[MemoryShape]


@router.get("", summary="List your threads", responses=failures())
async def list_all(backend: Running, caller: SignedIn) -> ThreadList:
    """Your conversations without their messages, the last used first."""
    return ThreadList.model_validate({"threads": await list_threads(backend, caller)})


@router.post(
    "",
    summary="Open a thread",
    status_code=status.HTTP_201_CREATED,
    responses=failures(errors.InvalidInput, errors.MatterNotFound, body=True),
)
async def create(backend: Running, caller: SignedIn, new: Annotated[NewThread, Body()] = ON_NO_MATTER) -> ThreadShape:
    """Open a conversation. On a matter, the assistant also knows and saves what belongs to that matter."""
    return ThreadShape.model_validate(await create_thread(backend, caller, new.matter))


@router.get("/{id}", summary="Get a thread", responses=failures(errors.ThreadNotFound))
async def get_one(thread_id: ThreadId, backend: Running, caller: SignedIn) -> ThreadWithMessages:
    """A conversation of yours with its messages; a colleague's does not exist for you."""
    thread = await get_thread(backend, caller, known_id(thread_id, errors.ThreadNotFound))
    return ThreadWithMessages.model_validate(thread)


@router.post(
    "/{id}/messages",
    summary="Say something",
    response_model=TurnReply,
    responses=failures(*ANSWERING, body=True)
    | {200: {"content": {EVENT_STREAM: {"schema": {"type": "string"}}}, "description": STREAM_DESCRIPTION}},
)
async def say(
    thread_id: ThreadId,
    new: NewMessage,
    request: Request,
    assistant: Assisting,
    caller: SignedIn,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response | TurnReply:
    """Say something and get the assistant's answer, whole, or as a stream with `Accept: text/event-stream`.

    When the model fails, what you said is kept: send the same text again.
    """
    known = known_id(thread_id, errors.ThreadNotFound)
    if EVENT_STREAM in accept:
        return await stream_reply(assistant, caller, known, new.text, request)
    message = await run_turn(assistant, caller, known, new.text)
    return TurnReply(
        reply=message.content, saved=memory_shapes(message.saved), recalled=memory_shapes(message.recalled)
    )


@router.post(
    "/{id}/resume", summary="Resume a paused thread", responses=failures(*RESUMING, errors.ThreadNotPaused, body=True)
)
async def go_on(thread_id: ThreadId, decision: Decision, assistant: Assisting, caller: SignedIn) -> TurnReply:
    """Let a thread go on that an earlier release left paused; a new message to it does that too.

    No thread is paused any more. This call leaves with the release after 0.1.
    """
    known = known_id(thread_id, errors.ThreadNotFound)
    message = await resume(assistant, caller, known, approved=decision.approved)
    return TurnReply(
        reply=message.content, saved=memory_shapes(message.saved), recalled=memory_shapes(message.recalled)
    )
