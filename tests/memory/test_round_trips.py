"""How often recall and save wait for Postgres, counted on the wire between them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from north.db.connect import Database
from north.memory import similar
from north.memory.backend import Backend
from north.memory.both_buckets import rank_buckets
from north.memory.recall import recall
from north.memory.rules import create_rule
from north.memory.save import save
from north.memory.sizes import Sizes
from north.model import AlreadyKnown, Memory, Outcome, RefusedByRule, Saved
from tests.conftest import FirmOfTest, TestDatabase, open_pool
from tests.memory.remembering import on_matter, personal, remember

LATENCY_SECONDS = 0.03


class Wire:
    """A slow wire to Postgres. A round trip is what the client sends before it has heard an answer to it."""

    def __init__(self) -> None:
        self.round_trips = 0
        self._answered = True

    def asked(self) -> None:
        self.round_trips += self._answered
        self._answered = False

    def answered(self) -> None:
        self._answered = True


@asynccontextmanager
async def wired(database: TestDatabase) -> AsyncIterator[tuple[Wire, Database]]:
    """A database of one connection, behind a wire."""
    place = conninfo_to_dict(database.application_url)
    if not str(place["host"]).startswith("/"):
        pytest.skip("needs a socket")
    wire, flows = Wire(), set[asyncio.Task[None]]()
    writers: list[asyncio.StreamWriter] = []

    async def up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            wire.asked()
            writer.write(data)

    async def down(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            await asyncio.sleep(LATENCY_SECONDS)  # what the client sends meanwhile belongs to the same round trip
            wire.answered()
            writer.write(data)

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        socket = f"{place['host']}/.s.PGSQL.{place['port']}"
        server_reader, server_writer = await asyncio.open_unix_connection(socket)
        writers.extend((writer, server_writer))
        flows.update(map(asyncio.create_task, (up(reader, server_writer), down(server_reader, writer))))

    listener = await asyncio.start_server(connect, "127.0.0.1")
    port = listener.sockets[0].getsockname()[1]
    try:
        async with open_pool(make_conninfo(database.application_url, host="127.0.0.1", port=port)) as served:
            yield wire, served
    finally:
        listener.close()
        for flow in flows:
            flow.cancel()
        await asyncio.gather(*flows, return_exceptions=True)
        for writer in writers:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)


async def test_recall_waits_while_the_question_is_embedded_and_not_again_for_small_buckets_but_to_note_the_use(
    backend: Backend, firm: FirmOfTest, database: TestDatabase
) -> None:
    await remember(backend, firm.a, personal("I cite in Bluebook form."))
    await remember(backend, firm.a, on_matter("The client is a Delaware LLC."))
    await backend.backlog.settled(firm.a.organization_id, seconds=60)
    async with wired(database) as (wire, served):
        slow = replace(backend, database=served)
        wire.round_trips = 0
        await rank_buckets(slow, firm.a, "the client's form", "HV-1001", 12)
        assert wire.round_trips == 3, "the vectors are not kept yet"
        wire.round_trips = 0
        found = await rank_buckets(slow, firm.a, "the client's form", "HV-1001", 12)
        assert len(found.memories) == 2
        assert wire.round_trips == 1
        await recall(slow, firm.a, "the client's form", "HV-1001")
        assert wire.round_trips == 3


@pytest.mark.parametrize(
    ("limits", "round_trips"),
    [
        pytest.param({"small": 1}, 2, id="not small: once more for all of them"),
        pytest.param({"large": 1}, 7, id="large: three times more for each"),
    ],
)
async def test_recall_waits_more_for_buckets_that_are_not_small(
    backend: Backend, firm: FirmOfTest, database: TestDatabase, limits: dict[str, float], round_trips: int
) -> None:
    for text in ("I cite in Bluebook form.", "I write in short words."):
        await remember(backend, firm.a, personal(text))
        await remember(backend, firm.a, on_matter(text))
    await backend.backlog.settled(firm.a.organization_id, seconds=60)
    async with wired(database) as (wire, served):
        slow = replace(backend, database=served, sizes=Sizes(**limits))
        await rank_buckets(slow, firm.a, "the client's form", "HV-1001", 12)
        wire.round_trips = 0
        found = await rank_buckets(slow, firm.a, "the client's form", "HV-1001", 12)
        assert len(found.memories) == 4
        assert wire.round_trips == round_trips


async def test_a_save_waits_once_to_look_and_once_to_write_whatever_comes_of_it(
    backend: Backend, firm: FirmOfTest, database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = similar.find

    async def found_by_another_connection(_: Database, *asked: Any) -> list[list[Memory]]:
        return await find(backend.database, *asked)

    monkeypatch.setattr(similar, "find", found_by_another_connection)
    async with wired(database) as (wire, served):
        slow = replace(backend, database=served)

        async def saved(text: str, idempotency_key: str | None = None) -> Outcome:
            wire.round_trips = 0
            (outcome,) = await save(slow, firm.a, [on_matter(text)], idempotency_key)
            assert wire.round_trips == 2
            return outcome

        first = await saved("The client is a Delaware LLC.")
        assert isinstance(first, Saved) and first.similar == ()
        second = await saved("The client is a Nevada LLC.", "key")
        assert isinstance(second, Saved) and second.similar == (first.memory,)
        known = await saved("The client is a Delaware LLC.")
        assert known == AlreadyKnown(first.memory, (second.memory,))
        rule = await create_rule(backend, firm.a, "never_remember", None, None, "Nevada")
        assert await saved("The client is no Nevada LLC.") == RefusedByRule(rule)
