"""Exports of other assistants, as a reader would give them or as files, and their imports."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from north.chat.importing import run_import
from north.chat.mining import Miner, make_miner
from north.connectors.chat_history.shapes import Conversation, ExplicitMemory, Item, Kind, Turn
from north.memory.backend import Backend
from north.memory.imports import begin, receive
from north.model import Caller, Import, ImportReport

MARCH = datetime(2025, 3, 3, 9, 0, tzinfo=UTC)


def conversation(
    key: str, *said: str, at: datetime | None = MARCH, title: str | None = None, walled: tuple[str, ...] = ()
) -> Conversation:
    """One in which each of these was said by the lawyer, a minute apart, and answered with "Noted."."""
    turns: list[Turn] = []
    for number, text in enumerate(said):
        when = at + timedelta(minutes=number) if at else None
        turns.append(Turn(f"{key}-{number}-said", "user", text, when))
        turns.append(Turn(f"{key}-{number}-answered", "assistant", "Noted.", when))
    name = title or f"Talk {key}"
    return Conversation("chatgpt", key, name, f"ChatGPT · {name}", at, tuple(turns), walled)


def remembered(text: str, kind: Kind = "memory", at: datetime | None = MARCH) -> ExplicitMemory:
    return ExplicitMemory("chatgpt", f"{kind} {text}", text, kind, at, "ChatGPT · Saved memory")


class Given:
    """An opened export of these items."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.size, self.position = max(1, len(items)), 0
        self._items = items

    def __iter__(self) -> Iterator[Item]:
        for item in self._items:
            self.position += 1
            yield item


@contextmanager
def _opened(items: Sequence[Item]) -> Iterator[Given]:
    yield Given(items)


class Exports:
    """Brings items in as if a reader had found them in a file."""

    def __init__(self, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
        self.backend = backend
        self.items: Sequence[Item] = ()

        def open_export(path: Path, name: str | None = None) -> AbstractContextManager[Given]:
            return _opened(self.items)

        monkeypatch.setattr("north.chat.exports.open_export", open_export)

    async def begun(self, caller: Caller, *items: Item) -> Import:
        self.items = items
        return await begin(self.backend, caller, "export.zip")

    async def bring_in(self, caller: Caller, *items: Item, miner: Miner | None = None) -> Import:
        begun = await self.begun(caller, *items)
        return await self.run(caller, begun, miner)

    async def run(
        self, caller: Caller, begun: Import, miner: Miner | None = None, told: Callable[[Import], None] = lambda _: None
    ) -> Import:
        return await run_import(miner or make_miner(self.backend, None), caller, begun.id, Path("unused"), told)


def counts(report: ImportReport) -> tuple[int, int, dict[str, int], int, int]:
    """Seen, imported, skipped, failed, memories."""
    return report.seen, report.imported, report.skipped, report.failed_count, report.memories


def adds_up(report: ImportReport) -> bool:
    return report.seen == report.imported + sum(report.skipped.values()) + report.failed_count


def chatgpt_conversation(key: str, *said: str, at: datetime = MARCH) -> dict[str, Any]:
    """One of `conversations.json`, in which each of these was said and answered."""
    nodes: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    last = "root"
    for number, text in enumerate(said):
        for role, words in (("user", text), ("assistant", "Noted.")):
            name = f"{key}-{number}-{role}"
            message = {
                "id": name,
                "author": {"role": role, "metadata": {}},
                "create_time": at.timestamp() + 60 * number,
                "content": {"content_type": "text", "parts": [words]},
                "recipient": "all",
                "metadata": {},
            }
            nodes[last]["children"].append(name)
            nodes[name] = {"id": name, "message": message, "parent": last, "children": []}
            last = name
    when = at.timestamp()
    return {"id": key, "title": f"Talk {key}", "create_time": when, "update_time": when, "mapping": nodes,
            "current_node": last}  # fmt: skip


def chatgpt_export(*conversations: dict[str, Any]) -> bytes:
    return json.dumps(conversations).encode()


async def in_chunks(data: bytes, size: int = 300_000) -> AsyncIterator[bytes]:
    for place in range(0, len(data), size):
        yield data[place : place + size]


async def uploaded(backend: Backend, caller: Caller, data: bytes, name: str = "conversations.json") -> Import:
    return await receive(backend, caller, name, in_chunks(data))
