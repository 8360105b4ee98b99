"""A model that fails and a lawyer who cancels: nothing is lost, nothing is doubled, and the report still adds up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelAPIError

from north.chat.deeds import NONSENSE, REFUSED
from north.chat.mining import configured_miner
from north.chat.offline.mining import findings_in
from north.connectors.chat_history.shapes import Item
from north.errors import ModelUnavailable, Unavailable
from north.memory.backend import Backend
from north.memory.imports import cancel_import, get_import, undo_import
from north.model import (
    Draft,
    FailedConversation,
    Import,
    ImportStatus,
    MemoryType,
)
from north.settings import Settings
from tests.chat.exported import Exports, conversation, counts, remembered
from tests.chat.importing import BILLING, BILLS, memories
from tests.chat.importing import exports as exports
from tests.chat.mining_script import BLUEBOOK, FOUND, SAID, Reader, mined
from tests.chat.provider import Provider
from tests.chat.test_mining_failures import completion, refusal
from tests.chat.test_mining_failures import serving as serving
from tests.conftest import FirmOfTest
from tests.memory.remembering import everything


class TestFailures:
    async def test_an_outage_lets_the_import_wait_and_go_on_where_it_was(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        begun = await exports.begun(firm.a, conversation("1", SAID), conversation("2", BILLS), remembered("Lives."))
        reader = Reader([FOUND], ModelAPIError("scripted", "away"), [mined(BILLING, BILLS)])
        with pytest.raises(ModelUnavailable):
            await exports.run(firm.a, begun, reader.miner(backend))
        waiting = await get_import(backend, firm.a, begun.id)
        assert (waiting.status, waiting.report.imported) == (ImportStatus.QUEUED, 1)
        done = await exports.run(firm.a, begun, reader.miner(backend))
        assert counts(done.report) == (3, 3, {}, 0, 3)
        assert len(reader.requests) == 3, "what was read is not read again"

    async def test_nonsense_fails_one_conversation_and_not_the_file(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        reader = Reader("nonsense", "nonsense", [mined(BILLING, BILLS)])
        done = await exports.bring_in(
            firm.a, conversation("1", SAID), conversation("2", BILLS), miner=reader.miner(backend)
        )
        assert counts(done.report) == (2, 1, {}, 1, 1)
        assert done.report.failed == (FailedConversation("Talk 1", NONSENSE),)
        again = Reader([FOUND])
        done = await exports.bring_in(
            firm.a, conversation("1", SAID), conversation("2", BILLS), miner=again.miner(backend)
        )
        assert counts(done.report) == (2, 1, {"already_imported": 1}, 0, 1), "what failed can be tried again"

    @pytest.mark.parametrize("status", [400, 413, 422])
    async def test_a_conversation_that_the_provider_does_not_take_fails_alone(
        self, exports: Exports, backend: Backend, firm: FirmOfTest, serving: Provider, status: int
    ) -> None:
        serving.replies = [refusal(status), completion(mined(BILLING, BILLS))]
        miner = configured_miner(backend, Settings(model="openai-chat:gpt-test"))
        done = await exports.bring_in(firm.a, conversation("1", SAID), conversation("2", BILLS), miner=miner)
        assert counts(done.report) == (2, 1, {}, 1, 1)
        assert done.report.failed == (FailedConversation("Talk 1", REFUSED),)

    @pytest.mark.parametrize("status", [401, 404, 429, 500, 529])
    async def test_a_provider_that_takes_nothing_fails_no_conversation(
        self, exports: Exports, backend: Backend, firm: FirmOfTest, serving: Provider, status: int
    ) -> None:
        serving.replies = [refusal(status)]
        miner = configured_miner(backend, Settings(model="openai-chat:gpt-test"))
        begun = await exports.begun(firm.a, conversation("1", SAID))
        with pytest.raises(Unavailable):
            await exports.run(firm.a, begun, miner)
        assert (await get_import(backend, firm.a, begun.id)).status is ImportStatus.QUEUED
        assert counts((await exports.run(firm.a, begun)).report) == (1, 1, {}, 0, 1)

    async def test_a_finding_that_cannot_be_stored_fails_one_conversation(
        self, exports: Exports, backend: Backend, firm: FirmOfTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = findings_in

        def spoilt(passage: Any, *given_: Any) -> Any:
            found = real(passage, *given_)
            bad = "I bill" in passage.said[0].content
            return [replace(each, draft=Draft("x" * 2001, MemoryType.FACT)) for each in found] if bad else found

        monkeypatch.setattr("north.chat.passages.findings_in", spoilt)
        done = await exports.bring_in(firm.a, conversation("1", BILLS), conversation("2", SAID))
        assert counts(done.report) == (2, 1, {}, 1, 1)
        assert "at most" in done.report.failed[0].reason or "2000" in done.report.failed[0].reason

    async def test_a_long_conversation_is_read_in_passages_and_none_twice(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        begun = await exports.begun(firm.a, conversation("1", SAID, BILLS, "I live in Bonn."))
        reader = Reader(
            [FOUND],
            [mined(BILLING, BILLS)],
            ModelAPIError("scripted", "away"),
            [mined("The lawyer lives in Bonn.", "Bonn")],
        )
        miner = reader.miner(backend, window=55)
        with pytest.raises(ModelUnavailable):
            await exports.run(firm.a, begun, miner)
        half = await get_import(backend, firm.a, begun.id)
        assert (half.report.seen, half.report.memories) == (0, 2)
        done = await exports.run(firm.a, begun, miner)
        assert counts(done.report) == (1, 1, {}, 0, 3)
        assert [sum(text in reader.prompt(n) for n in range(4)) for text in (SAID, BILLS, "I live in Bonn.")] == [
            1,
            1,
            2,
        ]


class TestCancelling:
    async def test_while_the_model_reads_ends_it_at_once(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        asked, stopped = asyncio.Event(), asyncio.Event()

        class Hanging(Reader):
            async def __call__(self, *given_: Any) -> Any:
                if len(self.requests) == 1:
                    asked.set()
                    try:
                        await asyncio.Event().wait()
                    finally:
                        stopped.set()
                return await super().__call__(*given_)

        begun = await exports.begun(firm.a, conversation("1", SAID), conversation("2", BILLS))
        running = asyncio.create_task(exports.run(firm.a, begun, Hanging([FOUND]).miner(backend)))
        await asyncio.wait_for(asked.wait(), 30)
        cancelled = await cancel_import(backend, firm.a, begun.id)
        done = await asyncio.wait_for(running, 30)
        assert done.status is cancelled.status is ImportStatus.CANCELLED
        assert stopped.is_set(), "the model is not left reading"
        assert counts(done.report) == (1, 1, {}, 0, 1)
        assert await everything(backend, firm.a) == [BLUEBOOK], "what is saved stays"

    async def test_what_a_cancelled_import_brought_can_be_undone_and_the_rest_imported(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        items: Sequence[Item] = [conversation(str(number), f"I always cite case {number}.") for number in range(300)]
        begun = await exports.begun(firm.a, *items)

        def stop(current: Import) -> None:
            if current.report.seen and not stopping:
                stopping.append(asyncio.ensure_future(cancel_import(backend, firm.a, begun.id)))

        stopping: list[asyncio.Future[Import]] = []
        cancelled = await exports.run(firm.a, begun, told=stop)
        await asyncio.gather(*stopping)
        assert cancelled.status is ImportStatus.CANCELLED and 0 < cancelled.report.seen < 300
        rest = await exports.bring_in(firm.a, *items)
        assert rest.report.imported == 300 - cancelled.report.imported
        await undo_import(backend, firm.a, cancelled.id)
        assert len(await memories(backend, firm.a)) == min(rest.report.memories, 50)

    async def test_an_import_that_has_ended_is_not_run(
        self, exports: Exports, backend: Backend, firm: FirmOfTest
    ) -> None:
        begun = await exports.begun(firm.a, conversation("1", SAID))
        await cancel_import(backend, firm.a, begun.id)
        done = await exports.run(firm.a, begun)
        assert (done.status, await everything(backend, firm.a)) == (ImportStatus.CANCELLED, [])
