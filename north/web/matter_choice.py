"""Choosing a matter: from a list while the firm has few, else by typing with proposals."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter
from starlette.responses import HTMLResponse, Response

from north.memory.backend import Backend
from north.memory.matters import list_matters
from north.model import Caller, Matter
from north.web.pages import render_fragment
from north.web.sessions import CurrentUser, PageRoute, RunningBackend, settings_caller

router = APIRouter(route_class=PageRoute, include_in_schema=False)

LISTED = 100
PROPOSED = 20


@dataclass(frozen=True, slots=True)
class MatterChoice:
    """The firm's newest matters; `many` says that there are more than a list should hold."""

    matters: tuple[Matter, ...]
    many: bool


async def matter_choice(backend: Backend, caller: Caller) -> MatterChoice:
    """What a form offers: up to 100 matters as a list, or, of more, the newest as the first proposals."""
    matters = await list_matters(backend, caller, limit=LISTED + 1)
    many = len(matters) > LISTED
    return MatterChoice(tuple(matters[:PROPOSED] if many else matters), many)


@router.get("/settings/matters")
async def matter_options(backend: RunningBackend, user: CurrentUser, matter: str = "") -> Response:
    """Proposals for what is being typed: matters whose number or name has its words."""
    matters = await list_matters(backend, settings_caller(user), matter, PROPOSED)
    return HTMLResponse(render_fragment("parts/matters.html", "matter_options", matters))
