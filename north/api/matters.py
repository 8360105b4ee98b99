"""The firm's matters."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, status
from pydantic import Field

from north import errors
from north.api.callers import Running, SignedIn, calls
from north.api.description import failures
from north.api.shapes import MatterShape, RequestBody, Shape
from north.memory.matters import NAME_LIMIT, NUMBER_LIMIT, create_matter, list_matters

router = calls("/v1/matters", "matters")


class NewMatter(RequestBody):
    """A matter to open."""

    number: str = Field(description=f"Unique in the firm; at most {NUMBER_LIMIT} characters.", examples=["HV-1001"])
    name: str = Field(description=f"At most {NAME_LIMIT} characters.", examples=["Harbor Ventures v. Vance"])


class MatterList(Shape):
    """The firm's matters, newest first; at most 200."""

    matters: list[MatterShape]


@router.get("", summary="List matters", responses=failures())
async def list_all(
    backend: Running,
    caller: SignedIn,
    q: Annotated[str | None, Query(description="Words that the number or the name must hold.")] = None,
) -> MatterList:
    """The firm's matters, newest first."""
    return MatterList.model_validate({"matters": await list_matters(backend, caller, q)})


@router.post(
    "",
    summary="Open a matter",
    status_code=status.HTTP_201_CREATED,
    responses=failures(errors.InvalidInput, errors.AlreadyExists, body=True),
)
async def create(new: NewMatter, backend: Running, caller: SignedIn) -> MatterShape:
    """Open a matter. Every lawyer of the firm sees it and its memory."""
    return MatterShape.model_validate(await create_matter(backend, caller, new.number, new.name))
