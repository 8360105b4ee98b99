"""The walls of memory: what the firm shares, what is a lawyer's own, and that either policy holds alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import Connection, sql

from tests.conftest import TestDatabase
from tests.isolation.rows import World, bind, filled, insert, shared_row

Application = Connection[tuple[Any, ...]]


@pytest.fixture(scope="module")
def world(make_database: Callable[[], TestDatabase]) -> World:
    return filled(make_database())


@pytest.fixture
def application(world: World) -> Iterator[Application]:
    """A connection as north_app; what it writes is rolled back."""
    with world.connect() as connection:
        yield connection
        connection.rollback()


class TestSharedMemory:
    def test_matter_memory_is_the_firms_and_of_no_other(self, application: Application, world: World) -> None:
        bind(application, world.ana.organization_id, world.ana.user_id)
        memory = shared_row(world.ana)
        insert(application, "agent_memory_candidate", memory)
        by_id = "select scope::text from agent_memory_candidate where id = %s"
        bind(application, world.ben.organization_id, world.ben.user_id)
        assert application.execute(by_id, (memory["id"],)).fetchall() == [("matter",)]
        bind(application, world.rita.organization_id, world.rita.user_id)
        assert application.execute(by_id, (memory["id"],)).fetchall() == []

    @pytest.mark.parametrize("scope", ["matter", "firm_global"])
    def test_a_personal_memory_cannot_be_made_the_firms_by_a_colleague(
        self, application: Application, world: World, scope: str
    ) -> None:
        bind(application, world.ben.organization_id, world.ben.user_id)
        changed = application.execute(
            "update agent_memory_candidate set scope = %s, target_user_id = null, target_matter_id = %s where id = %s",
            (scope, world.ben.matter_id if scope == "matter" else None, world.ana.memory_id),
        )
        assert changed.rowcount == 0


class TestEachWallHoldsAlone:
    """Either policy on memories keeps colleagues apart when somebody takes the other away."""

    @pytest.mark.parametrize("table", ["agent_memory_candidate", "memory_term", "memory_use"])
    @pytest.mark.parametrize(
        "change", ["drop policy owner_wall on {}", "create policy later on {} using (true)"], ids=["dropped", "added"]
    )
    def test_personal_rows_stay_their_owners(self, world: World, table: str, change: str) -> None:
        with psycopg.connect(world.database.superuser_url) as superuser:
            superuser.execute(sql.SQL(change).format(sql.Identifier(table)))
            superuser.execute("set local role north_app")
            bind(superuser, world.ana.organization_id, world.ana.user_id)
            seen = superuser.execute(sql.SQL("select target_user_id from {}").format(sql.Identifier(table)))
            assert seen.fetchall() == [(world.ana.user_id,)]
            superuser.rollback()
