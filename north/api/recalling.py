"""What North knows that bears on a question, and what a session should start with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import structlog
from fastapi import APIRouter, BackgroundTasks, Header, Response
from pydantic import Field
from starlette.responses import PlainTextResponse

from north import errors
from north.api.callers import Recognised, Running
from north.api.description import failures
from north.api.metrics import RECALLS
from north.api.shapes import MatterReference, MemoryShape, RequestBody, ScoredMemory, Shape, memory_shapes
from north.errors import NotSignedIn, Unavailable
from north.memory.backend import Backend
from north.memory.recall import LIMIT, QUERY_LIMIT, inject, note_uses, search
from north.model import Caller, Memory

log = structlog.get_logger(__name__)

router = APIRouter(prefix="/v1", tags=["recall"])

PLAIN = "text/plain"


class Question(RequestBody):
    """What to look for."""

    query: str = Field(
        description=f"A question or a topic, 1 to {QUERY_LIMIT:,} characters.", examples=["How do I cite a case?"]
    )
    matter: MatterReference | None = None
    limit: int = Field(default=12, ge=1, le=LIMIT, strict=True, description="Memories from each bucket.")


class RecallReply(Shape):
    """What answers the question, best first: from your personal memory, and from the matter's."""

    personal: list[ScoredMemory]
    matter: list[ScoredMemory]


class BriefingReply(Shape):
    """Prompt text with what North remembers, fenced as data, and the memories in it."""

    text: str
    memories: list[MemoryShape]


@router.post("/recall", summary="Recall", responses=failures(errors.InvalidInput, errors.MatterNotFound, body=True))
async def ask(question: Question, backend: Running, caller: Recognised, background: BackgroundTasks) -> RecallReply:
    """The memories that answer a question best, by words and by meaning. Firm-wide memory is never recalled."""
    found = await search(backend, caller, question.query, question.matter, question.limit)
    RECALLS.inc()
    background.add_task(_note, backend, caller, found.memories)  # after the reply, whose reader does not need it
    return RecallReply(
        personal=[ScoredMemory.of(hit) for hit in found.personal],
        matter=[ScoredMemory.of(hit) for hit in found.matter],
    )


async def _note(backend: Backend, caller: Caller, memories: Sequence[Memory]) -> None:
    try:
        await note_uses(backend, caller, memories)
    except (Unavailable, NotSignedIn) as error:  # it was revoked between the reply and here
        log.warning("uses_not_noted", code=error.code, memories=len(memories))


@router.get(
    "/briefing",
    summary="Get a briefing",
    response_model=BriefingReply,
    responses=failures(errors.MatterNotFound) | {200: {"content": {PLAIN: {"schema": {"type": "string"}}}}},
)
async def brief(
    backend: Running,
    caller: Recognised,
    background: BackgroundTasks,
    matter: MatterReference | None = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response | BriefingReply:
    """The text to put into an agent's prompt at the start of a session; alone, with `Accept: text/plain`."""
    injection = await inject(backend, caller, None, matter)
    background.add_task(_note, backend, caller, injection.memories)
    if accept.startswith(PLAIN):
        return PlainTextResponse(injection.text)
    return BriefingReply(text=injection.text, memories=memory_shapes(injection.memories))
