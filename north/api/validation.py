"""What is wrong with a body or a parameter, in sentences that name the field and say what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from email.message import Message
from typing import Any

from fastapi.exceptions import RequestValidationError

from north.errors import BodyNotJson, BodyNotTyped, ContentNotText, InvalidInput, NorthError

ERRORS_SHOWN = 10
FIELD_SHOWN = 80
WHOLE = "body"

SENTENCES = {
    "missing": "`{field}` is missing",
    "extra_forbidden": "`{field}` is not a field of this call; leave it out",
    "enum": "`{field}` must be one of {expected}",
    "string_type": "`{field}` must be text",
    "int_type": "`{field}` must be a whole number",
    "int_parsing": "`{field}` must be a whole number",
    "int_parsing_size": "`{field}` is too large a number",
    "greater_than_equal": "`{field}` must be at least {ge}",
    "less_than_equal": "`{field}` must be at most {le}",
    "string_too_long": "`{field}` must have at most {max_length} characters",
}
OTHERWISE = "`{field}` cannot be used as it is"
NO_OBJECT = "the body must be a JSON object"


def failure_of(error: RequestValidationError, content_type: str | None) -> NorthError:
    """The failure to report. Names of fields are told back, values never.

    Args:
        error: what the framework found.
        content_type: the request's own, which decides whether a body that is no object was meant as JSON.
    """
    found = error.errors()
    kinds = {each["type"] for each in found}
    if "json_invalid" in kinds:
        return BodyNotJson()
    if any(tuple(each["loc"]) == (WHOLE,) and each["type"] != "missing" for each in found) and not is_json(
        content_type
    ):
        return BodyNotTyped()
    if "string_unicode" in kinds:
        return ContentNotText(what="lone surrogate")
    listed = _listed(found)
    return InvalidInput(reason="; ".join(each["message"] for each in listed) + ".", errors=listed)


def is_json(content_type: str | None) -> bool:
    """Whether a body of this type is read as JSON."""
    message = Message()
    message["content-type"] = content_type or ""
    subtype = message.get_content_subtype()
    return message.get_content_maintype() == "application" and (subtype == "json" or subtype.endswith("+json"))


def _listed(found: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    return [{"field": _field(each), "message": _sentence(each)} for each in found[:ERRORS_SHOWN]]


def _sentence(each: Mapping[str, Any]) -> str:
    field, limits = _field(each), each.get("ctx", {})
    if field == WHOLE:
        return NO_OBJECT
    expected = str(limits.get("expected", "")).replace("'", "").replace(" or ", ", ")
    known = {name: limits.get(name) for name in ("ge", "le", "max_length")}
    return SENTENCES.get(each["type"], OTHERWISE).format(field=field, expected=expected, **known)


def _field(each: Mapping[str, Any]) -> str:
    """The path of a field below the body or the query, cut short: an unknown field's name may be anything."""
    return (".".join(str(part) for part in each["loc"][1:]) or WHOLE)[:FIELD_SHOWN]
