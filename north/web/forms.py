"""What a form may be: small, sent as browsers send theirs, and text."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import unquote_to_bytes

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from north.errors import BodyTooLarge
from north.web.error_pages import UNREADABLE, error_page, failure
from north.web.security import SAFE_METHODS, is_page

BODY_LIMIT = 1_000_000
"""The largest form, in bytes; a message of a chat is a tenth of it."""

TAKES_FILES = "/settings/import"
"""The one page whose forms bring a file, which it reads piece by piece and with a limit of its own."""

FORM = "application/x-www-form-urlencoded"


class PlainForms:
    """Middleware that reads a form whole before a page does, and refuses it when it is too large or no text.

    The framework's own reader has no limit, puts a question mark in place of what is not UTF-8, and writes the files of
    a form to the disk.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if (
            scope["type"] != "http"
            or scope["method"] in SAFE_METHODS
            or scope["path"] == TAKES_FILES
            or not is_page(scope["path"])
        ):
            await self.app(scope, receive, send)
        else:
            await self._read(scope, receive, send)

    async def _read(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        try:
            body = await _body(request.headers, receive)
        except BodyTooLarge as error:
            await error_page(request, error)(scope, receive, send)
            return
        if body and (refusal := _refusal(request, body)):
            await refusal(scope, receive, send)
            return
        passed = False

        async def replay() -> Message:
            nonlocal passed
            if passed:
                return await receive()
            passed = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, replay, send)


def _refusal(request: Request, body: bytes) -> Response | None:
    """Why a form is not read; None when it is."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        return failure(request, HTTPStatus.UNSUPPORTED_MEDIA_TYPE, UNREADABLE)
    try:
        unquote_to_bytes(body).decode()
    except UnicodeDecodeError:
        return failure(request, HTTPStatus.BAD_REQUEST, UNREADABLE)
    return None


async def _body(headers: Headers, receive: Receive) -> bytes:
    """The whole body, or as much of it as came before the browser went away.

    Raises:
        BodyTooLarge: it is, as announced or as it arrives.
    """
    announced = headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > BODY_LIMIT:
        raise BodyTooLarge(limit=BODY_LIMIT)
    body = bytearray()
    while (message := await receive())["type"] == "http.request":
        body += message.get("body", b"")
        if len(body) > BODY_LIMIT:
            raise BodyTooLarge(limit=BODY_LIMIT)
        if not message.get("more_body", False):
            break
    return bytes(body)
