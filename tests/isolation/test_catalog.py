"""What the database's own catalog says about the walls, whatever the migrations meant to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import dict_row

from tests.conftest import TestDatabase

MEMORY_TABLES = {"agent_memory_candidate", "memory_term", "memory_use", "memory_use_total"}
FIRM_TABLES = {"organization", "app_user", "matter"}
JOB_TABLES = {
    "job_schema",
    "job_failure",
    "procrastinate_jobs",
    "procrastinate_events",
    "procrastinate_workers",
    "procrastinate_periodic_defers",
}

ADD, CHANGE, REMOVE = {"SELECT", "INSERT"}, {"SELECT", "INSERT", "UPDATE"}, {"SELECT", "INSERT", "DELETE"}
TABLE_GRANTS: dict[tuple[str, str], set[str]] = {
    ("north_app", "organization"): ADD,
    ("north_app", "app_user"): ADD,
    ("north_app", "matter"): ADD,
    ("north_app", "memory_use"): ADD,
    ("north_app", "memory_use_total"): ADD,
    ("north_app", "product_event"): ADD,
    ("north_app", "walled_consultation"): ADD,
    ("north_app", "user_password"): CHANGE,
    ("north_app", "chat_thread"): CHANGE,
    ("north_app", "chat_message"): CHANGE,
    ("north_app", "agent_memory_candidate"): CHANGE,
    ("north_app", "memory_rule"): CHANGE,
    ("north_app", "import_batch"): CHANGE,
    ("north_app", "import_chunk"): REMOVE,
    ("north_app", "import_conversation"): ADD,
    ("north_app", "import_memory"): ADD,
    ("north_app", "web_session"): CHANGE,
    ("north_app", "access_token"): CHANGE,
    ("north_app", "oauth_grant"): CHANGE,
    ("north_app", "oauth_client"): REMOVE,
    ("north_app", "login_attempt"): {*CHANGE, "DELETE"},
    ("north_app", "connection"): CHANGE,
    ("north_app", "memory_rule_suggestion"): {"SELECT"},
    ("north_app", "memory_term"): REMOVE,
    ("north_app", "lookup_key"): REMOVE,
    ("north_app", "idempotency_key"): REMOVE,
    ("north_app", "job_failure"): {*CHANGE, "DELETE"},
    ("north_app", "alembic_version"): {"SELECT"},
    ("scheduler_role", "alembic_version"): {"SELECT"},
    ("scheduler_role", "memory_rule"): {"INSERT"},
    ("scheduler_role", "memory_rule_suggestion"): {"INSERT"},
}
SWEEP_READS = {
    "lookup_key": {"kind", "firm_id"},
    "app_user": {"organization_id", "id"},
    "memory_rule_suggestion": {"organization_id", "user_id", "scope", "type"},
    "agent_memory_candidate": {
        *{"organization_id", "id", "scope", "type", "target_user_id", "status", "origin"},
        *{"captured_by", "archived_by", "supersedes_id", "archived_at"},
    },
    "import_batch": {"organization_id", "user_id", "id", "undone_at"},
    "import_memory": {"organization_id", "user_id", "batch_id", "memory_id"},
}
"""What keep-rates need, and no text."""
COLUMN_GRANTS = {
    *{("scheduler_role", table, column, "SELECT") for table, columns in SWEEP_READS.items() for column in columns},
    ("north_app", "app_user", "name", "UPDATE"),
    ("north_app", "app_user", "role", "UPDATE"),
    ("north_app", "app_user", "disabled_at", "UPDATE"),
    ("north_app", "matter", "name", "UPDATE"),
    ("north_app", "memory_use_total", "uses", "UPDATE"),
    ("north_app", "memory_use_total", "last_used_at", "UPDATE"),
    ("north_app", "oauth_client", "authorized_at", "UPDATE"),
}

FIRM_WALL = "(organization_id = north_organization())"
OWNER_WALL = "((organization_id = north_organization()) AND (user_id = north_user()))"
PERSONAL_WALL = "((scope <> 'user_private'::memory_scope) OR (target_user_id = north_user()))"
OWNED_WALL = "(owner_id = ANY (ARRAY[north_organization(), north_user()]))"
OWNER_WALLS = dict.fromkeys(MEMORY_TABLES, OWNED_WALL) | {"memory_use": PERSONAL_WALL}
"""What keeps a lawyer's own rows of memory from colleagues. `owner_id` is generated from scope and target, or a part of
the key."""


@pytest.fixture(scope="module")
def catalog(database: TestDatabase) -> Iterator[Connection[dict[str, Any]]]:
    with psycopg.connect(database.superuser_url, autocommit=True, row_factory=dict_row) as connection:
        yield connection


Catalog = Connection[dict[str, Any]]


def values(catalog: Catalog, query: str) -> list[Any]:
    """The first column of every row."""
    return [next(iter(row.values())) for row in catalog.execute(query.encode())]


def walled_tables(catalog: Catalog) -> set[str]:
    return set(
        values(
            catalog,
            """select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
               where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'f')
                 and a.attname = 'organization_id' and not a.attisdropped""",
        )
    )


class TestTables:
    def test_every_table_is_walled_or_known_to_hold_nothing_of_a_firm(self, catalog: Catalog) -> None:
        tables = set(values(catalog, "select tablename from pg_tables where schemaname = 'public'"))
        assert tables - walled_tables(catalog) == {
            *("lookup_key", "oauth_client", "login_attempt", "alembic_version"),
            *JOB_TABLES,
        }

    def test_row_level_security_is_enabled_and_forced_on_every_table_of_firms(self, catalog: Catalog) -> None:
        guarded = values(
            catalog,
            """select relname from pg_class where relnamespace = 'public'::regnamespace
               and relrowsecurity and relforcerowsecurity""",
        )
        assert set(guarded) == walled_tables(catalog)

    def test_what_is_found_before_the_firm_is_known_is_hashes_and_ids(self, catalog: Catalog) -> None:
        columns = catalog.execute(
            "select column_name, udt_name from information_schema.columns where table_name = 'lookup_key'"
        )
        assert {row["column_name"]: row["udt_name"] for row in columns} == {
            "kind": "text",
            "key_hash": "bytea",
            "firm_id": "uuid",
            "user_id": "uuid",
            "subject_id": "uuid",
            "expires_at": "timestamptz",
        }
        (kinds,) = values(
            catalog,
            """select pg_get_constraintdef(oid) from pg_constraint
               where conrelid = 'lookup_key'::regclass and contype = 'c'""",
        )
        assert "ARRAY['firm'::text, 'login'::text, 'session'::text, 'token'::text, 'oauth'::text]" in kinds

    def test_logins_that_failed_are_hashes_and_times(self, catalog: Catalog) -> None:
        columns = "select column_name || ' ' || udt_name from information_schema.columns where table_name = '{}'"
        assert set(values(catalog, columns.format("login_attempt"))) == {"key_hash bytea", "spent_until timestamptz"}

    def test_a_program_that_registered_is_of_no_firm(self, catalog: Catalog) -> None:
        columns = "select column_name::text from information_schema.columns where table_name = 'oauth_client'"
        told = {"name", "redirect_uris", "has_secret"}
        assert set(values(catalog, columns)) == {"id", *told, "created_at", "authorized_at"}
        clients = "'oauth_client'::regclass in (conrelid, confrelid)"
        assert values(catalog, f"select conname from pg_constraint where contype = 'f' and {clients}") == []

    def test_there_is_no_way_round_a_table(self, catalog: Catalog) -> None:
        assert values(
            catalog,
            """select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('v', 'm', 'f')
               union all select rulename from pg_rules where schemaname = 'public'
               union all select tgname from pg_trigger
                   where not tgisinternal and tgrelid::regclass::text not like 'procrastinate%'
               union all select proname from pg_proc where pronamespace = 'public'::regnamespace and prosecdef
               union all select inhrelid::regclass::text from pg_inherits where inhrelid in (
                   select oid from pg_class where relnamespace = 'public'::regnamespace)""",
        ) == []  # fmt: skip

    def test_there_is_no_way_round_the_schema(self, catalog: Catalog) -> None:
        schemas = "select nspname from pg_namespace where nspname !~ '^(pg_|information_schema$)'"
        assert values(catalog, schemas) == ["public"]
        assert values(catalog, "select pubname from pg_publication") == []


class TestPolicies:
    def test_each_table_has_one_permissive_policy_that_holds_every_wall(self, catalog: Catalog) -> None:
        policies = {
            row["tablename"]: row
            for row in catalog.execute(
                "select * from pg_policies where schemaname = 'public' and permissive = 'PERMISSIVE'"
            )
        }
        number = values(catalog, "select count(*) from pg_policies where permissive = 'PERMISSIVE'")
        assert number == [len(policies)], "a second permissive policy opens what the first closes"
        assert set(policies) == walled_tables(catalog)
        for table, policy in policies.items():
            wall = FIRM_WALL if table in FIRM_TABLES else OWNER_WALL
            if table in MEMORY_TABLES:
                wall = f"({FIRM_WALL} AND {OWNER_WALLS[table]})"
            assert (policy["qual"], policy["with_check"]) == (wall, wall), table
            assert (policy["roles"], policy["cmd"]) == (["public"], "ALL"), table

    def test_memories_have_the_owner_wall_beside_it(self, catalog: Catalog) -> None:
        walls = catalog.execute("select * from pg_policies where permissive = 'RESTRICTIVE'").fetchall()
        assert {row["tablename"] for row in walls} == MEMORY_TABLES
        for row in walls:
            assert (row["policyname"], row["cmd"], row["roles"]) == ("owner_wall", "ALL", ["public"])
            wall = OWNER_WALLS[row["tablename"]]
            assert (row["qual"], row["with_check"]) == (wall, wall)

    def test_nobody_can_write_whose_a_memory_is(self, catalog: Catalog) -> None:
        generated = catalog.execute(
            """select c.table_name::text, c.generation_expression from information_schema.columns c
               where c.table_schema = 'public' and c.column_name = 'owner_id' and c.is_generated = 'ALWAYS'"""
        )
        owner = """
