"""Failures as problem details (RFC 9457): one mapping from North's tree of errors to HTTP."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from north import errors
from north.api.shapes import RefusingRule, memory_shape
from north.api.validation import failure_of
from north.db.connect import LostRace
from north.errors import NorthError
from north.statuses import status_of

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"

RETRY_SECONDS = 5
OVER_LIMIT_SECONDS = 60


def title_of(kind: type[NorthError]) -> str:
    """The code as words."""
    return kind.code.replace("_", " ").capitalize()


def type_of(kind: type[NorthError]) -> str:
    """The problem's `type`, relative to the server; it leads to the problem's description."""
    return f"/api/problems/{kind.code}"


def problem(error: NorthError) -> dict[str, Any]:
    """A failure as problem details. It holds no id of the request, so that two calls that fail alike answer alike."""
    kind = type(error)
    return {
        "type": type_of(kind),
        "title": title_of(kind),
        "status": status_of(kind).value,
        "detail": str(error),
        "code": kind.code,
        **_more(error),
    }


def _more(error: NorthError) -> dict[str, Any]:
    """What a program needs besides the sentence, to go on by itself."""
    match error:
        case errors.MemoryNotLive() | errors.MemoryDuplicate():
            current = error.detail.get("current")
            return {"current": memory_shape(current).model_dump(mode="json") if current else None}
        case errors.EditRefusedByRule():
            rule = RefusingRule(id=error.detail["rule_id"], sentence=error.detail["rule"])
            return {"rule": rule.model_dump(mode="json")}
        case errors.EditRefusedByWall():
            return {"source": error.detail["source"]}
        case errors.InvalidInput(detail={"errors": found}):
            return {"errors": found}
    return {}


def problem_response(error: NorthError) -> Response:
    """The reply to a call that failed."""
    status = status_of(error)
    # A lone surrogate has no UTF-8; its escape is JSON all the same.
    body = json.dumps(problem(error), ensure_ascii=False).encode("utf-8", "backslashreplace")
    return Response(body, status, _headers(error), MEDIA_TYPE)


def _headers(error: NorthError) -> dict[str, str]:
    match error:
        case errors.NotSignedIn():
            return {"WWW-Authenticate": "Bearer"}
        case errors.TooManyAttempts():
            return {"Retry-After": str(error.detail["seconds"])}
        case errors.ModelOverLimit():
            return {"Retry-After": str(OVER_LIMIT_SECONDS)}
        case errors.Unavailable():
            return {"Retry-After": str(RETRY_SECONDS)}
    return {}


def add_problems(api: FastAPI) -> None:
    """Make every failure of `api` a problem."""
    api.add_exception_handler(NorthError, _known)
    api.add_exception_handler(LostRace, _lost)
    api.add_exception_handler(RequestValidationError, _invalid)
    api.add_exception_handler(HTTPException, _of_http)


async def _known(request: Request, error: Exception) -> Response:
    assert isinstance(error, NorthError)
    if status_of(error) >= HTTPStatus.INTERNAL_SERVER_ERROR:
        log.warning("call_failed", code=error.code, method=request.method, route=route_of(request))
    return problem_response(error)


async def _lost(request: Request, error: Exception) -> Response:
    return await _known(request, errors.DatabaseBusy())


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return problem_response(failure_of(error, request.headers.get("content-type")))


async def _of_http(request: Request, error: Exception) -> Response:
    """What the framework refuses by itself: no such route, no such method, a body that it cannot read."""
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, NorthError):
        return problem_response(error.__cause__)
    if error.status_code == HTTPStatus.NOT_FOUND:
        return problem_response(errors.CallNotFound())
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        response = problem_response(errors.MethodNotAllowed())
        response.headers.update(error.headers or {})
        return response
    return problem_response(errors.BodyNotJson())


def route_of(request: Request) -> str:
    """The template of the route that was asked, for logs: a path may hold anything."""
    path: str = getattr(request.scope.get("route"), "path", "unknown")
    return path
