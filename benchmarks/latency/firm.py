"""A firm with memories to measure on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import psycopg

from north.access.firms import add_user, create_firm
from north.access.tokens import create_token
from north.db.embedded import EmbeddedServer
from north.memory.backend import Backend
from north.memory.matters import create_matter
from north.memory.save import BATCH_LIMIT, save
from north.model import Caller, Draft, Matter, MemoryType, Origin, Scope

LAWYERS = 4
PER_SOURCE = 20
"""How many memories come from one source, as from one chat."""


@dataclass(frozen=True, slots=True)
class Firm:
    """A firm, and one of its lawyers with a token.

    The lawyer's bucket and that of `asked` stay as they were filled; what is measured is saved to `written`.
    """

    caller: Caller
    token: str
    asked: Matter
    written: Matter
    memories: int


async def fill(backend: Backend, texts: Iterator[str], memories: int, bucket: int) -> Firm:
    """A firm of `memories` memories in buckets of `bucket`: four lawyers' own, the others matters'."""
    organization_id = await create_firm(backend, "bench", "Benchmark")
    callers = []
    for number in range(LAWYERS):
        lawyer = await add_user(
            backend, organization_id, f"lawyer-{number}@bench.test", f"Lawyer {number}", "no secret at all"
        )
        callers.append(Caller(organization_id, lawyer.id, Origin.API))
    for caller in callers:
        await _fill_bucket(backend, caller, None, islice(texts, bucket))
    matters = []
    for number in range(max(memories // bucket - LAWYERS, 2)):
        caller = callers[number % LAWYERS]
        matters.append(await create_matter(backend, caller, f"B-{number + 1:04}", f"Benchmark matter {number + 1}"))
        await _fill_bucket(backend, caller, matters[-1], islice(texts, bucket))
    _, token = await create_token(backend, callers[0], "benchmark")
    return Firm(callers[0], token, matters[0], matters[1], (LAWYERS + len(matters)) * bucket)


async def _fill_bucket(backend: Backend, caller: Caller, matter: Matter | None, texts: Iterator[str]) -> None:
    drafts = [
        Draft(
            content=text,
            type=MemoryType.FACT,
            scope=Scope.MATTER if matter else Scope.USER_PRIVATE,
            matter=matter.number if matter else None,
            source_label=f"source {place // PER_SOURCE}",
        )
        for place, text in enumerate(texts)
    ]
    for start in range(0, len(drafts), BATCH_LIMIT):
        await save(backend, caller, drafts[start : start + BATCH_LIMIT])
    await backend.backlog.settled(caller.organization_id, seconds=600)
    print(".", end="", file=sys.stderr, flush=True)


def settle(server: EmbeddedServer, database: str = "north") -> None:
    """What autovacuum does within a minute: fresh statistics, and the visibility map that index-only scans need."""
    with psycopg.connect(server.superuser_url(database), autocommit=True) as connection:
        connection.execute("vacuum analyze")
        connection.execute("checkpoint")