CASE
    WHEN (scope = 'user_private'::memory_scope) THEN target_user_id
    ELSE organization_id
END"""
        assert {tuple(row.values()) for row in generated} == {("agent_memory_candidate", owner), ("memory_term", owner)}

    def test_whose_a_total_is_stands_in_its_key(self, catalog: Catalog) -> None:
        (key,) = values(
            catalog,
            """select pg_get_constraintdef(oid) from pg_constraint
               where conrelid = 'memory_use_total'::regclass and contype = 'p'""",
        )
        assert key == "PRIMARY KEY (organization_id, owner_id, memory_id)", "a colleague's row would stand in the way"

    def test_no_policy_asks_another_table(self, catalog: Catalog) -> None:
        expressions = "coalesce(qual, '') || coalesce(with_check, '')"
        assert values(catalog, f"select tablename from pg_policies where {expressions} ilike '%select%'") == []

    def test_the_context_is_read_by_stable_functions(self, catalog: Catalog) -> None:
        functions = "select provolatile from pg_proc where proname in ('north_organization', 'north_user')"
        assert values(catalog, functions) == ["s", "s"]


class TestKeys:
    def test_every_unique_index_leads_with_the_firm(self, catalog: Catalog) -> None:
        leading = catalog.execute(
            """select i.indrelid::regclass::text as table_name, i.indexrelid::regclass::text as index_name, a.attname
               from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
               where i.indisunique"""
        ).fetchall()
        ours = [row for row in leading if row["table_name"] in walled_tables(catalog)]
        assert {row["table_name"] for row in ours} == walled_tables(catalog)
        assert [row["index_name"] for row in ours if row["attname"] != "organization_id"] == []

    def test_every_foreign_key_binds_the_firm_on_both_sides(self, catalog: Catalog) -> None:
        keys = catalog.execute(
            """select c.conname, c.conrelid::regclass::text as table_name,
                      (select array_agg(a.attname::text order by k.n) from unnest(c.conkey) with ordinality k(c, n)
                       join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.c) as here,
                      (select array_agg(a.attname::text order by k.n) from unnest(c.confkey) with ordinality k(c, n)
                       join pg_attribute a on a.attrelid = c.confrelid and a.attnum = k.c) as there
               from pg_constraint c where c.contype = 'f' and c.connamespace = 'public'::regnamespace"""
        ).fetchall()
        ours = [row for row in keys if not row["table_name"].startswith("procrastinate")]
        assert len(ours) > 20
        assert [key["conname"] for key in ours if key["here"][0] != "organization_id"] == []
        assert [key["conname"] for key in ours if key["there"][0] != "organization_id"] == []

    def test_every_foreign_key_has_an_index(self, catalog: Catalog) -> None:
        assert (
            values(
                catalog,
                """select c.conname from pg_constraint c
               where c.contype = 'f' and c.connamespace = 'public'::regnamespace
                 and c.conrelid::regclass::text not like 'procrastinate%'
                 and not exists (
                     select from pg_index i where i.indrelid = c.conrelid and i.indpred is null and i.indisvalid
                       and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey)""",
            )
            == []
        )


class TestRoles:
    def test_neither_role_can_step_over_the_walls(self, catalog: Catalog) -> None:
        roles = catalog.execute(
            """select rolname from pg_roles where rolname in ('north_app', 'scheduler_role')
               and not (rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication)
               and not exists (select from pg_auth_members m where m.member = pg_roles.oid)"""
        )
        assert sorted(row["rolname"] for row in roles) == ["north_app", "scheduler_role"]

    def test_neither_role_owns_anything(self, catalog: Catalog) -> None:
        owned = """select objid from pg_shdepend where deptype = 'o'
                   and dbid in (0, (select oid from pg_database where datname = current_database()))
                   and refobjid in ('north_app'::regrole, 'scheduler_role'::regrole)"""
        assert values(catalog, owned) == []
        create = (
            "select has_schema_privilege(r, 'public', 'create') from unnest(array['north_app', 'scheduler_role']) r"
        )
        assert values(catalog, create) == [False, False]

    def test_the_owner_itself_is_walled_and_cannot_log_in(self, catalog: Catalog) -> None:
        (owner,) = catalog.execute("select * from pg_roles where rolname = 'north_owner'").fetchall()
        assert not (owner["rolsuper"] or owner["rolbypassrls"] or owner["rolcanlogin"])
        owners = "select distinct tableowner from pg_tables where schemaname = 'public'"
        assert values(catalog, owners) == ["north_owner"]

    def test_the_grants_on_tables_are_these_and_no_others(self, catalog: Catalog) -> None:
        granted: dict[tuple[str, str], set[str]] = {}
        for row in catalog.execute(
            """select coalesce(r.rolname, 'PUBLIC') as grantee, c.relname, a.privilege_type
               from pg_class c cross join aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
               left join pg_roles r on r.oid = a.grantee
               where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.grantee <> c.relowner"""
        ):
            granted.setdefault((row["grantee"], row["relname"]), set()).add(row["privilege_type"])
        jobs = {("north_app", table): {*CHANGE, "DELETE"} for table in JOB_TABLES if table.startswith("procrastinate")}
        assert granted == TABLE_GRANTS | jobs

    def test_the_grants_on_columns_are_these_and_no_others(self, catalog: Catalog) -> None:
        granted = catalog.execute(
            """select r.rolname, c.relname, a.attname, x.privilege_type from pg_attribute a
               join pg_class c on c.oid = a.attrelid and c.relnamespace = 'public'::regnamespace
               cross join aclexplode(a.attacl) x left join pg_roles r on r.oid = x.grantee"""
        )
        assert {tuple(row.values()) for row in granted} == COLUMN_GRANTS

    def test_no_right_is_given_to_tables_that_do_not_exist_yet(self, catalog: Catalog) -> None:
        assert values(catalog, "select defaclacl from pg_default_acl") == []

    def test_no_role_is_bound_or_otherwise_set_up_when_it_connects(self, catalog: Catalog) -> None:
        ours = "select oid from pg_roles where rolname in ('north_owner', 'north_app', 'scheduler_role')"
        here = "select oid from pg_database where datname = current_database()"
        settings = f"""select setconfig from pg_db_role_setting
                       where setrole in ({ours}) or setrole = 0 and setdatabase in (0, ({here}))"""
        assert values(catalog, settings) == []
