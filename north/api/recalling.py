"""What North knows that bears on a question, and what a session should start with."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header, Response
from pydantic import Field
from starlette.responses import PlainTextResponse

from north import errors
from north.api.callers import Recognised, Running, calls
from north.api.description import failures
from north.api.metrics import RECALLS
from north.api.shapes import MatterReference, MemoryShape, RequestBody, ScoredMemory, Shape, memory_shapes
from north.memory.recall import LIMIT, QUERY_LIMIT, briefing, recall

router = calls("/v1", "recall")

PLAIN = "text/plain"


class Question(RequestBody):
    """What to look for."""

    query: str = Field(
        description=f"A question or a topic, 1 to {QUERY_LIMIT:,} characters; a date finds what was captured then.",
        examples=["How do I cite a case?"],
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
async def ask(question: Question, backend: Running, caller: Recognised) -> RecallReply:
    """The memories that answer a question best, by words and by meaning. Firm-wide memory is never recalled."""
    found = await recall(backend, caller, question.query, question.matter, question.limit)
    RECALLS.inc()
    return RecallReply(
        personal=[ScoredMemory.of(hit) for hit in found.personal],
        matter=[ScoredMemory.of(hit) for hit in found.matter],
    )


@router.get(
    "/briefing",
    summary="Get a briefing",
    response_model=BriefingReply,
    responses=failures(errors.MatterNotFound) | {200: {"content": {PLAIN: {"schema": {"type": "string"}}}}},
)
async def brief(
    backend: Running,
    caller: Recognised,
    matter: MatterReference | None = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response | BriefingReply:
    """The text to put into an agent's prompt at the start of a session; alone, with `Accept: text/plain`."""
    injection = await briefing(backend, caller, matter)
    if accept.startswith(PLAIN):
        return PlainTextResponse(injection.text)
    return BriefingReply(text=injection.text, memories=memory_shapes(injection.memories))
