"""Behind PgBouncer in transaction mode, with one server connection: two firms, interleaved and cancelled, never mix.

`make prove-pooler` runs 10,000 transactions; here it is some hundred.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from uuid import UUID

import httpx2
import psycopg
import pytest

from north.access.tokens import create_token
from north.app import make_app
from north.db.connect import Database
from north.db.embedded import EmbeddedServer
from north.errors import NotSignedIn
from north.model import Caller, Key, Origin
from north.settings import Settings
from scripts.system_programs import pgbouncer
from tests.conftest import TestDatabase, make_firm, open_pool
from tests.isolation.pooler import pooled
from tests.isolation.rows import OWNED_TABLES, TABLES, Owner, World, filled, owner_column

pytestmark = pytest.mark.skipif(pgbouncer() is None, reason="needs PgBouncer: scripts/system_programs.py pgbouncer")

TRANSACTIONS = int(os.environ.get("NORTH_POOLER_TRANSACTIONS", "600"))
"""In all; `make prove-pooler` sets 10,000."""
AT_ONCE = 16
OWNERS = " union all ".join(f"select {owner_column(table)} as owner from {table}" for table in OWNED_TABLES)
EVERYTHING = " union all ".join(f"select organization_id from {table}" for table in TABLES)


@pytest.fixture(scope="module")
def direct(make_database: Callable[[], TestDatabase]) -> World:
    """Two firms' rows."""
    return filled(make_database())


@pytest.fixture
def world(direct: World, embedded_server: EmbeddedServer) -> Iterator[World]:
    """The same, reached through a pooler of this test's own: a cancel request may outlive the test that sent it."""
    with pooled(embedded_server, direct.database) as through:
        yield World(through, direct.ana, direct.ben, direct.rita)


@pytest.fixture
async def database(world: World) -> AsyncIterator[Database]:
    """North's own pool, of many connections to the pooler's one."""
    async with open_pool(world.database.application_url, AT_ONCE) as database:
        yield database


async def owners(database: Database, who: Owner, pause: float, *, read_only: bool = False) -> set[UUID]:
    """Whose rows a transaction of this lawyer sees, before and after a pause in which others want the connection."""
    async with database.bound(who.organization_id, who.user_id, read_only=read_only) as transaction:
        first = await (await transaction.connection.execute(OWNERS.encode())).fetchall()
        await asyncio.sleep(pause)
        then = await (await transaction.connection.execute(OWNERS.encode())).fetchall()
    return {row["owner"] for row in (*first, *then)}


async def unbound(database: Database) -> int:
    async with database.connection() as connection:
        return len(await (await connection.execute(EVERYTHING.encode())).fetchall())


async def test_two_firms_interleaved_and_cancelled_see_their_own_rows(database: Database, world: World) -> None:
    chance, ends = random.Random(8), Counter[str]()
    left = iter(range(TRANSACTIONS))

    async def lawyer() -> None:
        for _ in left:
            who = chance.choice((world.ana, world.ben, world.rita))
            pause, read_only = chance.random() * 0.004, chance.random() < 0.5
            task = asyncio.create_task(owners(database, who, pause, read_only=read_only))
            if chance.random() < 0.3:
                done, _ = await asyncio.wait([task], timeout=chance.random() * 0.03)
                if not done:
                    task.cancel()
            try:
                assert await task == {who.user_id}
                ends["completed"] += 1
            except asyncio.CancelledError:
                ends["cancelled"] += 1
            if chance.random() < 0.1:
                assert await unbound(database) == 0

    await asyncio.gather(*(lawyer() for _ in range(AT_ONCE)))
    print(f"\n{TRANSACTIONS:,} transactions on one server connection: {dict(ends)}")
    assert ends.total() == TRANSACTIONS
    assert ends["completed"] > TRANSACTIONS / 2 and ends["cancelled"] > TRANSACTIONS / 50


async def test_a_client_that_hangs_up_in_a_transaction_leaves_no_context_behind(
    database: Database, world: World
) -> None:
    for _ in range(20):
        gone = await psycopg.AsyncConnection.connect(world.database.application_url, prepare_threshold=None)
        await gone.execute("select north_bind(%s, %s)", (world.ana.organization_id, world.ana.user_id))
        await gone.close()
        assert await unbound(database) == 0
        assert await owners(database, world.rita, 0) == {world.rita.user_id}


async def test_a_caller_whose_key_is_worth_nothing_leaves_no_context_behind(database: Database, world: World) -> None:
    expected = Caller(world.ana.organization_id, world.ana.user_id, Origin.API, key=Key("token", b"unknown"))
    for number in range(20):
        with pytest.raises(NotSignedIn):
            async with database.tenant(expected, read_only=number % 2 == 0) as transaction:
                await transaction.connection.execute(OWNERS.encode())
        assert await unbound(database) == 0
        assert await owners(database, world.rita, 0) == {world.rita.user_id}


async def test_nothing_is_prepared_on_a_connection_that_others_use(database: Database, world: World) -> None:
    for _ in range(12):
        assert await owners(database, world.ana, 0) == {world.ana.user_id}
    async with database.connection() as connection:
        prepared = await (await connection.execute("select count(*) as number from pg_prepared_statements")).fetchone()
        assert connection.prepare_threshold is None
    assert prepared == {"number": 0}


async def test_the_whole_application_saves_and_recalls_and_keeps_firms_apart(world: World, password_hash: str) -> None:
    app = make_app(Settings(model="offline", embedder="none"), world.database.place)
    async with app.router.lifespan_context(app):
        backend = app.state.backend
        agents = {}
        for number in range(2):
            firm = await make_firm(backend, password_hash)
            caller = Caller(firm.ana.organization_id, firm.ana.id, Origin.API)
            secret = (await create_token(backend, caller, "test"))[1]
            agents[number] = httpx2.AsyncClient(
                transport=httpx2.ASGITransport(app),
                base_url="http://127.0.0.1:8400/api/v1",
                headers={"Authorization": f"Bearer {secret}"},
            )

        async def saves_and_recalls(number: int, turn: int) -> None:
            agent, fact = agents[number], f"The vault of firm {number} opens with {turn}."
            new = {"content": fact, "type": "fact", "scope": "user_private"}
            reply = await agent.post("/memories", json=new)
            assert reply.status_code == 201, reply.text
            found = await agent.post("/recall", json={"query": f"vault {turn}", "limit": 200})
            texts = [memory["content"] for memory in found.json()["personal"]]
            assert fact in texts and not any(f"firm {1 - number}" in text for text in texts)

        for turn in range(0, 20, 4):
            await asyncio.gather(
                *(saves_and_recalls(number, each) for number in agents for each in range(turn, turn + 4))
            )
        for agent in agents.values():
            await agent.aclose()
