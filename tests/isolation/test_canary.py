"""North refuses to serve from a database whose walls somebody has taken down."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import psycopg
import pytest

from north.db.canary import check_isolation
from north.db.connect import Database
from north.errors import IsolationBroken
from north.model import new_id
from tests.conftest import TestDatabase, open_pool
from tests.isolation.rows import OWNED_TABLES, TABLES, World, filled, insert, owner_column, renewed, rows_of, shared_row

FIRM_WALL = "organization_id = north_organization()"
PERSONAL_WALL = "scope <> 'user_private' or target_user_id = north_user()"
OWNED_WALL = "owner_id in (north_organization(), north_user())"
CLOSED_BY_OWNER = ("agent_memory_candidate", "memory_term", "memory_use_total")
"""Tables whose restrictive wall names the firm too."""


@pytest.fixture(scope="module")
def world(make_database: Callable[[], TestDatabase]) -> World:
    """Two firms' rows, shared memory among them, with the lookup keys that name the firms."""
    world = filled(make_database())
    with psycopg.connect(world.database.superuser_url) as connection:
        for owner in (world.ana, world.rita):
            memory = shared_row(owner)
            insert(connection, "agent_memory_candidate", memory)
            hanging = {"memory_id": memory["id"], "scope": "matter", "target_user_id": None}
            rows = rows_of(renewed(owner))
            insert(connection, "memory_term", {**rows["memory_term"], **hanging, "bucket": owner.matter_id})
            insert(connection, "memory_use", {**rows["memory_use"], **hanging})
            total = {"memory_id": memory["id"], "owner_id": owner.organization_id}
            insert(connection, "memory_use_total", {**rows["memory_use_total"], **total})
            key = {"kind": "firm", "key_hash": new_id().bytes, "firm_id": owner.organization_id}
            insert(connection, "lookup_key", key)
    return world


@pytest.fixture(scope="module")
async def served(world: World) -> AsyncIterator[Database]:
    async with open_pool(world.database.application_url) as database:
        yield database


async def verdict(world: World, served: Database, break_it: str, mend_it: str) -> str:
    """What the canary says of a broken database; it is mended again."""
    with psycopg.connect(world.database.superuser_url, autocommit=True) as superuser:
        superuser.execute(break_it.encode())
        try:
            with pytest.raises(IsolationBroken) as refusal:
                await check_isolation(served)
        finally:
            superuser.execute(mend_it.encode())
    await check_isolation(served)
    return str(refusal.value)


async def test_serves_from_a_sound_database(served: Database) -> None:
    await check_isolation(served)


@pytest.mark.parametrize("table", TABLES)
class TestRefuses:
    async def test_without_row_level_security(self, world: World, served: Database, table: str) -> None:
        said = await verdict(
            world,
            served,
            f"alter table {table} disable row level security",
            f"alter table {table} enable row level security",
        )
        assert table in said and "row-level security is not enabled and forced" in said

    async def test_when_the_owner_is_let_off(self, world: World, served: Database, table: str) -> None:
        said = await verdict(
            world,
            served,
            f"alter table {table} no force row level security",
            f"alter table {table} force row level security",
        )
        assert table in said


@pytest.mark.parametrize("table", [table for table in TABLES if table not in CLOSED_BY_OWNER])
async def test_refuses_when_a_second_policy_opens_everything(world: World, served: Database, table: str) -> None:
    said = await verdict(world, served, f"create policy later on {table} using (true)", f"drop policy later on {table}")
    assert "sees rows of another" in said


@pytest.mark.parametrize("table", CLOSED_BY_OWNER)
async def test_a_second_policy_opens_nothing_where_the_owner_wall_stands(
    world: World, served: Database, table: str
) -> None:
    with psycopg.connect(world.database.superuser_url, autocommit=True) as superuser:
        superuser.execute(f"create policy later on {table} using (true)".encode())
        try:
            await check_isolation(served)
        finally:
            superuser.execute(f"drop policy later on {table}".encode())


@pytest.mark.parametrize("table", OWNED_TABLES)
async def test_refuses_when_colleagues_see_each_others_rows(world: World, served: Database, table: str) -> None:
    if owner_column(table) == "user_id":
        opened = f"alter policy owner on {table} using ({FIRM_WALL})"
        mended = f"alter policy owner on {table} using ({FIRM_WALL} and user_id = north_user())"
    else:
        opened = f"alter policy reach on {table} using ({FIRM_WALL}); alter policy owner_wall on {table} using (true)"
        wall = OWNED_WALL if table in CLOSED_BY_OWNER else PERSONAL_WALL
        mended = f"""alter policy reach on {table} using ({FIRM_WALL} and ({wall}));
                     alter policy owner_wall on {table} using ({wall})"""
    assert "sees rows of another" in await verdict(world, served, opened, mended)


class TestRefusesTheRole:
    async def test_that_steps_over_the_walls(self, world: World) -> None:
        async with open_pool(world.database.superuser_url) as superuser:
            with pytest.raises(IsolationBroken, match="postgres bypasses row-level security"):
                await check_isolation(superuser)

    async def test_that_owns_a_table(self, world: World, served: Database) -> None:
        said = await verdict(
            world,
            served,
            "alter table matter owner to north_app",
            "alter table matter owner to north_owner; "
            "grant select, insert, update, delete on matter to north_app",
        )  # fmt: skip
        assert "north_app owns tables" in said


async def test_refuses_a_context_that_a_plan_can_freeze(world: World, served: Database) -> None:
    said = await verdict(
        world, served, "alter function north_organization() immutable", "alter function north_organization() stable"
    )
    assert "north_organization" in said
