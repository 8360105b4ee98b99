"""Settings: where it begins, and the theme."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from starlette.responses import Response

from north.web.memory_pages import MEMORIES
from north.web.pages import THEME_COOKIE, THEMES, local_address, see_other
from north.web.sessions import PageRoute, RunningBackend

router = APIRouter(route_class=PageRoute, include_in_schema=False)

A_YEAR = 365 * 24 * 3600


@router.get("/settings")
async def settings_page() -> Response:
    """Settings begin with Memory."""
    return see_other(MEMORIES)


@router.post("/settings/theme")
async def choose_theme(
    backend: RunningBackend, theme: Annotated[str, Form()] = "", next: Annotated[str, Form()] = ""
) -> Response:
    """Remember light, dark or the system's choice, in this browser."""
    response = see_other(local_address(next, MEMORIES))
    if theme in THEMES:
        secure = backend.settings.address.startswith("https:")
        response.set_cookie(THEME_COOKIE, theme, max_age=A_YEAR, secure=secure, httponly=True, samesite="lax")
    return response
