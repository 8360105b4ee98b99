"""Consultations of walled sources that did not pass through North."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import status
from pydantic import Field

from north import errors
from north.api.callers import Running, SignedIn, calls
from north.api.description import failures
from north.api.shapes import RequestBody, SessionHandle, Shape
from north.memory.wall import WALLED_SOURCES, record_consultation

router = calls("/v1/wall", "wall")

Source = Annotated[
    str, Field(description=f"One of: {', '.join(f'`{key}`' for key in WALLED_SOURCES)}.", examples=[*WALLED_SOURCES])
]


class NewConsultation(RequestBody):
    """What was read from. Without a session handle it counts for everything that this token does in the next hours."""

    source: Source
    session: SessionHandle = None


class ConsultationReply(Shape):
    """The consultation is recorded."""

    source: Source


@router.post(
    "/consultations",
    summary="Report a consultation",
    status_code=status.HTTP_201_CREATED,
    responses=failures(errors.WalledSourceUnknown, errors.SessionUnknown, body=True),
)
async def report(new: NewConsultation, backend: Running, caller: SignedIn) -> ConsultationReply:
    """Report that a session has read from a walled source by way of another server, before it uses what it read.

    From then on, the session cannot write memory that the firm shares (`refused_by_wall`); personal memory still works.
    """
    await record_consultation(backend, replace(caller, session=new.session or None), new.source)
    return ConsultationReply(source=new.source)
