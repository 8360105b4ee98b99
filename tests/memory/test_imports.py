"""A file comes in, waits, is cancelled, is forgotten: what a lawyer and the disk see of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from north.chat.mining import make_miner
from north.errors import (
    ImportEmpty,
    ImportEnded,
    ImportNotFound,
    ImportRunning,
    ImportTooLarge,
    TooManyImports,
    UploadBroken,
)
from north.memory import imports
from north.memory.backend import Backend
from north.memory.imports import (
    PIECE,
    begin,
    cancel_import,
    get_import,
    give_up_abandoned,
    list_imports,
    receive,
    undo_import,
)
from north.memory.trust import sweep
from north.model import Caller, ImportReport, ImportStatus, MemoryType, new_id
from north.worker.tasks import import_file
from tests.chat.exported import Exports, chatgpt_conversation, chatgpt_export, remembered, uploaded
from tests.conftest import FirmOfTest, TestDatabase, open_pool
from tests.memory.conversing import change
from tests.memory.remembering import count, stored

EXPORT = chatgpt_export(chatgpt_conversation("1", "I always cite in Bluebook form."))


def pieces(database: TestDatabase, caller: Caller) -> int:
    return count(database, "import_chunk", caller)


async def test_no_lawyer_fills_the_disk_with_files_that_wait(
    backend: Backend, database: TestDatabase, firm: FirmOfTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "FILES_LIMIT", 2)
    first = await uploaded(backend, firm.a, EXPORT)
    await uploaded(backend, firm.a, EXPORT)
    kept = pieces(database, firm.a)
    with pytest.raises(TooManyImports, match="You have 2 files waiting"):
        await uploaded(backend, firm.a, EXPORT)
    assert pieces(database, firm.a) == kept and len(await list_imports(backend, firm.a)) == 2
    await uploaded(backend, firm.b, EXPORT)
    await cancel_import(backend, firm.a, first.id)
    await uploaded(backend, firm.a, EXPORT)


class TestReceiving:
    async def test_the_file_is_stored_in_pieces_and_its_import_waits(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        data = bytes(range(256)) * (PIECE // 100)
        waiting = await uploaded(backend, firm.a, data, "C:\\exports\\my export.zip")
        assert (waiting.status, waiting.progress, waiting.report) == (ImportStatus.QUEUED, 0, ImportReport())
        assert waiting.file_name == "my export.zip"
        rows = stored(
            database, "select number, piece from import_chunk where import_id = %s order by number", waiting.id
        )
        assert b"".join(bytes(row["piece"]) for row in rows) == data
        assert [len(row["piece"]) for row in rows[:-1]] == [PIECE] * 2
        (job,) = stored(
            database, "select args, lock from procrastinate_jobs where args->>'import_id' = %s", str(waiting.id)
        )
        assert job["lock"] == f"import:{waiting.id}"
        assert set(job["args"]) == {"organization_id", "user_id", "import_id"}

    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            ("../../etc/passwd", "passwd"),
            ("", "file"),
            ("\0\ud800\u202e", "file"),
            ("x" * 500, "x" * 200),
            ("a\nb", "a b"),
        ],
        ids=["path", "none", "unprintable", "long", "lines"],
    )
    async def test_a_name_is_only_a_name(self, backend: Backend, firm: FirmOfTest, name: str, shown: str) -> None:
        assert (await uploaded(backend, firm.a, EXPORT, name)).file_name == shown

    async def test_what_is_empty_or_too_large_is_refused_and_leaves_nothing(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(imports, "IMPORT_LIMIT", 2 * PIECE)
        with pytest.raises(ImportEmpty):
            await uploaded(backend, firm.a, b"")
        with pytest.raises(ImportTooLarge):
            await uploaded(backend, firm.a, bytes(2 * PIECE + 1))
        assert await uploaded(backend, firm.a, bytes(2 * PIECE))
        assert (len(await list_imports(backend, firm.a)), pieces(database, firm.a)) == (1, 2)

    async def test_a_broken_upload_leaves_nothing_behind(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        async def breaking() -> AsyncIterator[bytes]:
            yield bytes(3 * PIECE)
            raise UploadBroken

        with pytest.raises(UploadBroken):
            await receive(backend, firm.a, "export.zip", breaking())
        assert (await list_imports(backend, firm.a), pieces(database, firm.a)) == ([], 0)

    async def test_a_client_that_goes_away_leaves_nothing_behind(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        stored_, gone = asyncio.Event(), asyncio.Event()

        async def stalling() -> AsyncIterator[bytes]:
            yield bytes(2 * PIECE)
            stored_.set()
            await gone.wait()

        receiving = asyncio.create_task(receive(backend, firm.a, "export.zip", stalling()))
        await stored_.wait()
        assert pieces(database, firm.a) == 2
        receiving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await receiving
        assert (await list_imports(backend, firm.a), pieces(database, firm.a)) == ([], 0)

    async def test_no_connection_is_held_while_the_client_is_waited_for(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        async with open_pool(database.application_url) as single:
            slow = replace(backend, database=single)

            async def asking_meanwhile() -> AsyncIterator[bytes]:
                yield EXPORT[:10]
                assert await asyncio.wait_for(list_imports(slow, firm.a), 5) == []
                yield bytes(PIECE)
                assert await asyncio.wait_for(list_imports(slow, firm.a), 5) == []

            assert await receive(slow, firm.a, "export.zip", asking_meanwhile())


class TestWho:
    async def test_an_import_is_its_lawyers_alone(self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest) -> None:
        mine = await uploaded(backend, firm.a, EXPORT)
        for stranger in (firm.b, rival.a):
            assert await list_imports(backend, stranger) == []
            for call in (get_import, cancel_import, undo_import):
                with pytest.raises(ImportNotFound):
                    await call(backend, stranger, mine.id)
                with pytest.raises(ImportNotFound):
                    await call(backend, stranger, new_id())
        assert (await get_import(backend, firm.a, mine.id)).status is ImportStatus.QUEUED

    async def test_the_newest_stands_first(self, backend: Backend, firm: FirmOfTest) -> None:
        begun = [await begin(backend, firm.a, f"{number}.zip") for number in range(3)]
        assert await list_imports(backend, firm.a) == begun[::-1]
        assert await list_imports(backend, firm.a, limit=1) == begun[2:]


class TestEnding:
    async def test_a_waiting_import_is_cancelled_once_and_its_file_forgotten(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        waiting = await uploaded(backend, firm.a, EXPORT)
        cancelled = await cancel_import(backend, firm.a, waiting.id)
        assert cancelled.status is ImportStatus.CANCELLED and cancelled.finished_at
        assert pieces(database, firm.a) == 0
        with pytest.raises(ImportEnded):
            await cancel_import(backend, firm.a, waiting.id)

    async def test_one_that_has_not_ended_cannot_be_undone(self, backend: Backend, firm: FirmOfTest) -> None:
        waiting = await uploaded(backend, firm.a, EXPORT)
        with pytest.raises(ImportRunning):
            await undo_import(backend, firm.a, waiting.id)
        await cancel_import(backend, firm.a, waiting.id)
        assert (await undo_import(backend, firm.a, waiting.id)).undone_at


class TestTidying:
    async def test_what_nobody_goes_on_with_is_given_up(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        waiting = await uploaded(backend, firm.a, EXPORT)
        killed = await begin(backend, firm.a, "of a killed command")
        lost = new_id()
        await self.piece(backend, firm.a, lost)
        assert await give_up_abandoned(backend, firm.a, set()) == 0
        assert pieces(database, firm.a) == 2, "an hour has not passed"
        self.an_hour_passes(database, firm.a)
        fresh = new_id()
        await self.piece(backend, firm.a, fresh)
        assert await give_up_abandoned(backend, firm.a, {f"import:{waiting.id}"}) == 1
        statuses = {each.id: each.status for each in await list_imports(backend, firm.a)}
        assert statuses == {waiting.id: ImportStatus.QUEUED, killed.id: ImportStatus.CANCELLED}
        rows = stored(database, "select import_id from import_chunk where organization_id = %s", firm.a.organization_id)
        assert {row["import_id"] for row in rows} == {waiting.id, fresh}

    @staticmethod
    async def piece(backend: Backend, caller: Caller, import_id: object) -> None:
        async with backend.database.tenant(caller) as transaction:
            await transaction.send("imports.insert_chunk", import_id=import_id, number=0, piece=b"x")

    @staticmethod
    def an_hour_passes(database: TestDatabase, caller: Caller) -> None:
        ago, firm_id = timedelta(hours=1, minutes=1), caller.organization_id
        change(database, "update import_chunk set received_at = now() - %s where organization_id = %s", ago, firm_id)
        change(database, "update import_batch set touched_at = now() - %s where organization_id = %s", ago, firm_id)


async def test_what_was_imported_can_be_found_by_its_meaning(
    backend: Backend, database: TestDatabase, firm: FirmOfTest
) -> None:
    waiting = await uploaded(backend, firm.a, EXPORT)
    await import_file(backend, make_miner(backend, None), firm.a.organization_id, firm.ana.id, waiting.id)
    (row,) = stored(
        database, "select embedding_model from agent_memory_candidate where target_user_id = %s", firm.ana.id
    )
    assert row["embedding_model"] == backend.embedder.name


async def test_undoing_an_import_says_nothing_about_what_the_lawyer_likes(
    backend: Backend, database: TestDatabase, firm: FirmOfTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    exports = Exports(backend, monkeypatch)
    facts = "\n".join(f"- Fact number {number} is so." for number in range(8))
    done = await exports.bring_in(firm.a, remembered(facts))
    assert done.report.memories == 8
    await undo_import(backend, firm.a, done.id)
    swept = await sweep(database.scheduler_url, firm.a.organization_id)
    assert swept.rules == ()
    again = await exports.bring_in(firm.a, remembered(facts))
    assert again.report.memories == 8
    change(
        database,
        """update agent_memory_candidate set status = 'archived', archived_at = clock_timestamp(), archived_by = %s
           where target_user_id = %s and status = 'active'""",
        firm.ana.id,
        firm.ana.id,
    )
    (rule,) = (await sweep(database.scheduler_url, firm.a.organization_id)).rules
    assert (rule.keep_rate.type, rule.keep_rate.sample) == (MemoryType.FACT, 8), "deleting them by hand does"
