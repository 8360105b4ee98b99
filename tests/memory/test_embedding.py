"""Vectors are added after the save, by this process or by the worker, and nobody waits for them for long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import numpy as np
import pytest
from structlog.testing import capture_logs

from north.connectors.embeddings import Vector
from north.errors import EmbedderUnavailable
from north.memory import embedding
from north.memory.backend import Backend
from north.memory.both_buckets import FRESH_VECTOR_SECONDS
from north.memory.edit import edit
from north.memory.embedding import BATCH, Backlog
from north.memory.recall import recall
from north.memory.save import save
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.asking import Asked
from tests.memory.remembering import personal, remember, stored


class Gate:
    """An embedder that answers when its gate is open; what it does meanwhile is noted."""

    name = "gate"
    available = True

    def __init__(self, *, local: bool = True) -> None:
        self.local = local
        self.open = asyncio.Event()
        self.begun = asyncio.Event()
        self.batches: list[int] = []
        self.failure: Exception | None = None

    async def warm(self) -> None:
        """Nothing to load."""

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        if not query:
            self.begun.set()
            await self.open.wait()
            self.batches.append(len(texts))
            if self.failure:
                raise self.failure
        return [np.array([1, 0, 0], dtype=np.float32) for _ in texts]

    async def aclose(self) -> None:
        """Nothing to close."""


@asynccontextmanager
async def running(backend: Backend, gate: Gate) -> AsyncIterator[Backend]:
    backlog = Backlog(backend.database, gate)
    backlog.start()
    yield replace(backend, embedder=gate, backlog=backlog)
    gate.open.set()
    await backlog.stop()


def embedded(database: TestDatabase, firm: FirmOfTest) -> dict[str, str | None]:
    """The model of each memory's vector, by text."""
    query = "select content, embedding_model from agent_memory_candidate where organization_id = %s"
    return {row["content"]: row["embedding_model"] for row in stored(database, query, firm.a.organization_id)}


class TestInThisProcess:
    async def test_a_save_does_not_wait_for_its_vector(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        gate = Gate()
        async with running(backend, gate) as slow:
            await remember(slow, firm.a, "One.")
            assert embedded(database, firm) == {"One.": None}
            gate.open.set()
            await slow.backlog.settled(firm.a.organization_id, 10)
            assert embedded(database, firm) == {"One.": "gate"}

    async def test_it_is_begun_once_the_reply_can_be_read_or_somebody_waits_for_it(
        self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gate = Gate()
        async with running(backend, gate) as slow:
            monkeypatch.setattr(embedding, "REPLY_FIRST_SECONDS", 60)
            await remember(slow, firm.a, "One.")
            await recall(slow, rival.a, "Who waits?")  # and so the loop has been round
            assert not gate.begun.is_set()
            gate.open.set()
            await slow.backlog.settled(firm.a.organization_id, 10)
            assert gate.batches == [1]
            gate.begun.clear()
            monkeypatch.setattr(embedding, "REPLY_FIRST_SECONDS", 0.001)
            await remember(slow, firm.a, "Two.")
            async with asyncio.timeout(10):
                await gate.begun.wait()

    async def test_its_memory_waits_for_the_disk_and_it_does_not(
        self, backend: Backend, firm: FirmOfTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = Asked(monkeypatch, file="memory")
        gate = Gate()
        async with running(backend, gate) as slow:
            memory = await remember(slow, firm.a, "One.")
            await edit(slow, firm.a, memory.id, "Two.")
            acknowledged = asked.taken()
            assert "insert_terms" in acknowledged and "without_waiting_for_disk" not in acknowledged
            gate.open.set()
            await slow.backlog.settled(firm.a.organization_id, 10)
            assert asked.taken() == ["without_waiting_for_disk", "set_embedding"] * 2, "two batches"

    async def test_a_recall_waits_a_moment_and_then_finds_it_by_its_words(
        self, backend: Backend, firm: FirmOfTest
    ) -> None:
        async with running(backend, Gate()) as slow:
            memory = await remember(slow, firm.a, "The client is Orion.")
            began = asyncio.get_running_loop().time()
            (hit,) = (await recall(slow, firm.a, "client")).personal
            waited = asyncio.get_running_loop().time() - began
            assert (hit.memory.id, hit.cosine) == (memory.id, None)
            assert FRESH_VECTOR_SECONDS * 0.9 <= waited < 5

    async def test_another_firm_does_not_wait_at_all(
        self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest
    ) -> None:
        async with running(backend, Gate()) as slow:
            await remember(slow, firm.a, "One.")
            async with asyncio.timeout(FRESH_VECTOR_SECONDS / 2):
                await slow.backlog.settled(rival.a.organization_id, 60)

    async def test_many_memories_are_embedded_together(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        gate = Gate()
        async with running(backend, gate) as slow:
            gate.open.set()
            await save(slow, firm.a, [personal(f"Fact {number}.") for number in range(BATCH + 6)])
            await slow.backlog.settled(firm.a.organization_id, 10)
        assert gate.batches == [BATCH, 6]
        assert set(embedded(database, firm).values()) == {"gate"}

    async def test_stopping_embeds_what_is_left(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        async with running(backend, Gate()) as slow:
            await remember(slow, firm.a, "One.")
            two = await remember(slow, firm.a, "Two.")
            await edit(slow, firm.a, two.id, "Three.")
        assert {text for text, model in embedded(database, firm).items() if model} >= {"One.", "Three."}

    @pytest.mark.parametrize(
        ("failure", "event"),
        [(EmbedderUnavailable(reason="gone"), "embedding_postponed"), (RuntimeError("One."), "embedding_failed")],
    )
    async def test_a_failure_is_logged_without_text_and_stops_nothing(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase, failure: Exception, event: str
    ) -> None:
        gate = Gate()
        async with running(backend, gate) as slow:
            gate.failure = failure
            gate.open.set()
            with capture_logs() as logs:
                await remember(slow, firm.a, "Quokka one.")
                await slow.backlog.settled(firm.a.organization_id, 10)
            assert [log["event"] for log in logs] == [event]
            assert "Quokka" not in str(logs)
            gate.failure = None
            await remember(slow, firm.a, "Two.")
            await slow.backlog.settled(firm.a.organization_id, 10)
        assert embedded(database, firm) == {"Quokka one.": None, "Two.": "gate"}


class TestByTheWorker:
    async def test_a_remote_embedder_gets_a_job_of_ids_with_the_save(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase, jobs: Callable[[], list[str]]
    ) -> None:
        remote = replace(backend, embedder=Gate(local=False))
        memory = await remember(remote, firm.a, "Quokka one.")
        (job,) = jobs()
        assert str(memory.id) in job and str(firm.ana.id) in job and str(firm.a.organization_id) in job
        assert "Quokka" not in job

    async def test_a_save_that_writes_nothing_leaves_no_job(
        self, backend: Backend, firm: FirmOfTest, jobs: Callable[[], list[str]]
    ) -> None:
        remote = replace(backend, embedder=Gate(local=False))
        await save(remote, firm.a, [personal("One."), personal("One.")], "key")
        await save(remote, firm.a, [personal("One."), personal("One.")], "key")
        assert len(jobs()) == 1

    @pytest.fixture
    def jobs(self, firm: FirmOfTest, database: TestDatabase) -> Callable[[], list[str]]:
        """The arguments of this firm's jobs."""
        query = "select args::text from procrastinate_jobs where task_name = 'embed' and args->>'organization_id' = %s"
        return lambda: [row["args"] for row in stored(database, query, str(firm.a.organization_id))]
