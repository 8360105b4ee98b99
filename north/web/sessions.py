"""Who is looking at a page: the session cookie, and the routes that need one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from north.access.login import SESSION_LIFE, session_user
from north.errors import NorthError, NotSignedIn
from north.memory.backend import Backend
from north.model import Caller, Origin, User
from north.web.error_pages import error_page, invalid_page, login_needed
from north.web.security import SESSION_COOKIE as SESSION_COOKIE

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class PageRoute(APIRoute):
    """A route whose failures are answered as pages."""

    def get_route_handler(self) -> Handler:
        """Wrap the handler so that what it raises becomes a reply to a browser."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except NotSignedIn:
                return login_needed(request)
            except NorthError as error:
                return error_page(request, error)
            except RequestValidationError as error:
                return invalid_page(request, error)

        return handle


def backend_of(request: Request) -> Backend:
    """The running North."""
    backend: Backend = request.app.state.backend
    return backend


async def signed_in(request: Request) -> User:
    """The lawyer whose session the cookie names.

    Raises:
        NotSignedIn: there is no cookie, or its session is over.
    """
    secret = request.cookies.get(SESSION_COOKIE)
    user = await session_user(backend_of(request), secret) if secret else None
    if user is None:
        raise NotSignedIn
    return user


RunningBackend = Annotated[Backend, Depends(backend_of)]
CurrentUser = Annotated[User, Depends(signed_in)]


def settings_caller(user: User) -> Caller:
    """The lawyer, acting on a Settings page."""
    return Caller(user.organization_id, user.id, Origin.SETTINGS)


def chat_caller(user: User, thread_id: UUID | None = None) -> Caller:
    """The lawyer, acting in a chat."""
    return Caller(user.organization_id, user.id, Origin.CHAT, thread_id=thread_id)


def set_session(response: Response, secret: str, backend: Backend) -> None:
    """Give the browser a session; scripts cannot read it and other sites cannot send it with a write."""
    seconds = int(SESSION_LIFE.total_seconds())
    response.set_cookie(SESSION_COOKIE, secret, max_age=seconds, **_cookie(backend))


def clear_session(response: Response, backend: Backend) -> None:
    """Take the session from the browser."""
    response.delete_cookie(SESSION_COOKIE, **_cookie(backend))


def _cookie(backend: Backend) -> dict[str, Any]:
    secure = backend.settings.address.startswith("https:")
    return {"path": "/", "httponly": True, "samesite": "lax", "secure": secure}
