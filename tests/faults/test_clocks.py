"""Machines whose clocks are an hour apart: what counts is the database's."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, tzinfo
from uuid import UUID

import pytest
from procrastinate.jobs import Job

from north.access.login import SESSION_LIFE, log_in, session_user
from north.assembly import make_backend, opened
from north.chat.assistant import make_assistant
from north.chat.models import make_model
from north.chat.threads import create_thread, get_thread
from north.chat.turn import run_turn
from north.documents.authorization import _is_valid, _new_state
from north.errors import ModelUnavailable
from north.memory.backend import Backend
from north.memory.mining import keep, read_passage
from north.settings import Settings
from north.worker.failures import Patience
from tests.conftest import PASSWORD, FirmOfTest, TestDatabase
from tests.memory.conversing import change, mining
from tests.memory.remembering import stored

HOUR = timedelta(hours=1)
MOMENT = 5.0
"""How exact a clock is that was read over a connection, in seconds, on a busy machine."""


def at(moment: datetime) -> UUID:
    """An id that a machine makes which believes that it is then."""
    milliseconds = int(moment.timestamp() * 1000)
    return UUID(int=milliseconds << 80 | 7 << 76 | 2 << 62 | secrets.randbits(62))


@pytest.fixture(params=[HOUR, -HOUR], ids=["ahead", "behind"])
async def odd(
    request: pytest.FixtureRequest, fresh_database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Backend]:
    """A North on a machine whose clock is an hour off."""
    off: timedelta = request.param

    class Odd(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Odd:
            return cls.fromtimestamp(datetime.now(tz).timestamp() + off.total_seconds(), tz)

    monkeypatch.setattr("north.db.connect.datetime", Odd)
    monkeypatch.setattr("uuid_utils.compat.uuid7", lambda: at(Odd.now(UTC)))
    async with opened(make_backend(Settings(model="offline", embedder="none"), fresh_database.place)) as backend:
        yield backend


def seconds_until(database: TestDatabase, column: str, table: str) -> float:
    """How long a row is good for, by the database's clock."""
    (row,) = stored(database, f"select extract(epoch from {column} - now())::float as seconds from {table}")
    seconds: float = row["seconds"]
    return seconds


async def test_a_session_lasts_as_long_as_it_should(
    odd: Backend, beside: Backend, firm: FirmOfTest, fresh_database: TestDatabase
) -> None:
    _, secret = await log_in(odd, firm.ana.email, PASSWORD)
    assert await session_user(beside, secret) is not None
    expected = SESSION_LIFE.total_seconds()
    assert seconds_until(fresh_database, "expires_at", "web_session") == pytest.approx(expected, abs=MOMENT)
    assert abs((odd.database.now() - beside.database.now()).total_seconds()) < MOMENT


async def test_a_link_to_netdocuments_that_one_machine_made_is_good_on_another(
    odd: Backend, beside: Backend, firm: FirmOfTest
) -> None:
    assert _is_valid(beside, firm.a, _new_state(odd, firm.a))
    assert _is_valid(odd, firm.a, _new_state(beside, firm.a))


def test_a_job_that_failed_is_due_when_the_database_says_so(odd: Backend, beside: Backend) -> None:
    job = Job(id=1, queue="default", lock=None, queueing_lock=None, task_name="mine", attempts=0)
    decision = Patience(odd.database.now).get_retry_decision(exception=ModelUnavailable(model="m"), job=job)
    assert decision is not None and decision.retry_at is not None
    assert (decision.retry_at - beside.database.now()).total_seconds() == pytest.approx(2, abs=MOMENT)


async def test_a_conversation_on_both_machines_keeps_its_order_and_is_mined_whole(
    odd: Backend, firm: FirmOfTest, fresh_database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    assistant = make_assistant(odd, make_model("offline", odd.settings))
    thread = (await create_thread(odd, firm.a, None)).id
    said = [f"What about item {number}?" for number in range(4)]
    for number, text in enumerate(said):
        with monkeypatch.context() as patched:
            if number % 2:
                patched.setattr("uuid_utils.compat.uuid7", lambda: at(datetime.now(UTC)))
            await run_turn(assistant, firm.a, thread, text)
        if number == 1:
            await self_mined(odd, firm, thread, fresh_database)
    shown = (await get_thread(odd, firm.a, thread)).messages
    assert [message.content for message in shown if message.role == "user"] == said
    assert [message.role for message in shown] == ["user", "assistant"] * 4
    left = await read_passage(odd, mining(firm.a, thread), thread)
    assert left is None
    idle(fresh_database)
    left = await read_passage(odd, mining(firm.a, thread), thread)
    assert left is not None and [message.content for message in left.own] == said[2:]


async def self_mined(backend: Backend, firm: FirmOfTest, thread: UUID, database: TestDatabase) -> None:
    """Mine what was said so far, and find nothing."""
    idle(database)
    caller = mining(firm.a, thread)
    passage = await read_passage(backend, caller, thread)
    assert passage is not None
    assert await keep(backend, caller, passage, []) is not None


def idle(database: TestDatabase) -> None:
    change(database, "update chat_thread set updated_at = now() - interval '1 day'")
