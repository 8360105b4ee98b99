"""How a system under comparison is driven: lines of JSON on its standard input, one answer a line.

Each system runs in a process and an environment of its own, so that no library of one weighs on another. Times are
taken in the system's own process, around its own call.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any, Protocol


class System(Protocol):
    """What every system can do; `room` is a conversation, and nothing of another room is ever found in it."""

    async def add(self, room: str, key: str, text: str, session: str, said_at: str) -> None:
        """Keep one text; what a system has no use for it leaves aside."""

    async def settle(self) -> None:
        """Return once everything that was begun is done: what was added is found by meaning as well."""

    async def search(self, room: str, query: str, limit: int) -> Sequence[str]:
        """The keys of the closest texts, best first."""


def embedder() -> Any:
    """The one embedder of the comparison: texts → unit vectors of 384 numbers, by the same code for every system."""
    return importlib.import_module("north.connectors.minilm").load_minilm()


async def serve(system: System) -> None:
    """Answer commands until standard input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    _answer(answers, {"ready": True})
    while line := await asyncio.to_thread(sys.stdin.readline):
        command = json.loads(line)
        _answer(answers, await _obey(system, command))


async def _obey(system: System, command: dict[str, Any]) -> dict[str, Any]:
    seconds: list[float] = []
    if command["do"] == "add":
        for each in command["texts"]:
            began = time.perf_counter()
            await system.add(command["room"], **each)
            seconds.append(time.perf_counter() - began)
        began = time.perf_counter()
        await system.settle()
        return {"seconds": seconds, "settling": time.perf_counter() - began}
    found = []
    for query in command["queries"]:
        began = time.perf_counter()
        found.append(list(await system.search(command["room"], query, command["limit"])))
        seconds.append(time.perf_counter() - began)
        await system.settle()
    return {"seconds": seconds, "found": found}


def _answer(answers: Any, values: dict[str, Any]) -> None:
    answers.write(json.dumps(values) + "\n")
    answers.flush()
