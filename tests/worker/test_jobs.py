"""Jobs run once, also when a worker stops, is killed, or has company; and what fails is parked and can be seen."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
from procrastinate.jobs import Job as QueuedJob
from procrastinate.utils import utcnow
from prometheus_client import generate_latest
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import InvalidTextRepresentation
from structlog.testing import capture_logs

from north.api.metrics import show_jobs
from north.db.connect import Transaction
from north.db.jobs import list_jobs, retry_jobs, standing
from north.errors import (
    DatabaseUnavailable,
    EmbedderUnavailable,
    JobNotFound,
    ModelConfused,
    ModelRejected,
    ModelUnavailable,
)
from north.memory.backend import Backend
from north.worker.failures import ATTEMPTS, ATTEMPTS_IN_OUTAGE, LONGEST_WAIT_SECONDS, Patience, reason_of
from north.worker.run import Pace, worker_beside
from north.worker.tasks import enqueue_idle
from tests.chat.mining_script import Reader, mined
from tests.chat.provider import Reply, provider
from tests.chat.test_mining import BLUEBOOK, FOUND, SAID, completion
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.conversing import change, conversation, mined_through
from tests.memory.remembering import everything, stored
from tests.worker.conftest import at_work, until

SECRET = "the client will settle at 4 million"


async def queue(backend: Backend, task: str, **arguments: Any) -> None:
    async with backend.database.tenant(None, None) as transaction:
        await backend.jobs.enqueue(transaction, task, **arguments)


async def queue_is_empty(backend: Backend) -> bool:
    return not [each for each in await standing(backend.database) if not each.task.endswith(("idle", "missing"))]


async def statuses(backend: Backend, task: str = "mine") -> list[str]:
    return [job.status for job in await list_jobs(backend.database) if job.task == task]


class TestEnqueuing:
    async def test_a_job_vanishes_with_its_transaction(self, backend: Backend) -> None:
        async def enqueue_and_fail(transaction: Transaction) -> None:
            await backend.jobs.enqueue(transaction, "mine", thread_id="1")
            raise RuntimeError

        with pytest.raises(RuntimeError):
            async with backend.database.tenant(None, None) as transaction:
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
            await until(lambda: queue_is_empty(backend))
        assert await everything(backend, firm.a) == [BLUEBOOK]
        assert mined_through(database, thread) is not None

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
            await until(lambda: queue_is_empty(backend))
        assert len(reader.requests) == 12
        assert len(await everything(backend, firm.a)) == 12

    async def test_a_failure_of_the_provider_delays_it(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        await conversation(backend, database, firm.a, SAID)
        reader = Reader(ConnectionError(SECRET), [FOUND])
        await enqueue_idle(backend)
        async with at_work(database, reader.miner(backend)):
            await until(lambda: queue_is_empty(backend))
        assert (len(reader.requests), await everything(backend, firm.a)) == (2, [BLUEBOOK])
        assert stored(database, "select * from job_failure") == [], "what has succeeded has no failure"


class TestPatience:
    @pytest.mark.parametrize(
        ("error", "attempts"),
        [
            (ModelUnavailable(model="m"), ATTEMPTS_IN_OUTAGE),
            (EmbedderUnavailable(reason="r"), ATTEMPTS_IN_OUTAGE),
            (ModelConfused(model="m"), ATTEMPTS),
            (ModelRejected(model="m", status=401), ATTEMPTS),
            (ValueError(SECRET), ATTEMPTS),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_lasts_as_long_as_the_failure_is_worth(self, error: Exception, attempts: int) -> None:
        assert Patience().get_retry_decision(exception=error, job=tried(attempts - 2)) is not None
        assert Patience().get_retry_decision(exception=error, job=tried(attempts - 1)) is None

    def test_waits_longer_each_time_and_half_an_hour_at_most(self) -> None:
        waits = []
        for attempt in (0, 1, 5, 20):
            decision = Patience().get_retry_decision(exception=ModelUnavailable(model="m"), job=tried(attempt))
            assert decision is not None and decision.retry_at is not None
            waits.append((decision.retry_at - utcnow()).total_seconds())
        assert waits == pytest.approx([2, 4, 64, LONGEST_WAIT_SECONDS], abs=1)

    def test_does_not_make_a_job_wait_because_its_worker_stops(self) -> None:
        decision = Patience().get_retry_decision(exception=asyncio.CancelledError(), job=tried(10_000))
        assert decision is not None and decision.retry_at is not None and decision.retry_at <= datetime.now(UTC)


def tried(attempts: int) -> QueuedJob:
    return QueuedJob(id=1, queue="default", lock=None, queueing_lock=None, task_name="mine", attempts=attempts)


class TestParking:
    @asynccontextmanager
    async def parked(self, backend: Backend, database: TestDatabase, firm: FirmOfTest) -> AsyncIterator[None]:
        """A job that has failed for the last time."""
        await conversation(backend, database, firm.a, SECRET)
        await enqueue_idle(backend)
        change(database, "update procrastinate_jobs set attempts = %s", ATTEMPTS - 1)
        async with at_work(database, Reader(ValueError(SECRET), [mined("It settles.", SECRET)]).miner(backend)):
            await until(lambda: self.failed(backend))
            yield

    async def failed(self, backend: Backend) -> bool:
        return await statuses(backend) == ["failed"]

    async def test_what_keeps_failing_is_parked_with_the_kind_of_its_failure(
        self,
        backend: Backend,
        database: TestDatabase,
        firm: FirmOfTest,
        caplog: pytest.LogCaptureFixture,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        async with self.parked(backend, database, firm):
            pass
        (job,) = [job for job in await list_jobs(backend.database) if job.task == "mine"]
        assert job.reason == "ValueError"
        tables = ("jobs", "events", "periodic_defers", "workers")
        kept = [stored(database, f"select * from procrastinate_{table}") for table in tables]
        kept.append(stored(database, "select * from job_failure"))
        assert SECRET not in str(kept)
        assert SECRET not in "".join(record.getMessage() for record in caplog.records)
        assert SECRET not in "".join(capsys.readouterr())

    async def test_it_is_not_queued_again_beside(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        async with self.parked(backend, database, firm):
            assert await enqueue_idle(backend) == 0

    async def test_an_operator_retries_it_with_all_its_attempts(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        async with self.parked(backend, database, firm):
            (job,) = [job for job in await list_jobs(backend.database) if job.status == "failed"]
            assert await retry_jobs(backend.database, job.id) == [job.id]
            await until(lambda: queue_is_empty(backend))
        assert await everything(backend, firm.a) == ["It settles."]

    async def test_a_job_that_has_not_failed_cannot_be_retried(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        await conversation(backend, database, firm.a, SECRET)
        await enqueue_idle(backend)
        (job,) = [job for job in await list_jobs(backend.database) if job.task == "mine"]
        assert await retry_jobs(backend.database, None) == []
        with pytest.raises(JobNotFound):
            await retry_jobs(backend.database, job.id)

    def test_a_reason_is_a_kind_and_never_a_text(self) -> None:
        error = ModelUnavailable(model="m")
        error.__cause__ = InvalidTextRepresentation(SECRET)
        assert reason_of(error) == "model_unavailable: ModelUnavailable < InvalidTextRepresentation"

    async def test_a_failed_run_of_a_periodic_task_is_forgotten_with_the_next(
        self, backend: Backend, database: TestDatabase
    ) -> None:
        await queue(backend, "embed_missing", timestamp=1)
        change(database, "update procrastinate_jobs set status = 'failed'")
        await queue(backend, "embed_missing", timestamp=2)
        async with at_work(database):
            await until(lambda: self.nothing_of(backend, "embed_missing"))

    async def nothing_of(self, backend: Backend, task: str) -> bool:
        return await statuses(backend, task) == []


class TestStopping:
    async def test_a_job_that_does_not_end_in_time_runs_again_elsewhere(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        await conversation(backend, database, firm.a, SAID)
        await enqueue_idle(backend)
        asked = asyncio.Event()

        class Hanging(Reader):
            async def __call__(self, *given: Any) -> Any:
                asked.set()
                await asyncio.Event().wait()

        async with at_work(database, Hanging().miner(backend)):
            await asyncio.wait_for(asked.wait(), 30)
        assert await statuses(backend) == ["waiting"]
        async with at_work(database):
            await until(lambda: queue_is_empty(backend))
        assert await everything(backend, firm.a) == [BLUEBOOK]

    async def test_a_job_that_ends_in_time_is_waited_for(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        await conversation(backend, database, firm.a, SAID)
        await enqueue_idle(backend)
        asked, stopping = asyncio.Event(), asyncio.Event()

        class Slow(Reader):
            async def __call__(self, *given: Any) -> Any:
                asked.set()
                await stopping.wait()
                return await super().__call__(*given)

        async with at_work(database, Slow([FOUND]).miner(backend), Pace(polling=0.05, grace=20.0)):
            await asyncio.wait_for(asked.wait(), 30)
            asyncio.get_running_loop().call_later(0.1, stopping.set)
        assert (await everything(backend, firm.a), await statuses(backend)) == ([BLUEBOOK], [])

    async def test_a_worker_beside_the_web_server_ends_with_it(self, backend: Backend, database: TestDatabase) -> None:
        async def workers() -> list[Any]:
            return stored(database, "select * from procrastinate_workers")

        async with worker_beside(backend, Reader().miner(backend)):
            await until(workers)
        assert await workers() == []


class TestLeases:
    async def test_a_killed_worker_s_job_runs_again_elsewhere_once(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        thread = await conversation(backend, database, firm.a, SAID)
        await enqueue_idle(backend)
        async with provider() as serving:

            async def asked() -> bool:
                return bool(serving.requests)

            monkeypatch.setenv("OPENAI_BASE_URL", serving.url)
            hanging = asyncio.Event()
            serving.replies = [Reply([hanging], content_type="application/json"), completion(FOUND)]
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tests.worker.process", database.application_url, env=dict(os.environ)
            )
            try:
                await until(asked)
            finally:
                process.send_signal(signal.SIGKILL)
                await process.wait()
                hanging.set()
            assert await statuses(backend) == ["running"]
            async with at_work(database):
                await until(lambda: queue_is_empty(backend))
        assert await everything(backend, firm.a) == [BLUEBOOK]
        assert mined_through(database, thread) is not None

    async def test_a_job_that_loses_its_worker_over_and_over_is_parked(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        await conversation(backend, database, firm.a, SAID)
        await enqueue_idle(backend)
        change(database, "update procrastinate_jobs set status = 'doing', attempts = %s", ATTEMPTS - 1)
        async with at_work(database):
            await until(lambda: self.parked(backend))
        (job,) = [job for job in await list_jobs(backend.database) if job.task == "mine"]
        assert job.reason == "WorkerLost"

    async def parked(self, backend: Backend) -> bool:
        return await statuses(backend) == ["failed"]

    async def test_a_lost_run_of_a_periodic_task_does_not_stand_in_the_way_of_the_next(
        self, backend: Backend, database: TestDatabase
    ) -> None:
        for status in ("doing", "todo"):
            change(
                database,
                """insert into procrastinate_jobs (queue_name, task_name, lock, queueing_lock, args, status)
                   values ('default', 'mine_idle', 'mine_idle', 'mine_idle', '{"timestamp": 1}', %s)""",
                status,
            )
        async with at_work(database):
            await until(lambda: self.none(backend))

    async def none(self, backend: Backend) -> bool:
        return await statuses(backend, "mine_idle") == []


class TestLostDatabase:
    async def test_a_worker_goes_on_when_its_database_is_back(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        async def workers() -> list[Any]:
            return stored(database, "select * from procrastinate_workers")

        async def interrupted() -> bool:
            return any(entry["event"] == "worker_interrupted" for entry in logs)

        await conversation(backend, database, firm.a, SAID)
        name = conninfo_to_dict(database.application_url)["dbname"]
        with psycopg.connect(database.superuser_url, autocommit=True) as administrator, capture_logs() as logs:
            async with at_work(database):
                await until(workers)
                administrator.execute(f"alter role north_app in database {name} set statement_timeout = 1".encode())
                administrator.execute(
                    """select pg_terminate_backend(pid) from pg_stat_activity
                       where datname = current_database() and pid <> pg_backend_pid()"""
                )
                await until(interrupted)
                administrator.execute(f"alter role north_app in database {name} reset statement_timeout".encode())
                administrator.execute(
                    """select pg_terminate_backend(pid) from pg_stat_activity
                       where datname = current_database() and pid <> pg_backend_pid()"""
                )
                await until(lambda: self.mined(backend, firm))

    async def mined(self, backend: Backend, firm: FirmOfTest) -> bool:
        try:
            await enqueue_idle(backend)
            return await everything(backend, firm.a) == [BLUEBOOK]
        except DatabaseUnavailable:
            return False


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
