"""What north_app can read and write across firms and lawyers, by real SQL.

north_app has every right on every table here, so that what is refused is refused by a policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import Connection, sql
from psycopg.errors import ForeignKeyViolation, InsufficientPrivilege

from north.model import new_id
from tests.conftest import TestDatabase
from tests.isolation.rows import (
    FIRM_TABLES,
    OWNED_TABLES,
    TABLES,
    Owner,
    World,
    bind,
    filled,
    insert,
    owner_column,
    refused,
    renewed,
    rows_of,
)

every_table = pytest.mark.parametrize("table", TABLES)
every_owned_table = pytest.mark.parametrize("table", OWNED_TABLES)
Application = Connection[tuple[Any, ...]]


@pytest.fixture(scope="module")
def world(make_database: Callable[[], TestDatabase]) -> World:
    return filled(make_database())


@pytest.fixture(scope="module")
def pooled(world: World) -> Iterator[Application]:
    """A connection as north_app that every test reuses, as a pool does."""
    with world.connect() as connection:
        yield connection


@pytest.fixture
def application(pooled: Application) -> Iterator[Application]:
    """The reused connection; what a test writes is rolled back."""
    yield pooled
    pooled.rollback()


def owners_seen(connection: Application, table: str) -> list[tuple[UUID, UUID | None]]:
    """The (firm, owner) of every row that is seen."""
    owner = sql.Identifier(owner_column(table) or "organization_id")
    query = sql.SQL("select organization_id, {} from {} order by 1, 2").format(owner, sql.Identifier(table))
    return [(firm, None if table in FIRM_TABLES else user) for firm, user in connection.execute(query)]


def expected(table: str, who: Owner, firm_members: int = 2) -> list[tuple[UUID, UUID | None]]:
    """What a lawyer is to see of a table: the firm's rows, or their own one."""
    if table not in FIRM_TABLES:
        return [(who.organization_id, who.user_id)]
    return [(who.organization_id, None)] * (1 if table == "organization" else firm_members)


def rows_affected(connection: Application, table: str, statement: str, *parameters: object) -> int:
    return connection.execute(sql.SQL(statement).format(sql.Identifier(table)), parameters).rowcount


def test_the_rows_of_these_tests_cover_every_walled_table(world: World) -> None:
    with psycopg.connect(world.database.superuser_url) as connection:
        walled = connection.execute(
            """select table_name from information_schema.columns
               where table_schema = 'public' and column_name = 'organization_id'"""
        )
        assert {name for (name,) in walled} == set(TABLES)


class TestReading:
    @every_table
    def test_a_lawyer_sees_their_own_rows_and_the_firms(
        self, application: Application, world: World, table: str
    ) -> None:
        bind(application, world.ana.organization_id, world.ana.user_id)
        assert owners_seen(application, table) == expected(table, world.ana)

    @every_table
    def test_without_context_nothing_is_there(self, application: Application, world: World, table: str) -> None:
        assert owners_seen(application, table) == []

    @every_table
    def test_an_empty_context_is_none(self, application: Application, table: str) -> None:
        application.execute("select set_config('app.organization_id', '', true), set_config('app.user_id', '', true)")
        assert owners_seen(application, table) == []

    @every_table
    def test_a_lawyer_without_a_firm_sees_nothing(self, application: Application, world: World, table: str) -> None:
        bind(application, None, world.ana.user_id)
        assert owners_seen(application, table) == []

    @every_owned_table
    def test_a_firm_without_a_lawyer_sees_nothing_personal(
        self, application: Application, world: World, table: str
    ) -> None:
        bind(application, world.ana.organization_id, None)
        assert owners_seen(application, table) == []

    @every_owned_table
    def test_a_lawyer_named_in_another_firm_sees_nothing(
        self, application: Application, world: World, table: str
    ) -> None:
        bind(application, world.rita.organization_id, world.ana.user_id)
        assert owners_seen(application, table) == []

    @every_table
    def test_the_context_ends_with_its_transaction(self, application: Application, world: World, table: str) -> None:
        for end in (application.commit, application.rollback):
            bind(application, world.ana.organization_id, world.ana.user_id)
            end()
            assert owners_seen(application, table) == []

    @every_owned_table
    def test_the_lawyer_of_the_transaction_before_is_forgotten(
        self, application: Application, world: World, table: str
    ) -> None:
        bind(application, world.ana.organization_id, world.ana.user_id)
        application.commit()
        bind(application, world.ana.organization_id, None)
        assert owners_seen(application, table) == []

    def test_a_context_that_is_no_id_is_an_error_and_not_a_way_in(self, application: Application) -> None:
        application.execute("select set_config('app.organization_id', 'anything', true)")
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            owners_seen(application, "matter")

    @every_table
    def test_a_cached_plan_forgets_the_firm_it_was_made_for(
        self, application: Application, world: World, table: str
    ) -> None:
        application.execute("deallocate all")
        application.execute("set plan_cache_mode = force_generic_plan")
        application.execute(sql.SQL("prepare cached as select organization_id from {}").format(sql.Identifier(table)))
        for who, members in ((world.ana, 2), (world.rita, 1), (world.ana, 2)):
            bind(application, who.organization_id, who.user_id)
            seen = [firm for (firm,) in application.execute("execute cached")]
            assert seen == [firm for firm, _ in expected(table, who, members)]
            application.commit()
        assert application.execute("execute cached").fetchall() == []

    def test_an_index_or_a_join_is_no_way_round(self, application: Application, world: World) -> None:
        bind(application, world.ana.organization_id, world.ana.user_id)
        for stranger in (world.ben, world.rita):
            found = application.execute(
                """select m.content from agent_memory_candidate m join memory_term t on t.memory_id = m.id
                   where m.organization_id = %s and m.id = %s""",
                (stranger.organization_id, stranger.memory_id),
            )
            assert found.fetchall() == []


