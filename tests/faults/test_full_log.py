"""The disk of Postgres's write-ahead log is full: Postgres ends itself. North says so, and goes on when it is back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2
import pytest

from north.assembly import Place
from north.settings import Settings
from tests.api.conftest import assert_problem
from tests.faults.conftest import Client, draft, program_of, served, texts
from tests.faults.disk import SmallLog, small_log
from tests.faults.harness import SECRET_KEY, Postgres, postgres_in, stage_on
from tests.worker.conftest import until

ENOUGH = 20_000
"""More saves than a file of the log has room for."""
USE_UP = "select pg_switch_wal(), pg_logical_emit_message(false, 'north', repeat('x', 16000000))"
"""Begin the next of the log's files, of 16 MB, and leave some hundred kB of it."""


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[Postgres]:
    with postgres_in(tmp_path / "data") as postgres:
        yield postgres


@pytest.fixture
def log(postgres: Postgres) -> Iterator[SmallLog]:
    """Its log on a disk of its own."""
    postgres.server.stop()
    with small_log(postgres.data_dir) as log:
        postgres.start()
        yield log
        postgres.server.stop()


@pytest.fixture
async def ana(own_settings: Settings, postgres: Postgres, log: SmallLog, tmp_path: Path) -> AsyncIterator[Client]:
    """A program of a lawyer's, over REST."""
    async with (
        stage_on(postgres, tmp_path, {}) as stage,
        served(own_settings, Place(postgres.place.database_url, SECRET_KEY)) as app,
        program_of(app, stage.lawyers[0].token) as client,
    ):
        yield client


async def test_is_said_and_what_was_acknowledged_is_there_when_there_is_room(
    ana: Client, postgres: Postgres, log: SmallLog
) -> None:
    acknowledged: list[str] = []

    async def saved(text: str) -> httpx2.Response:
        reply = await ana.post("/memories", json=draft(text))
        if reply.status_code == 201:
            acknowledged.append(text)
        return reply

    for number in range(5):
        assert (await saved(f"Before {number}.")).status_code == 201
    log.fill()
    postgres.run(USE_UP)
    for number in range(ENOUGH):
        if (refused := await saved(unsure := f"Meanwhile {number}.")).status_code != 201:
            break
    assert_problem(refused, 503, refused.json()["code"])
    assert refused.json()["code"] in {"database_unavailable", "outcome_unknown", "database_full"}
    assert_problem(await ana.get("/memories"), 503, "database_unavailable")

    log.empty()

    async def saves_again() -> bool:
        if postgres.ended:  # or else it had not yet tried to recover while there was no room
            await asyncio.to_thread(postgres.start)
        return (await saved("After.")).status_code == 201

    await until(saves_again)
    there = [text for text in await texts(ana) if text != unsure]
    assert there == acknowledged[::-1][: len(there)] and len(there) >= min(199, len(acknowledged))
