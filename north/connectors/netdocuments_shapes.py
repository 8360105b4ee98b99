"""What NetDocuments answers, read tolerantly: its API definition names paths and parameters, and hardly any bodies.

Names differ between its versions, and a list stands under several of them. What is missing is None; a record without
an id is no record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

_LISTS = ("standardList", "list", "results", "items", "data")
_MICROSOFT_DATE = re.compile(r"/Date\((-?\d+)(?:[+-]\d{4})?\)/")


@dataclass(frozen=True, slots=True)
class Cabinet:
    """A cabinet that the lawyer may open."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """What is known of a document beside its content. Every text is as NetDocuments sent it, and so untrusted."""

    id: str
    title: str
    extension: str | None = None
    version: str | None = None
    modified: date | None = None
    modified_by: str | None = None
    cabinet: str | None = None

    @property
    def name(self) -> str:
        """The title as a file's name."""
        if self.extension and not self.title.lower().endswith(f".{self.extension.lower()}"):
            return f"{self.title}.{self.extension}"
        return self.title


def cabinets(body: object) -> list[Cabinet]:
    """The cabinets of `GET /v1/User/cabinets`."""
    found = []
    for record in _records(body):
        if key := _text(record, "id", "cabinetId", "cabGuid"):
            found.append(Cabinet(key, _text(record, "name", "cabinetName", "description") or key))
    return found


def documents(body: object) -> list[DocumentInfo]:
    """The hits of a search."""
    return [info for record in _records(body) if (info := document(record)) is not None]


def document(body: object) -> DocumentInfo | None:
    """One document, from a search's hit or from `GET /v1/Document/{id}/info`; None when it has no id."""
    if not isinstance(body, Mapping):
        return None
    inner = body.get("standardAttributes")
    record = {**body, **inner} if isinstance(inner, Mapping) else body
    # The short id first: every call takes it, and a model copies it without a slip.
    key = _text(record, "id", "docId", "documentId", "docNum", "envId")
    if key is None:
        return None
    return DocumentInfo(
        id=key,
        title=_text(record, "name", "description", "title", "fileName") or key,
        extension=_text(record, "extension", "ext", "Ext"),
        version=_official_version(record),
        modified=_day(record, "lastMod", "modified", "modifiedDate", "lastModified"),
        modified_by=_text(record, "lastModBy", "modifiedBy"),
        cabinet=_text(record, "cabinetName", "cabinet", "cabinetId"),
    )


def account_name(body: object) -> str | None:
    """Whose account it is, from `GET /v1/User/info`."""
    return _text(body, "displayName", "name", "fullName", "email", "id") if isinstance(body, Mapping) else None


def _records(body: object) -> Iterator[Mapping[str, Any]]:
    rows: object = body
    if isinstance(body, Mapping):
        rows = next((body[key] for key in _LISTS if isinstance(body.get(key), list)), [])
    if isinstance(rows, list):
        yield from (row for row in rows if isinstance(row, Mapping))


def _text(record: Mapping[str, Any], *keys: str) -> str | None:
    """The first of `keys` that says something. A number is text too, and of an object its name counts."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, Mapping):
            value = value.get("name") or value.get("displayName") or value.get("value")
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return None


def _official_version(record: Mapping[str, Any]) -> str | None:
    versions = record.get("versionsLite", record.get("versions"))
    if isinstance(versions, list):
        rows = [row for row in versions if isinstance(row, Mapping)]
        chosen = next((row for row in rows if row.get("official") is True), rows[-1] if rows else {})
        return _text(chosen, "versionId", "number", "id", "version")
    if isinstance(versions, Mapping):
        return _text(versions, "officialVersionId", "officialVersion", "official", "versionId")
    return _text(record, "officialVer", "version")


def _day(record: Mapping[str, Any], *keys: str) -> date | None:
    for key in keys:
        value = record.get(key)
        if isinstance(value, Mapping):
            value = value.get("date") or value.get("value")
        if (day := _as_day(value)) is not None:
            return day
    return None


def _as_day(value: object) -> date | None:
    """A day from ISO text, or from milliseconds since 1970, bare or as `/Date(…)/`."""
    try:
        if isinstance(value, str) and (wrapped := _MICROSOFT_DATE.fullmatch(value.strip())):
            value = int(wrapped[1])
        if isinstance(value, int) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000, UTC).date()
        if isinstance(value, str):
            return datetime.fromisoformat(value.strip()).date()
    except (ValueError, OverflowError, OSError):
        return None
    return None
