"""Failures as pages: a title, the error's own sentence, and never a trace or somebody's text."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import structlog
from fastapi.exceptions import RequestValidationError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from north import errors
from north.statuses import status_of
from north.web.pages import address, here, is_htmx, local_address, render, see_other

log = structlog.get_logger(__name__)

TITLES = {
    HTTPStatus.NOT_FOUND: "Not found",
    HTTPStatus.FORBIDDEN: "Refused",
    HTTPStatus.CONFLICT: "Changed in the meantime",
    HTTPStatus.SERVICE_UNAVAILABLE: "Not available right now",
    HTTPStatus.TOO_MANY_REQUESTS: "Too many attempts",
    HTTPStatus.UNPROCESSABLE_ENTITY: "That cannot be used",
    HTTPStatus.METHOD_NOT_ALLOWED: "Not found",
}

NO_SUCH_PAGE = "There is nothing at this address, or it is not yours to see."
SOMETHING_WRONG = "Something went wrong on our side. Nothing was changed; try again in a moment."
UNREADABLE = "A field of this form cannot be read. Go back and try again."
LOGGED_OUT = "You have been logged out. Log in again in another tab, then try again here."


def error_page(request: Request, error: errors.NorthError) -> Response:
    """The reply to a request that failed in a way that North knows."""
    status = status_of(error)
    if status == HTTPStatus.INTERNAL_SERVER_ERROR:
        log.error("page_failed", code=error.code, path=request.url.path)
        return failure(request, status, SOMETHING_WRONG)
    return failure(request, status, str(error))


def invalid_page(request: Request, error: RequestValidationError) -> Response:
    """The reply to a form or an address whose fields cannot be read."""
    return failure(request, HTTPStatus.UNPROCESSABLE_ENTITY, UNREADABLE)


def failure(request: Request, status: int, message: str) -> Response:
    """A failure as whoever asked can show it: a page, or plain words for a script."""
    if is_htmx(request) or wants_events(request):
        return PlainTextResponse(message, status)
    title = TITLES.get(HTTPStatus(status), "Something went wrong")
    return render(request, "error.html", status, title=title, message=message)


def login_needed(request: Request) -> Response:
    """Send somebody who has no session to the login, and back here afterwards."""
    if wants_events(request):
        return PlainTextResponse(LOGGED_OUT, HTTPStatus.UNAUTHORIZED)
    if is_htmx(request):
        login = address("/login", next=_path_of(request.headers.get("HX-Current-URL")))
        return Response(status_code=HTTPStatus.UNAUTHORIZED, headers={"HX-Redirect": login})
    asked = here(request) if request.method == "GET" else _path_of(request.headers.get("referer"))
    return see_other(address("/login", next=None if asked == "/" else asked))


def wants_events(request: Request) -> bool:
    """Whether chat.js asks, which reads an answer as it is written."""
    return "text/event-stream" in request.headers.get("accept", "")


def _path_of(url: str | None) -> str | None:
    parts: Any = urlsplit(url or "")
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return local_address(path, "") or None