class TestWriting:
    @every_table
    def test_an_unqualified_update_changes_what_is_seen_and_no_more(
        self, application: Application, world: World, table: str
    ) -> None:
        bind(application, world.ana.organization_id, world.ana.user_id)
        changed = rows_affected(application, table, "update {} set organization_id = organization_id")
        assert changed == len(expected(table, world.ana))

    @every_table
    def test_another_firms_rows_cannot_be_changed_or_deleted(
        self, application: Application, world: World, table: str
    ) -> None:
        bind(application, world.ana.organization_id, world.ana.user_id)
        firm = world.rita.organization_id
        touch = "update {} set organization_id = organization_id where organization_id = %s"
        assert rows_affected(application, table, touch, firm) == 0
        assert rows_affected(application, table, "delete from {} where organization_id = %s", firm) == 0

    @every_owned_table
    def test_a_colleagues_rows_cannot_be_changed_or_deleted(
        self, application: Application, world: World, table: str
    ) -> None:
        bind(application, world.ana.organization_id, world.ana.user_id)
        mine = f"where {owner_column(table)} = %s"
        touch = f"update {{}} set organization_id = organization_id {mine}"
        assert rows_affected(application, table, touch, world.ben.user_id) == 0
        assert rows_affected(application, table, f"delete from {{}} {mine}", world.ben.user_id) == 0

    @every_table
    def test_unbound_nothing_can_be_written(self, application: Application, world: World, table: str) -> None:
        assert rows_affected(application, table, "update {} set organization_id = organization_id") == 0
        assert rows_affected(application, table, "delete from {}") == 0
        with pytest.raises(InsufficientPrivilege, match="row-level security"):
            insert(application, table, rows_of(renewed(world.ana))[table])

    @every_table
    def test_no_row_can_be_written_for_another_firm(self, application: Application, world: World, table: str) -> None:
        bind(application, world.ana.organization_id, world.ana.user_id)
        with pytest.raises(InsufficientPrivilege, match="row-level security"):
            insert(application, table, rows_of(renewed(world.rita))[table])

    @every_owned_table
    def test_no_row_can_be_written_for_a_colleague(self, application: Application, world: World, table: str) -> None:
        bind(application, world.ana.organization_id, world.ana.user_id)
        with pytest.raises(InsufficientPrivilege, match="row-level security"):
            insert(application, table, rows_of(renewed(world.ben))[table])

    @every_table
    def test_no_row_can_be_given_to_another_firm(self, application: Application, world: World, table: str) -> None:
        bind(application, world.ana.organization_id, world.ana.user_id)
        with pytest.raises(InsufficientPrivilege, match="row-level security"):
            rows_affected(application, table, "update {} set organization_id = %s", world.rita.organization_id)

    @every_owned_table
    def test_no_row_can_be_given_to_a_colleague(self, application: Application, world: World, table: str) -> None:
        bind(application, world.ana.organization_id, world.ana.user_id)
        with pytest.raises(InsufficientPrivilege, match="row-level security"):
            rows_affected(application, table, f"update {{}} set {owner_column(table)} = %s", world.ben.user_id)


class TestErrorsTellNothing:
    @every_table
    def test_a_conflict_with_another_firms_row_looks_like_none(
        self, application: Application, world: World, table: str
    ) -> None:
        told = []
        for row in (rows_of(world.rita)[table], rows_of(renewed(Owner(new_id())))[table]):
            bind(application, world.ana.organization_id, world.ana.user_id)
            with pytest.raises(InsufficientPrivilege) as error:
                insert(application, table, row)
            told.append(refused(error))
            application.rollback()
        assert told[0] == told[1]

    @pytest.mark.parametrize("action", ["do nothing", "do update set organization_id = excluded.organization_id"])
    def test_on_conflict_neither_finds_nor_changes_another_firms_row(
        self, application: Application, world: World, action: str
    ) -> None:
        for matter_id in (world.rita.matter_id, new_id()):
            bind(application, world.ana.organization_id, world.ana.user_id)
            with pytest.raises(InsufficientPrivilege, match="row-level security"):
                application.execute(
                    f"insert into matter (organization_id, id, number, name) values (%s, %s, 'N', 'N') "
                    f"on conflict (organization_id, id) {action}".encode(),
                    (world.rita.organization_id, matter_id),
                )
            application.rollback()

    def test_another_firms_id_and_number_are_free_in_ones_own(self, application: Application, world: World) -> None:
        bind(application, world.ana.organization_id, world.ana.user_id)
        taken = rows_of(world.rita)["matter"]
        insert(application, "matter", {**taken, "organization_id": world.ana.organization_id})

    def test_a_reference_to_another_firms_row_fails_as_one_to_nothing(
        self, application: Application, world: World
    ) -> None:
        told = []
        for matter_id in (world.rita.matter_id, new_id()):
            bind(application, world.ana.organization_id, world.ana.user_id)
            thread = rows_of(renewed(world.ana))["chat_thread"]
            with pytest.raises(ForeignKeyViolation) as error:
                insert(application, "chat_thread", {**thread, "matter_id": matter_id})
            told.append((*refused(error), (error.value.diag.message_detail or "").replace(str(matter_id), "…")))
            application.rollback()
        assert told[0] == told[1]
