"""A job runs to its end, whether its worker stops, is killed, or loses its database."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from structlog.testing import capture_logs

from north.db.jobs import list_jobs
from north.errors import (
    DatabaseUnavailable,
)
from north.memory.backend import Backend
from north.worker.failures import ATTEMPTS
from north.worker.run import Pace, worker_beside
from north.worker.tasks import enqueue_idle
from tests.chat.mining_script import BLUEBOOK, FOUND, SAID, Reader
from tests.chat.provider import Reply, provider
from tests.chat.test_mining_failures import completion
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.conversing import change, conversation, mined_through
from tests.memory.remembering import everything, stored
from tests.worker.conftest import all_mined, at_work, statuses, until
from tests.worker.process import QUICK


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
        async with at_work(database, pace=QUICK):
            await until(lambda: all_mined(backend))
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
            async with at_work(database, pace=QUICK):
                await until(lambda: all_mined(backend))
        assert await everything(backend, firm.a) == [BLUEBOOK]
        assert mined_through(database, thread) is not None

    async def test_a_job_that_loses_its_worker_over_and_over_is_parked(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        await conversation(backend, database, firm.a, SAID)
        await enqueue_idle(backend)
        change(database, "update procrastinate_jobs set status = 'doing', attempts = %s", ATTEMPTS - 1)
        async with at_work(database, pace=QUICK):
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
        async with at_work(database, pace=QUICK):
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
            async with at_work(database, pace=QUICK):
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


CUT_TWICE = """
create sequence cuts;
create function cut() returns trigger language plpgsql security definer as $$
begin
    if nextval('cuts') <= 2 then
        perform pg_terminate_backend(pg_backend_pid());
    end if;
    return old;
end $$;
create trigger cut before delete on procrastinate_jobs for each row when (old.task_name = 'mine') execute function cut()
"""
"""Whoever writes that a reading is done loses its connection over it, the first two times."""


async def test_the_end_of_a_job_is_written_again_when_the_connection_breaks_over_it(
    backend: Backend, database: TestDatabase, firm: FirmOfTest
) -> None:
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        connection.execute(CUT_TWICE.encode())
    await conversation(backend, database, firm.a, SAID)
    await enqueue_idle(backend)
    unhurried = Pace(polling=0.05, heartbeat=60, stalled=600, grace=0.2)
    with capture_logs() as logs:
        async with at_work(database, pace=unhurried):
            await until(lambda: all_mined(backend))

            async def done() -> bool:
                return not await list_jobs(backend.database)

            await until(done)
    assert [entry["event"] for entry in logs].count("end_of_job_not_written") == 2
    assert await everything(backend, firm.a) == [BLUEBOOK]
