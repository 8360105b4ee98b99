"""Values out of somebody else's file, of which any may be missing, of another type, or absurd."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import Any

LONGEST_TITLE = 200
_EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
_LATEST = datetime(2100, 1, 1, tzinfo=UTC)
_UNITS = (1, 1e3, 1e6, 1e9)
"""Seconds, milliseconds, microseconds, nanoseconds since 1970: between 1990 and 2100 none is taken for another."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def record(value: object) -> dict[str, Any]:
    """The object, or an empty one when it is none."""
    return value if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """The list, or an empty one when it is none."""
    return value if isinstance(value, list) else []


def clean(value: object) -> str:
    """The text as it was written, without outer white space; what cannot be stored (NUL, half a surrogate pair)
    becomes U+FFFD. Empty when it is no text.
    """
    if not isinstance(value, str):
        return ""
    text = value.strip()
    return _UNSTORABLE.sub("\ufffd", text) if _UNSTORABLE.search(text) else text


def title_of(value: object, otherwise: str = "Untitled") -> str:
    """A title on one line, of at most `LONGEST_TITLE` characters."""
    text = value[: 4 * LONGEST_TITLE] if isinstance(value, str) else ""
    return " ".join(clean(text).split())[:LONGEST_TITLE] or otherwise


def identifier(value: object) -> str:
    """An id on one line; empty when it is no text. A very long one is given as its fingerprint."""
    text = clean(value)
    return text if len(text) <= LONGEST_TITLE and "\n" not in text else fingerprint(text)


def fingerprint(*parts: str) -> str:
    """32 hexadecimal digits that differ when any of the parts does."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()[:32]


def moment(value: object) -> datetime | None:
    """A time with its zone (UTC where none is told), from ISO 8601 or from a number since 1970, also as text.

    None when there is none, or when it lies before 1990 or after 2099: no assistant wrote it then.
    """
    if isinstance(value, str):
        return _from_text(value.strip())
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _from_number(value)
    return None


def _from_text(value: str) -> datetime | None:
    if len(value) > 64:
        return None
    value = value.removesuffix("+")  # an offset of zero, as some exports cut it off
    try:
        return _from_number(float(value))
    except ValueError:
        pass
    try:
        at = datetime.fromisoformat(value)
        return within_reason(at if at.tzinfo else at.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None


def _from_number(value: float) -> datetime | None:
    for unit in _UNITS:
        if _EARLIEST.timestamp() <= value < _LATEST.timestamp() * unit and value >= _EARLIEST.timestamp() * unit:
            return datetime.fromtimestamp(value / unit, UTC)
    return None


def within_reason(at: datetime) -> datetime | None:
    """The time in UTC, or None when no assistant can have written then."""
    return at.astimezone(UTC) if _EARLIEST <= at < _LATEST else None
