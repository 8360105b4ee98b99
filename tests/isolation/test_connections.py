"""A connection that served one firm serves the next: North's own pool, pipelines and failed transactions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from uuid import UUID

import psycopg
import pytest
from psycopg_pool import ConnectionPool

from north.db.connect import Database, LostRace, Transaction
from north.errors import DatabaseReadOnly, DatabaseUnavailable
from tests.access.stored import dump
from tests.conftest import TestDatabase, open_pool
from tests.isolation.rows import OWNED_TABLES, TABLES, Owner, World, bind, filled, owner_column

FIRMS_SEEN = b"select organization_id from organization"
OWNERS_SEEN = " union all ".join(f"select {owner_column(table)} as owner from {table}" for table in OWNED_TABLES)
EVERYTHING = " union all ".join(f"select organization_id from {table}" for table in TABLES)


@pytest.fixture(scope="module")
def world(make_database: Callable[[], TestDatabase]) -> World:
    return filled(make_database())


@pytest.fixture
async def one_connection(world: World) -> AsyncIterator[Database]:
    """North's pool with a single connection, so that everybody shares it."""
    async with open_pool(world.database.application_url) as database:
        yield database


async def owners_seen(transaction: Transaction) -> set[UUID]:
    rows = await (await transaction.connection.execute(OWNERS_SEEN.encode())).fetchall()
    return {row["owner"] for row in rows}


async def nobody_sees_anything(database: Database) -> bool:
    async with database.connection() as connection:
        return await (await connection.execute(EVERYTHING.encode())).fetchall() == []


async def sees_only_their_own(database: Database, who: Owner) -> bool:
    async with database.bound(who.organization_id, who.user_id) as transaction:
        return await owners_seen(transaction) == {who.user_id}


async def cancelled_within(opened: AbstractAsyncContextManager[Transaction]) -> None:
    """Open a transaction, and cancel its task while the server works for it."""
    holding = asyncio.Event()

    async def hold() -> None:
        async with opened as transaction:
            await owners_seen(transaction)
            holding.set()
            await transaction.connection.execute("select pg_sleep(30)")
            await owners_seen(transaction)

    task = asyncio.create_task(hold())
    await holding.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


class TestPool:
    async def test_lawyers_who_take_turns_on_one_connection_see_their_own_rows(
        self, one_connection: Database, world: World
    ) -> None:
        for who in (world.ana, world.rita, world.ben, world.ana, world.ben):
            assert await sees_only_their_own(one_connection, who)
            assert await nobody_sees_anything(one_connection)

    async def test_lawyers_at_once_on_one_connection_see_their_own_rows(
        self, one_connection: Database, world: World
    ) -> None:
        turns = [world.ana, world.rita, world.ben] * 10
        assert all(await asyncio.gather(*(sees_only_their_own(one_connection, who) for who in turns)))

    async def test_a_transaction_that_failed_leaves_no_context_behind(
        self, one_connection: Database, world: World
    ) -> None:
        ana = world.ana
        with pytest.raises(psycopg.errors.DivisionByZero):
            async with one_connection.bound(ana.organization_id, ana.user_id) as transaction:
                await transaction.connection.execute("select 1 / 0")
        assert await nobody_sees_anything(one_connection)
        with pytest.raises(RuntimeError):
            async with one_connection.bound(ana.organization_id, ana.user_id) as transaction:
                await owners_seen(transaction)
                raise RuntimeError
        assert await nobody_sees_anything(one_connection)
        assert await sees_only_their_own(one_connection, world.rita)

    async def test_a_write_that_lost_its_race_leaves_no_context_behind(
        self, one_connection: Database, world: World
    ) -> None:
        ana = world.ana
        with pytest.raises(LostRace):
            async with one_connection.bound(ana.organization_id, ana.user_id) as transaction:
                await transaction.send("access.insert_password", password_hash="another")
        assert await nobody_sees_anything(one_connection)
        assert await sees_only_their_own(one_connection, world.ben)

    async def test_a_lost_race_is_told_whichever_later_statement_meets_it(
        self, one_connection: Database, world: World
    ) -> None:
        ana = world.ana
        for later in range(40):
            with pytest.raises(LostRace, match="user_password_pkey"):
                async with one_connection.bound(ana.organization_id, ana.user_id) as transaction:
                    await transaction.send("access.insert_password", password_hash="another")
                    for _ in range(later):
                        await transaction.send("tenant.alive")
                        await asyncio.sleep(0.001)  # the answer to the first may come between any two
        assert await sees_only_their_own(one_connection, ana)

    async def test_of_two_who_wait_for_each_other_one_has_lost_a_race(self, world: World) -> None:
        database = Database(world.database.application_url, size=2)
        await database.open()
        ready = asyncio.Barrier(2)

        async def update(mine: Owner, first: UUID, second: UUID) -> None:
            async with database.bound(mine.organization_id, mine.user_id) as transaction:
                for number, matter_id in enumerate((first, second)):
                    change = b"update matter set name = name where id = %s"
                    await transaction.connection.execute(change, (matter_id,))
                    await owners_seen(transaction)
                    if number == 0:
                        await ready.wait()

        one, other = world.ana.matter_id, world.ben.matter_id
        ends = await asyncio.gather(
            update(world.ana, one, other), update(world.ben, other, one), return_exceptions=True
        )
        await database.close()
        assert sorted(type(end).__name__ for end in ends) == ["LostRace", "NoneType"]

    async def test_a_cancelled_transaction_leaves_no_context_behind(
        self, one_connection: Database, world: World
    ) -> None:
        await cancelled_within(one_connection.bound(world.ana.organization_id, world.ana.user_id))
        assert await nobody_sees_anything(one_connection)
        assert await sees_only_their_own(one_connection, world.rita)

    async def test_what_only_reads_leaves_nothing_behind_however_it_ends(
        self, one_connection: Database, world: World
    ) -> None:
        ana = world.ana

        def reading() -> AbstractAsyncContextManager[Transaction]:
            return one_connection.bound(ana.organization_id, ana.user_id, keep_plans=True, read_only=True)

        async with reading() as transaction:
            assert await owners_seen(transaction) == {ana.user_id}
            assert await owners_seen(transaction) == {ana.user_id}, "what was answered already has not ended it"
        assert await nobody_sees_anything(one_connection)
        with pytest.raises(RuntimeError):
            async with reading() as transaction:
                await owners_seen(transaction)
                raise RuntimeError
        assert await nobody_sees_anything(one_connection)
        await cancelled_within(reading())
        assert await nobody_sees_anything(one_connection)
        async with one_connection.bound(world.rita.organization_id, world.rita.user_id) as transaction:
            assert await owners_seen(transaction) == {world.rita.user_id}
            modes = "select current_setting('transaction_read_only') || current_setting('plan_cache_mode') as modes"
            assert await (await transaction.connection.execute(modes.encode())).fetchone() == {"modes": "offauto"}

    async def test_what_only_reads_changes_nothing(self, one_connection: Database, world: World) -> None:
        before = dump(world.database)
        for statement in (b"update app_user set name = 'changed'", b"delete from lookup_key"):
            with pytest.raises(DatabaseReadOnly):
                async with one_connection.bound(
                    world.ana.organization_id, world.ana.user_id, read_only=True
                ) as transaction:
                    await transaction.connection.execute(statement)
        assert dump(world.database) == before

    async def test_a_connection_that_the_server_closed_is_an_error_that_says_so(
        self, one_connection: Database, world: World
    ) -> None:
        with pytest.raises(DatabaseUnavailable):
            async with one_connection.bound(world.ana.organization_id, world.ana.user_id) as transaction:
                await transaction.connection.execute("select pg_terminate_backend(pg_backend_pid())")
        assert await sees_only_their_own(one_connection, world.rita)

    async def test_the_binding_cannot_be_named_by_a_parameter(self, one_connection: Database, world: World) -> None:
        async with one_connection.bound(world.ana.organization_id, world.ana.user_id) as transaction:
            user = await transaction.first(
                "access.user", organization_id=world.rita.organization_id, user_id=world.rita.user_id
            )
        assert user is not None and user["id"] == world.ana.user_id


