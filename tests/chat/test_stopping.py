"""An answer that the lawyer stops: what was said so far is kept."""

from __future__ import annotations

import asyncio

import psycopg

from north.chat.events import TextDelta
from north.chat.threads import get_thread
from north.chat.turn import STOPPED, run_turn, stream_turn
from north.memory.backend import Backend
from tests.chat.script import Script, call, open_thread
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.remembering import everything


async def test_what_was_said_so_far_is_stored_and_replayed(backend: Backend, firm: FirmOfTest) -> None:
    thread = await open_thread(backend, firm.a)
    script = Script(["In Blue", asyncio.Event()], ["Go on."])
    stream = stream_turn(script.assistant(backend), firm.a, thread, "How do I cite?")
    async for event in stream:
        if isinstance(event, TextDelta):
            break
    await stream.aclose()
    kept = (await get_thread(backend, firm.a, thread)).messages
    assert [(message.content, message.error_code) for message in kept] == [
        ("How do I cite?", None),
        ("In Blue", STOPPED),
    ]
    await run_turn(script.assistant(backend), firm.a, thread, "And then?")
    assert [part.content for message in script.requests[-1] for part in message.parts] == [  # type: ignore[union-attr]  # prompts and texts
        "How do I cite?",
        "In Blue",
        "And then?",
    ]


async def test_what_was_saved_stays_saved_and_is_shown(backend: Backend, firm: FirmOfTest) -> None:
    thread = await open_thread(backend, firm.a)
    script = Script(
        [call("save_memory", content="I cite in Bluebook form.", type="preference")], ["So", asyncio.Event()]
    )
    stream = stream_turn(script.assistant(backend), firm.a, thread, "I cite in Bluebook form.")
    async for event in stream:
        if isinstance(event, TextDelta):
            break
    await stream.aclose()
    answer = (await get_thread(backend, firm.a, thread)).messages[-1]
    assert [memory.content for memory in answer.saved] == ["I cite in Bluebook form."]
    assert await everything(backend, firm.a) == ["I cite in Bluebook form."]


async def test_an_answer_that_is_complete_is_stored_as_complete(
    backend: Backend, firm: FirmOfTest, database: TestDatabase
) -> None:
    """The lawyer leaves while the answer is being stored; another transaction makes the storing wait."""
    thread = await open_thread(backend, firm.a)
    gate = asyncio.Event()
    stream = stream_turn(Script([gate, "All of it."]).assistant(backend), firm.a, thread, "How do I cite?")
    await anext(stream)
    with psycopg.connect(database.superuser_url) as other:
        other.execute("select from chat_thread where id = %s for update", (thread,))
        gate.set()
        async for event in stream:
            if isinstance(event, TextDelta):
                break
        waiting = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        while not other.execute(waiting.encode()).fetchall():
            other.execute("select pg_stat_clear_snapshot()")
            await asyncio.sleep(0.01)
        leaving = asyncio.create_task(stream.aclose())
        await asyncio.sleep(0)
    await leaving
    kept = (await get_thread(backend, firm.a, thread)).messages
    assert [(message.content, message.error_code) for message in kept] == [
        ("How do I cite?", None),
        ("All of it.", None),
    ]
