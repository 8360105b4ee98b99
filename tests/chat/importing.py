"""What the tests of importing share."""

from __future__ import annotations

import pytest

from north.memory.backend import Backend
from north.memory.edit import archive
from north.memory.listing import MemoryFilter, list_memories
from north.model import (
    Caller,
    Memory,
)
from tests.chat.exported import Exports
from tests.chat.test_mining_failures import serving as serving

BILLING = "The lawyer bills in six-minute increments."
BILLS = "I bill in six-minute increments."


@pytest.fixture
def exports(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> Exports:
    return Exports(backend, monkeypatch)


async def memories(backend: Backend, caller: Caller) -> list[Memory]:
    return list((await list_memories(backend, caller, MemoryFilter())).memories)


async def delete(backend: Backend, caller: Caller, content: str) -> None:
    (memory,) = [each for each in await memories(backend, caller) if each.content == content]
    await archive(backend, caller, memory.id)
