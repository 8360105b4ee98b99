"""The walls of memory: what the firm shares, what is a lawyer's own, and that either policy holds alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import Connection, sql
from psycopg.errors import InsufficientPrivilege

from north.db.statements import statement
from north.model import new_id
from tests.conftest import TestDatabase
from tests.isolation.rows import World, bind, filled, insert, owner_column, shared_row

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


class TestTotalsOfUse:
    """What a colleague or another firm does by the very statement that counts a use, with whatever owner it names."""

    COUNT = statement("memory.count_uses").encode()

    def test_of_a_lawyers_own_memory_are_raised_by_nobody_else(self, application: Application, world: World) -> None:
        ana = world.ana
        for stranger in (world.ben, world.rita):
            hers = {"memory_ids": [ana.memory_id], "organization_id": ana.organization_id}
            foreign = {"memory_ids": [ana.memory_id], "organization_id": stranger.organization_id}
            for total in ({**hers, "owner_ids": [ana.user_id]}, {**foreign, "owner_ids": [ana.user_id]}):
                bind(application, stranger.organization_id, stranger.user_id)
                with pytest.raises(InsufficientPrivilege, match="row-level security"):
                    application.execute(self.COUNT, total)
                application.rollback()
            bind(application, stranger.organization_id, stranger.user_id)
            for owner_id in (stranger.organization_id, stranger.user_id):
                application.execute(self.COUNT, {**foreign, "owner_ids": [owner_id]})
            # What they wrote stands in nobody's way: hers is counted beside it.
            bind(application, ana.organization_id, ana.user_id)
            application.execute(self.COUNT, {**hers, "owner_ids": [ana.user_id]})
            uses = "select uses from memory_use_total where memory_id = %s and owner_id = %s"
            assert application.execute(uses, (ana.memory_id, ana.user_id)).fetchall() == [(2,)]
            application.rollback()

    def test_of_a_matters_memory_are_the_firms_and_of_no_other(self, application: Application, world: World) -> None:
        firm, memory_id = world.ana.organization_id, new_id()
        uses = "select uses from memory_use_total where memory_id = %s"
        total = {"organization_id": firm, "owner_ids": [firm], "memory_ids": [memory_id]}
        for number, lawyer in enumerate((world.ana, world.ben), 1):
            bind(application, firm, lawyer.user_id)
            application.execute(self.COUNT, total)
            assert application.execute(uses, (memory_id,)).fetchall() == [(number,)]
        bind(application, world.rita.organization_id, world.rita.user_id)
        assert application.execute(uses, (memory_id,)).fetchall() == []
        with pytest.raises(InsufficientPrivilege, match="row-level security"):
            application.execute(self.COUNT, total)


class TestEachWallHoldsAlone:
    """Either policy on memories keeps colleagues apart when somebody takes the other away."""

    @pytest.mark.parametrize("table", ["agent_memory_candidate", "memory_term", "memory_use", "memory_use_total"])
    @pytest.mark.parametrize(
        "change", ["drop policy owner_wall on {}", "create policy later on {} using (true)"], ids=["dropped", "added"]
    )
    def test_personal_rows_stay_their_owners(self, world: World, table: str, change: str) -> None:
        with psycopg.connect(world.database.superuser_url) as superuser:
            superuser.execute(sql.SQL(change).format(sql.Identifier(table)))
            superuser.execute("set local role north_app")
            bind(superuser, world.ana.organization_id, world.ana.user_id)
            owner = sql.Identifier(owner_column(table) or "")
            seen = superuser.execute(sql.SQL("select {} from {}").format(owner, sql.Identifier(table)))
            assert seen.fetchall() == [(world.ana.user_id,)]
            superuser.rollback()
