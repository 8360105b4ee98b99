"""Jobs are queued once, done once, and counted."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from prometheus_client import generate_latest

from north.api.metrics import show_jobs
from north.db.connect import Transaction
from north.db.jobs import standing
from north.memory.backend import Backend
from north.memory.wall import record_consultation
from north.worker.tasks import enqueue_idle
from tests.chat.mining_script import BLUEBOOK, FOUND, SAID, Reader, mined
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.conversing import change, conversation, mined_through
from tests.memory.remembering import everything, stored
from tests.worker.conftest import all_mined, at_work, statuses, until

SECRET = "the client will settle at 4 million"


class TestEnqueuing:
    async def test_a_job_vanishes_with_its_transaction(self, backend: Backend) -> None:
        async def enqueue_and_fail(transaction: Transaction) -> None:
            await backend.jobs.enqueue(transaction, "mine", thread_id="1")
            raise RuntimeError

        with pytest.raises(RuntimeError):
            async with backend.database.bound(None, None) as transaction:
                await enqueue_and_fail(transaction)
        assert await standing(backend.database) == []

    async def test_idle_threads_of_every_firm_are_queued_once(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest, rival: FirmOfTest
    ) -> None:
        for caller in (firm.a, firm.b):
            await conversation(backend, database, caller, SAID)
        assert await enqueue_idle(backend) == 2
        assert await enqueue_idle(backend) == 0
        assert await statuses(backend) == ["waiting", "waiting"]

    async def test_no_job_holds_what_was_said(self, backend: Backend, database: TestDatabase, firm: FirmOfTest) -> None:
        thread = await conversation(backend, database, firm.a, SECRET)
        await enqueue_idle(backend)
        (job,) = stored(database, "select args, lock, queueing_lock from procrastinate_jobs where task_name = 'mine'")
        assert set(job["args"]) == {"organization_id", "user_id", "thread_id"}
        assert all(UUID(value) for value in job["args"].values())
        assert job["lock"] == f"mine:{thread}"


class TestMining:
    async def test_a_worker_mines_what_is_queued(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        thread = await conversation(backend, database, firm.a, SAID)
        await enqueue_idle(backend)
        async with at_work(database):
            await until(lambda: all_mined(backend))
        assert await everything(backend, firm.a) == [BLUEBOOK]
        assert mined_through(database, thread) is not None

    async def test_the_wall_of_the_conversation_holds(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        thread = await conversation(backend, database, firm.a, f"{SAID} The seller is Acme.", matter=firm.matter.id)
        await record_consultation(backend, replace(firm.a, thread_id=thread), "netdocuments")
        await enqueue_idle(backend)
        shared = mined("The seller is Acme.", "The seller is Acme", type="party", scope="matter")
        async with at_work(database, Reader([FOUND, shared]).miner(backend)):
            await until(lambda: all_mined(backend))
        assert (await everything(backend, firm.a), await everything(backend, firm.b)) == ([BLUEBOOK], [])

    async def test_several_workers_do_nothing_twice(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        for number in range(12):
            await conversation(backend, database, firm.a, f"{SAID} {number}")
        reader = Reader(*([mined(f"Finding {number}.", SAID)] for number in range(12)))
        await enqueue_idle(backend)
        async with (
            at_work(database, reader.miner(backend)),
            at_work(database, reader.miner(backend)),
            at_work(database, reader.miner(backend)),
        ):
            await until(lambda: all_mined(backend))
        assert len(reader.requests) == 12
        assert len(await everything(backend, firm.a)) == 12

    async def test_a_failure_of_the_provider_delays_it(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        await conversation(backend, database, firm.a, SAID)
        reader = Reader(ConnectionError(SECRET), [FOUND])
        await enqueue_idle(backend)
        async with at_work(database, reader.miner(backend)):
            await until(lambda: all_mined(backend))
        assert (len(reader.requests), await everything(backend, firm.a)) == (2, [BLUEBOOK])
        assert stored(database, "select * from job_failure") == [], "what has succeeded has no failure"


class TestNumbers:
    async def test_show_how_deep_and_how_old_the_queue_is(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        await conversation(backend, database, firm.a, SECRET)
        await conversation(backend, database, firm.b, SECRET)
        await enqueue_idle(backend)
        change(database, "update procrastinate_events set at = now() - interval '10 minutes'")
        change(
            database,
            "update procrastinate_jobs set status = 'failed' where id = (select min(id) from procrastinate_jobs)",
        )
        change(database, "delete from procrastinate_events where type = 'failed'")
        show_jobs(await standing(backend.database))
        metrics = generate_latest().decode()
        assert 'north_jobs{status="failed",task="mine"} 1.0' in metrics
        assert 'north_jobs{status="waiting",task="mine"} 1.0' in metrics
        (line,) = [line for line in metrics.splitlines() if line.startswith('north_job_oldest_seconds{task="mine"}')]
        assert 600 <= float(line.split()[1]) < 660
        show_jobs([])
        assert "north_jobs{" not in generate_latest().decode()

    async def test_a_job_that_is_not_due_is_not_old(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        await conversation(backend, database, firm.a, SECRET)
        await enqueue_idle(backend)
        change(database, "update procrastinate_events set at = now() - interval '10 minutes'")
        change(database, "update procrastinate_jobs set scheduled_at = now() + interval '1 hour'")
        (each,) = await standing(backend.database)
        assert (each.jobs, each.oldest_seconds) == (1, 0.0)