class TestPlainConnections:
    """As a program would that does not use North's own pool."""

    def test_a_fresh_connection_sees_nothing_before_and_after_a_bound_transaction(self, world: World) -> None:
        with world.connect() as connection:
            assert connection.execute(EVERYTHING.encode()).fetchall() == []
            bind(connection, world.ana.organization_id, world.ana.user_id)
            assert connection.execute(FIRMS_SEEN).fetchall() == [(world.ana.organization_id,)]
            connection.commit()
            assert connection.execute(EVERYTHING.encode()).fetchall() == []

    def test_without_a_transaction_a_binding_holds_for_nothing(self, world: World) -> None:
        with world.connect(autocommit=True) as connection:
            bind(connection, world.ana.organization_id, world.ana.user_id)
            assert connection.execute(EVERYTHING.encode()).fetchall() == []

    def test_a_pool_of_plain_connections_hands_on_no_context(self, world: World) -> None:
        with ConnectionPool(world.database.application_url, min_size=1, max_size=1) as pool:
            with pool.connection() as connection:
                bind(connection, world.ana.organization_id, world.ana.user_id)
            with pool.connection() as connection:
                assert connection.execute(EVERYTHING.encode()).fetchall() == []

    def test_in_a_pipeline_each_transaction_has_its_own_context(self, world: World) -> None:
        with world.connect(autocommit=True) as connection, connection.pipeline():
            asked = []
            for who in (world.ana, world.rita, world.ben, None):
                with connection.transaction():
                    bind(connection, who.organization_id if who else None, who.user_id if who else None)
                    asked.append((who, connection.execute(OWNERS_SEEN.encode())))
            unbound = connection.execute(EVERYTHING.encode())
            for who, cursor in asked:
                assert {owner for (owner,) in cursor.fetchall()} == ({who.user_id} if who else set())
            assert unbound.fetchall() == []

    def test_after_an_error_in_a_pipeline_the_next_transaction_starts_unbound(self, world: World) -> None:
        with world.connect(autocommit=True) as connection:
            with pytest.raises(psycopg.errors.DivisionByZero), connection.pipeline(), connection.transaction():
                bind(connection, world.ana.organization_id, world.ana.user_id)
                connection.execute("select 1 / 0")
            assert connection.execute(EVERYTHING.encode()).fetchall() == []

    def test_a_server_side_prepared_statement_serves_each_firm_its_own(self, world: World) -> None:
        with world.connect() as connection:
            for who in (world.ana, world.rita, world.ana):
                bind(connection, who.organization_id, who.user_id)
                rows = connection.execute(OWNERS_SEEN.encode(), prepare=True).fetchall()
                assert {owner for (owner,) in rows} == {who.user_id}
                connection.commit()
            assert connection.execute(OWNERS_SEEN.encode(), prepare=True).fetchall() == []
