"""The web surface as a whole: its routes, its security and its error pages, added to the application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, cast

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from north.web import (
    assets,
    chat_pages,
    connections_pages,
    consent_pages,
    import_pages,
    login,
    matter_choice,
    memory_changes,
    memory_export,
    memory_pages,
    netdocuments_pages,
    rules_pages,
    settings_pages,
    thread_pages,
)
from north.web.error_pages import NO_SUCH_PAGE, SOMETHING_WRONG, UNREADABLE, failure
from north.web.forms import PlainForms
from north.web.security import PageSecurity, complete_headers, is_page

Handler = Callable[[Request, Exception], Awaitable[Response]]


def add_web(app: FastAPI) -> None:
    """Add the pages to `app`, which carries the `Backend` and the `Assistant` in its state.

    Call it after the other surfaces: their error handlers go on answering for their own paths.
    """
    for part in (
        assets,
        login,
        consent_pages,
        chat_pages,
        thread_pages,
        matter_choice,
        memory_pages,
        memory_changes,
        memory_export,
        rules_pages,
        connections_pages,
        netdocuments_pages,
        import_pages,
        settings_pages,
    ):
        app.include_router(part.router)
    app.add_middleware(PlainForms)
    app.add_middleware(PageSecurity)
    others = cast(Handler, app.exception_handlers[HTTPException])
    app.add_exception_handler(HTTPException, _for_pages(_http_failure, others))
    crash = cast(Handler | None, app.exception_handlers.get(Exception))
    app.add_exception_handler(Exception, _for_pages(_crash, crash or _crash))


def _for_pages(ours: Handler, others: Handler) -> Any:
    async def handle(request: Request, error: Exception) -> Response:
        return await (ours if is_page(request.url.path) else others)(request, error)

    return handle


async def _http_failure(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    messages = {HTTPStatus.NOT_FOUND: NO_SUCH_PAGE, HTTPStatus.METHOD_NOT_ALLOWED: NO_SUCH_PAGE}
    messages[HTTPStatus.BAD_REQUEST] = UNREADABLE
    message = messages.get(HTTPStatus(status), SOMETHING_WRONG)
    return failure(request, status, message)


async def _crash(request: Request, error: Exception) -> Response:
    """The page for a fault of North's own. The server logs the fault; it stands outside the middleware."""
    response = failure(request, HTTPStatus.INTERNAL_SERVER_ERROR, SOMETHING_WRONG)
    complete_headers(MutableHeaders(raw=response.raw_headers), https=False)
    return response
