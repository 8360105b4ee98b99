"""Logging in and out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form
from starlette.requests import Request
from starlette.responses import Response

from north.access.login import log_in, log_out, session_user
from north.errors import LoginFailed, TooManyLogins
from north.statuses import status_of
from north.web.pages import local_address, render, see_other
from north.web.security import SESSION_COOKIE
from north.web.sessions import PageRoute, RunningBackend, clear_session, set_session

router = APIRouter(route_class=PageRoute, include_in_schema=False)

AFTERWARDS = "/chat"


@router.get("/login")
async def login_page(request: Request, backend: RunningBackend, next: str = "") -> Response:
    """The form; whoever is logged in already goes on."""
    secret = request.cookies.get(SESSION_COOKIE)
    if secret and await session_user(backend, secret):
        return see_other(local_address(next, AFTERWARDS))
    return render(request, "login.html", error=None, email="", next=local_address(next, AFTERWARDS))


@router.post("/login")
async def login(
    request: Request,
    backend: RunningBackend,
    email: Annotated[str, Form()] = "",
    password: Annotated[str, Form()] = "",
    next: Annotated[str, Form()] = "",
) -> Response:
    """Open a session. Every login opens a new one, so that nobody can prepare it for somebody else."""
    afterwards = local_address(next, AFTERWARDS)
    try:
        _, secret = await log_in(backend, email, password, request.client.host if request.client else None)
    except (LoginFailed, TooManyLogins) as error:
        page = render(request, "login.html", status_of(error), error=str(error), email=email, next=afterwards)
        if isinstance(error, TooManyLogins):
            page.headers["Retry-After"] = str(error.detail["seconds"])
        return page
    response = see_other(afterwards)
    await _end_session(request, backend)
    set_session(response, secret, backend)
    return response


@router.post("/logout")
async def logout(request: Request, backend: RunningBackend) -> Response:
    """End the session, here and on the server."""
    await _end_session(request, backend)
    response = see_other("/login")
    clear_session(response, backend)
    return response


async def _end_session(request: Request, backend: RunningBackend) -> None:
    if secret := request.cookies.get(SESSION_COOKIE):
        await log_out(backend, secret)
