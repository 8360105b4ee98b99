"""Settings → Memory: what is shown, as a file. Read page by page, so that its length costs no memory here."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from north.errors import MatterNotFound
from north.memory.backend import Backend
from north.memory.listing import PAGE_LIMIT, MemoryFilter, list_memories
from north.memory.search import search_memories
from north.memory.text import visible
from north.model import Caller, Memory
from north.web.memory_pages import MEMORIES, Filters
from north.web.sessions import CurrentUser, PageRoute, RunningBackend, settings_caller
from north.web.wording import TYPE_WORDS, scope_in_words

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_FORMULA = re.compile(r"[\s\x00-\x1f]*[=+\-@|%]|[\t\r\n]")
"""What some spreadsheet or other takes for a formula, also behind white space (OWASP, "CSV injection")."""
_MARKUP = re.compile(r"([\\`*_\[\]<>#|~&!])|^(\s*(?:\d+(?=[.)])|(?=[-+=])))", re.MULTILINE)
_LOOKED_AT = 200
COLUMNS = (
    "id", "content", "type", "scope", "matter", "matter_name", "confidence", "origin", "source", "captured_by",
    "created_at", "uses", "last_used_at",
)  # fmt: skip


def _values(memory: Memory) -> dict[str, Any]:
    return {
        "id": str(memory.id),
        "content": memory.content,
        "type": memory.type.value,
        "scope": memory.scope.value,
        "matter": memory.matter.number if memory.matter else None,
        "matter_name": memory.matter.name if memory.matter else None,
        "confidence": memory.confidence.value,
        "origin": memory.origin.value,
        "source": memory.source.label if memory.source else None,
        "captured_by": memory.captured_by.name if memory.captured_by else None,
        "created_at": memory.created_at.isoformat(),
        "uses": memory.uses,
        "last_used_at": memory.last_used_at.isoformat() if memory.last_used_at else None,
    }


def as_json(memories: Iterable[Memory], first: bool) -> str:
    """The memories as the next members of a JSON array."""
    lines = ",\n".join(json.dumps(_values(memory), ensure_ascii=False) for memory in memories)
    return lines if first or not lines else f",\n{lines}"


def as_csv(memories: Iterable[Memory], first: bool) -> str:
    """The memories as lines of CSV (RFC 4180). What a spreadsheet would compute has a quote mark before it."""
    text = io.StringIO()
    lines = csv.writer(text, quoting=csv.QUOTE_ALL)
    lines.writerows([_cell(value) for value in _values(memory).values()] for memory in memories)
    return text.getvalue()


def _cell(value: Any) -> str:
    text = "" if value is None else str(value)
    # Some drop what nobody sees before they look, and take other widths of a sign for the sign.
    return f"'{text}" if _FORMULA.match(text) or _FORMULA.match(visible(text[:_LOOKED_AT])) else text


def as_markdown(memories: Iterable[Memory], first: bool) -> str:
    """The memories as a list in Markdown, whose text no reader renders as anything but text."""
    return "".join(
        f"- {markdown_text(memory.content)}  \n  {TYPE_WORDS[memory.type]} · {markdown_text(scope_in_words(memory))} · "
        f"{memory.created_at.astimezone(UTC):%Y-%m-%d}\n"
        for memory in memories
    )


def markdown_text(text: str) -> str:
    """`text` on the lines of one list item, with every character that could be markup escaped."""
    lines = " ".join(text.splitlines())
    return _MARKUP.sub(lambda found: f"\\{found[1]}" if found[1] else f"{found[2]}\\", lines)


FORMATS: dict[str, tuple[str, str, str, str, Callable[[Iterable[Memory], bool], str]]] = {
    "json": ("application/json", "json", "[\n", "\n]\n", as_json),
    "csv": ("text/csv", "csv", "\ufeff" + ",".join(f'"{name}"' for name in COLUMNS) + "\r\n", "", as_csv),
    "markdown": ("text/markdown", "md", "# Memory\n\n", "", as_markdown),
}
"""Media type, ending, what stands before and after, and how a page of memories is written."""


@router.get(MEMORIES + "/export/{format}")
async def export(backend: RunningBackend, user: CurrentUser, filters: Filters, format: str) -> Response:
    """Everything that the filters leave, of what the lawyer may see."""
    if format not in FORMATS:
        raise HTTPException(404)
    media_type, ending, *_ = FORMATS[format]
    name = f"north-memory-{datetime.now(UTC):%Y-%m-%d}.{ending}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    written = _written(backend, settings_caller(user), filters, format)
    return StreamingResponse(written, media_type=f"{media_type}; charset=utf-8", headers=headers)


async def _written(backend: Backend, caller: Caller, filters: MemoryFilter, format: str) -> AsyncIterator[str]:
    _, _, before, after, write = FORMATS[format]
    yield before
    first = True
    async for memories in _pages(backend, caller, filters):
        yield write(memories, first)
        first = False
    yield after


async def _pages(backend: Backend, caller: Caller, filters: MemoryFilter) -> AsyncIterator[tuple[Memory, ...]]:
    find = search_memories if filters.query else list_memories
    cursor = None
    while True:
        try:
            page = await find(backend, caller, filters, cursor, PAGE_LIMIT)
        except MatterNotFound:  # as on the page, a matter that is gone has nothing
            return
        yield page.memories
        cursor = page.next_cursor
        if cursor is None:
            return
