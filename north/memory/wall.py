"""The ethical wall: which sessions consulted a walled source, and may not write what the firm shares."""

from __future__ import annotations

from dataclasses import dataclass

from north.model import Scope


@dataclass(frozen=True, slots=True)
class WalledSource:
    """A system whose contents must not reach shared memory."""

    key: str
    name: str


WALLED_SOURCES = {"netdocuments": WalledSource("netdocuments", "NetDocuments")}
"""The registry; a new walled source is a row here."""

SHARED_SCOPES = frozenset({Scope.MATTER, Scope.FIRM_GLOBAL})


def source_name(key: str) -> str:
    """A walled source as a lawyer knows it."""
    source = WALLED_SOURCES.get(key)
    return source.name if source else key
