"""The API's description (OpenAPI): what each call takes, answers, and how it can fail."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from north import errors
from north.api.problems import MEDIA_TYPE, title_of, type_of
from north.errors import NorthError
from north.statuses import status_of

ALWAYS = (
    errors.HeadTooLarge,
    errors.HeadTooSlow,
    errors.NotSignedIn,
    errors.TooManyRequests,
    errors.DatabaseUnavailable,
    errors.DatabaseTooSlow,
    errors.DatabaseFull,
    errors.DatabaseReadOnly,
    errors.DatabaseBusy,
    errors.OutcomeUnknown,
    errors.InternalError,
)
WITH_BODY = (errors.InvalidInput, errors.BodyNotJson, errors.BodyNotTyped, errors.BodyTooLarge)

DESCRIPTION = """\
North is a firm's memory for its AI assistants. A save is live at once: the next recall has it.

Send an access token as `Authorization: Bearer …`; it says for which firm and which lawyer you act, and nothing else
does. A call that fails answers `application/problem+json` with a stable `code` and a sentence that says what to do.
Times are UTC in ISO 8601. `matter` is a matter's number or its id everywhere.
"""

PROBLEM = {
    "type": "object",
    "title": "Problem",
    "description": "A failure (RFC 9457).",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string", "description": "Leads to the problem's description."},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What happened and what to do, as a sentence."},
        "code": {"type": "string", "description": "Stable; decide by it."},
        "errors": {
            "type": "array",
            "description": "With `invalid_request`: the fields that are not valid.",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
        "current": {
            "description": "With `conflict` and `duplicate`: the memory that stands, or null.",
            "anyOf": [{"$ref": "#/components/schemas/MemoryShape"}, {"type": "null"}],
        },
        "rule": {
            "type": "object",
            "description": "With `refused_by_rule`: your rule.",
            "properties": {"id": {"type": "string", "format": "uuid"}, "sentence": {"type": "string"}},
        },
        "source": {"type": "string", "description": "With `refused_by_wall`: the walled source that was read."},
    },
}


def failures(*kinds: type[NorthError], body: bool = False) -> dict[int | str, dict[str, Any]]:
    """How a call can fail, for its description.

    Args:
        kinds: what its own work raises; what every call can meet is added.
        body: whether it takes a body, which can fail in ways of its own.
    """
    by_status: defaultdict[int | str, list[type[NorthError]]] = defaultdict(list)
    for kind in (*ALWAYS, *(WITH_BODY if body else ()), *kinds):
        if kind not in by_status[int(status_of(kind))]:
            by_status[int(status_of(kind))].append(kind)
    return {status: _described(of_status) for status, of_status in sorted(by_status.items(), key=str)}


def _described(kinds: list[type[NorthError]]) -> dict[str, Any]:
    return {
        "description": "\n".join(f"- `{kind.code}`: {_sentence(kind)}" for kind in kinds),
        "content": {
            MEDIA_TYPE: {
                "schema": {"$ref": "#/components/schemas/Problem"},
                "examples": {kind.code: {"value": _example(kind)} for kind in kinds},
            }
        },
    }


def _sentence(kind: type[NorthError]) -> str:
    return " ".join((kind.__doc__ or "").split())


def _example(kind: type[NorthError]) -> dict[str, Any]:
    return {
        "type": type_of(kind),
        "title": title_of(kind),
        "status": int(status_of(kind)),
        "detail": _sentence(kind),
        "code": kind.code,
    }


def describe_api(api: FastAPI, mounted_at: str) -> dict[str, Any]:
    """The OpenAPI document, with every path as a client sends it."""
    document = get_openapi(
        title=api.title,
        version=api.version,
        openapi_version=api.openapi_version,
        description=DESCRIPTION,
        routes=api.routes,
    )
    document["paths"] = {mounted_at + path: calls for path, calls in document["paths"].items()}
    schemas = document["components"]["schemas"]
    schemas["Problem"] = PROBLEM
    # The framework describes its own shape of a validation error, which never leaves this API.
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    for call in (call for calls in document["paths"].values() for call in calls.values()):
        if "HTTPValidationError" in str(call["responses"].get("422")):
            del call["responses"]["422"]
    return document
