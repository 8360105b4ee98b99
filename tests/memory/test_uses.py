"""How often a memory was shown: counted beside the log of each use, so that reading it costs the same for ever."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import re
from dataclasses import replace
from uuid import UUID

import psycopg
import pytest

from north.db.statements import QUERIES
from north.memory import recall as recalling
from north.memory.backend import Backend
from north.memory.edit import edit, history
from north.memory.listing import MemoryFilter, get_memory, list_memories
from north.memory.recall import briefing, note_uses, recall
from north.model import Caller, Scope
from tests.conftest import FirmOfTest, TestDatabase, open_pool
from tests.memory.remembering import of_firm, on_matter, personal, remember, stored

note_uses_once = inspect.unwrap(recalling._note_uses)
"""Noting uses without trying again: of two who wait for each other, one fails."""


def totals(database: TestDatabase, caller: Caller) -> dict[UUID, int]:
    rows = stored(
        database, "select memory_id, uses from memory_use_total where organization_id = %s", caller.organization_id
    )
    return {row["memory_id"]: row["uses"] for row in rows}


def logged(database: TestDatabase, caller: Caller) -> dict[UUID, int]:
    rows = stored(
        database,
        "select memory_id, count(*) as uses from memory_use where organization_id = %s group by 1",
        caller.organization_id,
    )
    return {row["memory_id"]: row["uses"] for row in rows}


class TestTotals:
    async def test_are_the_same_wherever_a_memory_is_shown(self, backend: Backend, firm: FirmOfTest) -> None:
        own = await remember(backend, firm.a, personal("I cite in Bluebook form."))
        shared = await remember(backend, firm.a, on_matter("The client is a Delaware LLC."))
        never = await remember(backend, firm.a, of_firm("The office closes at six."))
        await recall(backend, firm.a, "Bluebook", "HV-1001")
        await recall(backend, firm.b, "Delaware", "HV-1001")
        await briefing(backend, firm.a, "HV-1001")
        listed = (await list_memories(backend, firm.a, MemoryFilter())).memories
        recalled = (await recall(backend, firm.a, "client", "HV-1001")).memories
        briefed = (await briefing(backend, firm.a, "HV-1001")).memories
        assert {memory.id: memory.uses for memory in listed} == {own.id: 2, shared.id: 3, never.id: 0}
        assert {memory.id: memory.uses for memory in recalled} == {own.id: 2, shared.id: 3}
        assert {memory.id: memory.uses for memory in briefed} == {own.id: 3, shared.id: 4}
        for memory in (*listed, *recalled, *briefed):
            assert (memory.last_used_at is None) == (memory.uses == 0)

    async def test_are_the_logs_for_as_many_memories_as_a_recall_brings(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        for number in range(30):
            await remember(backend, firm.a, personal(f"I prefer style {number}."))
            await remember(backend, firm.a, on_matter(f"Exhibit {number} has a style."))
        for limit in (200, 5):
            found = await recall(backend, firm.a, "style", "HV-1001", limit)
        assert sorted(totals(database, firm.a).values()) == [1] * 50 + [2] * 10
        assert totals(database, firm.a) == logged(database, firm.a)
        assert {memory.uses for memory in found.memories} == {1}

    async def test_begin_anew_with_a_new_version(self, backend: Backend, firm: FirmOfTest) -> None:
        old = await remember(backend, firm.a, on_matter("The trial is in York."))
        await recall(backend, firm.a, "trial", "HV-1001")
        new = await edit(backend, firm.b, old.id, "The trial is in Bath.")
        assert new.uses == 0
        await recall(backend, firm.a, "trial", "HV-1001")
        await recall(backend, firm.a, "trial", "HV-1001")
        versions = await history(backend, firm.a, new.id)
        assert {version.id: version.uses for version in versions} == {old.id: 1, new.id: 2}

    async def test_keep_the_time_of_the_last_use(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        memory = await remember(backend, firm.a, personal("I cite in Bluebook form."))
        for _ in range(2):
            await recall(backend, firm.a, "Bluebook")
        (last,) = stored(database, "select max(used_at) as at from memory_use where memory_id = %s", memory.id)
        assert (await get_memory(backend, firm.a, memory.id)).last_used_at == last["at"]
        with psycopg.connect(database.superuser_url) as connection:
            later = "update memory_use_total set last_used_at = now() + interval '1 hour' where memory_id = %s"
            connection.execute(later, (memory.id,))
        latest = (await get_memory(backend, firm.a, memory.id)).last_used_at
        await recall(backend, firm.a, "Bluebook")
        used = await get_memory(backend, firm.a, memory.id)
        assert (used.last_used_at, used.uses) == (latest, 3), "of two at once, the one that began first may end last"

    async def test_of_a_colleagues_own_memory_are_raised_by_nobody_else(
        self, backend: Backend, firm: FirmOfTest
    ) -> None:
        memory = await remember(backend, firm.a, personal("I cite in Bluebook form."))
        await recall(backend, firm.a, "Bluebook")
        for scope in Scope:
            await note_uses(backend, firm.b, [replace(memory, scope=scope)])
        for uses in (1, 2):
            async with backend.database.tenant(firm.a) as transaction:
                rows = await transaction.fetch("memory.by_ids", ids=[memory.id])
            assert [row["uses"] for row in rows] == [uses]
            (hit,) = (await recall(backend, firm.a, "Bluebook")).personal
            assert hit.memory.uses == uses


class TestAtOnce:
    async def test_each_of_many_counts(self, backend: Backend, firm: FirmOfTest, database: TestDatabase) -> None:
        shared = [await remember(backend, firm.a, on_matter(f"Exhibit {number} is sealed.")) for number in range(30)]
        own = await remember(backend, firm.a, personal("I cite in Bluebook form."))
        await asyncio.gather(
            *(note_uses_once(backend, firm.a, [*shared, own], None) for _ in range(10)),
            *(note_uses_once(backend, firm.b, shared[::-1], None) for _ in range(10)),
        )
        assert totals(database, firm.a) == dict.fromkeys((memory.id for memory in shared), 20) | {own.id: 10}
        assert totals(database, firm.a) == logged(database, firm.a)

    async def test_colleagues_never_wait_for_each_other_in_a_ring(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        """Both wait for a memory that a third holds; whoever had taken the other one meanwhile would close a ring."""
        first, second = [await remember(backend, firm.a, on_matter(f"Exhibit {number} is sealed.")) for number in "AB"]
        await note_uses(backend, firm.a, [first, second])
        with psycopg.connect(database.superuser_url) as third:
            third.execute("select from memory_use_total where memory_id = %s for update", (first.id,))
            notes = []
            for caller, memories in ((firm.a, [first, second]), (firm.b, [second, first])):
                notes.append(asyncio.create_task(note_uses_once(backend, caller, memories, None)))
                await waiting(database, len(notes))
            third.rollback()
            await asyncio.gather(*notes)
        assert set(totals(database, firm.a).values()) == {3}

    async def test_a_recall_is_answered_though_another_ones_note_hangs(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memory = await remember(backend, firm.a, on_matter("The client is a Delaware LLC."))
        await recall(backend, firm.a, "Delaware", "HV-1001")
        monkeypatch.setattr("north.db.connection.LOCK_SECONDS", 0.2)
        async with open_pool(database.application_url) as impatient:
            with psycopg.connect(database.superuser_url) as hanging:
                hanging.execute("select from memory_use_total where memory_id = %s for update", (memory.id,))
                found = await recall(replace(backend, database=impatient), firm.b, "Delaware", "HV-1001")
        assert [hit.memory.id for hit in found.matter] == [memory.id]
        assert totals(database, firm.a) == logged(database, firm.a) == {memory.id: 1}


async def waiting(database: TestDatabase, number: int) -> None:
    """Until so many wait for a lock."""
    locks = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    async with asyncio.timeout(10):
        for _ in itertools.count():
            if len(stored(database, locks)) >= number:
                return
            await asyncio.sleep(0.01)


def test_nothing_that_a_lawyer_waits_for_reads_the_log() -> None:
    reading = re.compile(r"\b(?:from|join)\s+memory_use\b", re.IGNORECASE)
    assert [path.name for path in QUERIES.glob("*.sql") if reading.search(path.read_text())] == ["canary.sql"]
