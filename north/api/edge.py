"""The outermost layer of the API: bodies have a limit, replies are not kept, and no fault shows its insides."""

from __future__ import annotations

from uuid import uuid4

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from north.api.problems import problem_response, route_of
from north.api.validation import is_json
from north.errors import BodyTooLarge, InternalError, TooManyRequests
from north.logs import fault
from north.memory.json_body import check_json
from north.turns import Turns, bearer, in_turn

log = structlog.get_logger(__name__)

BODY_LIMIT = 1_000_000
"""The largest body, in bytes, except of a file that is brought in."""

BRINGS_A_FILE = "/v1/imports"
"""The one call whose body passes through unread; it has a limit of its own (`open_upload`)."""

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class Edge:
    """Middleware around every call.

    The framework's own answer to a fault would pass the error on to the server's log, with the values that a
    database names in its messages; here it ends, logged without them.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = False

        async def send_completed(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                completed = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    completed.setdefault(name, value)
            await send(message)

        try:
            headers = Headers(scope=scope)
            limited = receive if _brings_a_file(scope) else _checked(headers, receive)
            turns: Turns = scope["app"].state.backend.turns
            await in_turn(turns, bearer(headers), self.app, scope, limited, send_completed)
        except TooManyRequests as error:
            await problem_response(error)(scope, receive, send_completed)
        except Exception as error:
            failure = log_fault(error, Request(scope))
            if not started:
                await problem_response(failure)(scope, receive, send_completed)


def _brings_a_file(scope: Scope) -> bool:
    path: str = scope["path"]
    return scope["method"] == "POST" and path.removeprefix(scope.get("root_path", "")) == BRINGS_A_FILE


def _checked(headers: Headers, receive: Receive) -> Receive:
    """`receive` with a limit; JSON is passed on whole, and only when it can be read in one way alone."""
    limited = _limited(headers, receive)
    if not is_json(headers.get("content-type")):
        return limited
    passed = False

    async def receive_json() -> Message:
        nonlocal passed
        if passed:
            return await limited()
        body = bytearray()
        while (message := await limited())["type"] == "http.request":
            body += message.get("body", b"")
            if not message.get("more_body", False):
                passed = True
                if body:
                    check_json(bytes(body))
                return {"type": "http.request", "body": bytes(body), "more_body": False}
        return message

    return receive_json


def _limited(headers: Headers, receive: Receive) -> Receive:
    """`receive`, which refuses a body as soon as it is known to be too large."""
    announced = headers.get("content-length", "")
    size = 0

    async def receive_limited() -> Message:
        nonlocal size
        if announced.isdecimal() and int(announced) > BODY_LIMIT:
            raise BodyTooLarge(limit=BODY_LIMIT)
        message = await receive()
        size += len(message.get("body", b""))
        if size > BODY_LIMIT:
            raise BodyTooLarge(limit=BODY_LIMIT)
        return message

    return receive_limited


def log_fault(error: BaseException, request: Request) -> InternalError:
    """Log a fault of North's own by its kind and its place, without any value; and the failure to report."""
    request_id = uuid4().hex[:12]
    log.error("call_crashed", request_id=request_id, method=request.method, route=route_of(request), **fault(error))
    return InternalError(request_id=request_id)
