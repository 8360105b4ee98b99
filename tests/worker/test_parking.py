"""What fails is tried again; what keeps failing is parked, seen, and retried."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from procrastinate.jobs import Job as QueuedJob
from procrastinate.utils import utcnow
from psycopg.errors import InvalidTextRepresentation

from north.db.jobs import list_jobs, retry_jobs
from north.errors import (
    EmbedderUnavailable,
    JobNotFound,
    ModelConfused,
    ModelRejected,
    ModelUnavailable,
)
from north.memory.backend import Backend
from north.worker.failures import ATTEMPTS, ATTEMPTS_IN_OUTAGE, LONGEST_WAIT_SECONDS, Patience, reason_of
from north.worker.tasks import enqueue_idle
from tests.chat.mining_script import Reader, mined
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.conversing import change, conversation
from tests.memory.remembering import everything, stored
from tests.worker.conftest import all_mined, at_work, queue, statuses, until

PATIENCE = Patience(utcnow)
SECRET = "the client will settle at 4 million"


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
        assert PATIENCE.get_retry_decision(exception=error, job=tried(attempts - 2)) is not None
        assert PATIENCE.get_retry_decision(exception=error, job=tried(attempts - 1)) is None

    def test_waits_longer_each_time_and_half_an_hour_at_most(self) -> None:
        waits = []
        for attempt in (0, 1, 5, 20):
            decision = PATIENCE.get_retry_decision(exception=ModelUnavailable(model="m"), job=tried(attempt))
            assert decision is not None and decision.retry_at is not None
            waits.append((decision.retry_at - utcnow()).total_seconds())
        assert waits == pytest.approx([2, 4, 64, LONGEST_WAIT_SECONDS], abs=1)

    def test_does_not_make_a_job_wait_because_its_worker_stops(self) -> None:
        decision = PATIENCE.get_retry_decision(exception=asyncio.CancelledError(), job=tried(10_000))
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
            await until(lambda: all_mined(backend))
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
