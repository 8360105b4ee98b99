"""The job that imports: it ends with a report, whatever happens to the worker that began it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from north.chat.mining import make_miner
from north.memory.backend import Backend
from north.memory.imports import cancel_import, get_import, list_imports
from north.model import Caller, Import, ImportStatus
from north.worker.tasks import import_file, tidy_imports
from tests.chat.exported import adds_up, chatgpt_conversation, chatgpt_export, counts, uploaded
from tests.chat.mining_script import BLUEBOOK, FOUND, SAID
from tests.chat.provider import Reply, provider
from tests.chat.test_mining_failures import completion
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.conversing import change
from tests.memory.remembering import count, everything, stored
from tests.worker.conftest import at_work, statuses, until
from tests.worker.process import QUICK


def ended(backend: Backend, caller: Caller, *imports: Import) -> Callable[[], Awaitable[bool]]:
    async def all_ended() -> bool:
        stand = [await get_import(backend, caller, each.id) for each in imports]
        return all(each.status not in (ImportStatus.QUEUED, ImportStatus.RUNNING) for each in stand)

    return all_ended


async def test_an_upload_becomes_memory_and_nothing_of_the_file_is_left(
    backend: Backend, database: TestDatabase, firm: FirmOfTest
) -> None:
    waiting = await uploaded(backend, firm.a, chatgpt_export(chatgpt_conversation("1", SAID)))
    async with at_work(database):
        await until(ended(backend, firm.a, waiting))
    done = await get_import(backend, firm.a, waiting.id)
    assert (done.status, counts(done.report)) == (ImportStatus.FINISHED, (1, 1, {}, 0, 1))
    assert await everything(backend, firm.a) == [BLUEBOOK]
    assert count(database, "import_chunk", firm.a) == 0


async def test_a_file_that_is_none_fails_and_says_why(
    backend: Backend, database: TestDatabase, firm: FirmOfTest
) -> None:
    waiting = await uploaded(backend, firm.a, b"\xff\xd8\xff\xe0 a photograph", "holiday.jpg")
    await import_file(backend, make_miner(backend, None), firm.a.organization_id, firm.ana.id, waiting.id)
    done = await get_import(backend, firm.a, waiting.id)
    assert (done.status, done.error_code) == (ImportStatus.FAILED, "export_not_recognised")
    assert count(database, "import_chunk", firm.a) == 0


async def test_a_cancelled_import_is_not_run(backend: Backend, database: TestDatabase, firm: FirmOfTest) -> None:
    waiting = await uploaded(backend, firm.a, chatgpt_export(chatgpt_conversation("1", SAID)))
    await cancel_import(backend, firm.a, waiting.id)
    async with at_work(database):
        await until(lambda: no_job(backend))
    assert await everything(backend, firm.a) == []


async def no_job(backend: Backend) -> bool:
    return await statuses(backend, "import") == []


async def test_several_workers_do_nothing_twice(backend: Backend, database: TestDatabase, firm: FirmOfTest) -> None:
    export = chatgpt_export(*(chatgpt_conversation(str(n), f"I always cite case {n} first.") for n in range(60)))
    waiting = [await uploaded(backend, firm.a, export) for _ in range(3)]
    async with at_work(database), at_work(database):
        await until(ended(backend, firm.a, *waiting))
    reports = [each.report for each in await list_imports(backend, firm.a)]
    assert all(adds_up(report) and report.seen == 60 for report in reports)
    assert sum(report.memories for report in reports) == count(database, "agent_memory_candidate", firm.a) == 60


@asynccontextmanager
async def worker_process(database: TestDatabase, *model: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A worker that is killed at the end of the block."""
    arguments = (sys.executable, "-m", "tests.worker.process", database.application_url, *model)
    process = await asyncio.create_subprocess_exec(*arguments, env=dict(os.environ))
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()


class TestKilled:
    async def test_in_the_middle_it_goes_on_elsewhere_and_reports_as_if_nothing_had_been(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        said = [chatgpt_conversation(str(n), f"I always cite case {n} first.", SAID) for n in range(400)]
        export = chatgpt_export(*said, said[0], {"title": "Torn", "id": "t", "create_time": 1, "update_time": 1})
        waiting = await uploaded(backend, firm.a, export)

        async def under_way() -> bool:
            return (await get_import(backend, firm.a, waiting.id)).report.seen > 0

        async with worker_process(database, "offline"):
            await until(under_way)
        half = await get_import(backend, firm.a, waiting.id)
        assert half.status is ImportStatus.RUNNING and half.report.seen < 400
        async with at_work(database, pace=QUICK):
            await until(ended(backend, firm.a, waiting))
        done = await get_import(backend, firm.a, waiting.id)
        assert counts(done.report) == (402, 400, {"repeated": 1}, 1, 401)
        assert count(database, "agent_memory_candidate", firm.a) == 401

    async def test_while_the_model_reads_nothing_is_read_twice(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        talks = (chatgpt_conversation("1", SAID), chatgpt_conversation("2", "I bill in tenths of an hour."))
        waiting = await uploaded(backend, firm.a, chatgpt_export(*talks))
        async with provider() as serving:

            async def asked_twice() -> bool:
                return len(serving.requests) == 2

            monkeypatch.setenv("OPENAI_BASE_URL", serving.url)
            hanging = asyncio.Event()
            serving.replies = [completion(FOUND), Reply([hanging], content_type="application/json")]
            async with worker_process(database):
                await until(asked_twice)
            hanging.set()
        assert (await get_import(backend, firm.a, waiting.id)).report.imported == 1
        async with at_work(database, pace=QUICK):
            await until(ended(backend, firm.a, waiting))
        done = await get_import(backend, firm.a, waiting.id)
        assert counts(done.report) == (2, 2, {}, 0, 2)


async def test_the_hourly_job_ends_what_nobody_runs(backend: Backend, database: TestDatabase, firm: FirmOfTest) -> None:
    kept_, left = [await uploaded(backend, firm.a, b"[]") for _ in range(2)]
    change(database, "delete from procrastinate_jobs where args->>'import_id' = %s", str(left.id))
    change(database, "update import_batch set touched_at = now() - interval '2 hours'")
    assert await tidy_imports(backend) == 1
    assert {each.id: each.status for each in await list_imports(backend, firm.a)} == {
        kept_.id: ImportStatus.QUEUED,
        left.id: ImportStatus.CANCELLED,
    }
    assert [row["import_id"] for row in stored(database, "select import_id from import_chunk")] == [kept_.id]
