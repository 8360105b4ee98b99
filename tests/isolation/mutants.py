"""Everything that could go wrong with the walls, one at a time: each policy, each of its halves, and ways round them.

Made from the catalog itself, so that a new table or policy has its mutants without anybody writing them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from psycopg import Connection
from psycopg.rows import dict_row

THEIRS = "k.firm_id = organization and k.user_id = acting_user"
EXPIRY = "and (k.expires_at is null or k.expires_at > now())"
CONTEXT = "nullif(current_setting('app.organization_id', true), '')::uuid"
SOMEBODY = "01900000-0000-7000-8000-000000000000"


@dataclass(frozen=True)
class Mutant:
    """A change to a sound database. `undo` mends what it does beyond the database, to a role."""

    name: str
    statements: str
    undo: str = ""


def mutants(connection: Connection[Any]) -> list[Mutant]:
    """Every mutant of this database, which is not changed."""
    with connection.cursor(row_factory=dict_row) as cursor:
        policies = cursor.execute(
            "select * from pg_policies where schemaname = 'public' order by tablename, policyname"
        ).fetchall()
    tables = sorted({policy["tablename"] for policy in policies})
    found = [mutant for policy in policies for mutant in _of_policy(policy)]
    found += [mutant for table in tables for mutant in _of_table(table)]
    return [*found, *FUNCTIONS, *WAYS_ROUND, *KEYS, *RIGHTS]


def conjuncts(expression: str) -> list[str]:
    """The parts of an expression that `AND` joins, as Postgres prints it: `((a = b) AND (c OR d))`."""
    inner, parts, depth, start = expression[1:-1], [], 0, 0
    for position, character in enumerate(inner):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0 and inner.startswith(" AND ", position):
            parts.append(inner[start:position])
            start = position + len(" AND ")
    return [expression] if not parts else [*parts, inner[start:]]


def _of_policy(policy: dict[str, Any]) -> Iterator[Mutant]:
    name, table = policy["policyname"], policy["tablename"]
    title, alter = f"{table}.{name}", f"alter policy {name} on {table}"
    yield Mutant(f"{title}: dropped", f"drop policy {name} on {table}")
    for clause, part in (("using", policy["qual"]), ("with check", policy["with_check"])):
        walls = conjuncts(part)
        for wall in walls:
            rest = " and ".join(other for other in walls if other is not wall) or "true"
            yield Mutant(f"{title}: {clause} without {wall}", f"{alter} {clause} ({rest})")
    if policy["permissive"] == "PERMISSIVE":
        opened = policy["qual"].replace("north_organization()", "coalesce(north_organization(), organization_id)")
        yield Mutant(f"{title}: open to who is unbound", f"{alter} using ({opened})")
        command = f"create policy {name} on {table} for select using ({policy['qual']})"
        yield Mutant(f"{title}: for reading alone", f"drop policy {name} on {table}; {command}")
    else:
        recreated = f"create policy {name} on {table} using ({policy['qual']}) with check ({policy['with_check']})"
        yield Mutant(f"{title}: permissive, as Citus re-creates it", f"drop policy {name} on {table}; {recreated}")


def _of_table(table: str) -> Iterator[Mutant]:
    yield Mutant(f"{table}: row-level security disabled", f"alter table {table} disable row level security")
    yield Mutant(f"{table}: not forced on its owner", f"alter table {table} no force row level security")
    yield Mutant(f"{table}: a second permissive policy", f"create policy later on {table} using (true)")


def _reading(name: str, volatility: str, body: str) -> str:
    return f"create or replace function {name}() returns uuid language sql {volatility} parallel safe as $${body}$$"


def _admitting(key: str, lawyer: str = "and u.disabled_at is null", expiry: str = EXPIRY) -> str:
    """`north_admit`, with what it asks of a key and of its lawyer."""
    return f"""create or replace function north_admit(key_kind text, hash bytea, organization uuid, acting_user uuid)
        returns void language plpgsql as $$
        begin
            perform north_bind(organization, acting_user);
            if not exists (
                select from lookup_key k join app_user u on u.organization_id = k.firm_id and u.id = k.user_id
                where k.kind = key_kind and k.key_hash = hash {expiry} and {key} {lawyer}
            ) then
                raise exception 'nobody is admitted' using errcode = 'NA401';
            end if;
        end $$"""


FUNCTIONS = (
    Mutant("north_admit: a key of the same firm", _admitting("k.firm_id = organization")),
    Mutant("north_admit: a key that has expired", _admitting(THEIRS, expiry="")),
    Mutant("north_admit: a lawyer who may not come in", _admitting(THEIRS, lawyer="")),
    Mutant(
        "north_admit: whoever comes",
        """create or replace function north_admit(key_kind text, hash bytea, organization uuid, acting_user uuid)
           returns void language sql as $$ select north_bind(organization, acting_user) $$""",
    ),
    Mutant("north_admit: with its owner's rights", "alter function north_admit security definer"),
    Mutant(
        "north_bind: SET for SET LOCAL",
        """create or replace function north_bind(organization uuid, acting_user uuid) returns void
           language plpgsql as $$
           begin
               execute format('set app.organization_id = %L', coalesce(organization::text, ''));
               execute format('set app.user_id = %L', coalesce(acting_user::text, ''));
           end $$""",
    ),
    Mutant(
        "north_bind: the lawyer of the transaction before stays",
        """create or replace function north_bind(organization uuid, acting_user uuid) returns void
           language plpgsql as $$
           begin
               execute format('set local app.organization_id = %L', coalesce(organization::text, ''));
               if acting_user is not null then execute format('set app.user_id = %L', acting_user); end if;
           end $$""",
    ),
    Mutant(
        "north_organization: IMMUTABLE for STABLE", _reading("north_organization", "immutable", f"select {CONTEXT}")
    ),
    Mutant("north_user: IMMUTABLE for STABLE", "alter function north_user() immutable"),
    Mutant(
        "north_organization: somebody's when there is no context",
        _reading("north_organization", "stable", f"select coalesce({CONTEXT}, (select organization_id from matter))"),
    ),
)

WAYS_ROUND = (
    Mutant(
        "a view with its owner's rights",
        "create view everything as select * from agent_memory_candidate; grant select on everything to north_app",
    ),
    Mutant(
        "a view with its owner's rights, in another schema",
        """create schema reporting; grant usage on schema reporting to north_app;
           create view reporting.everything as select * from public.agent_memory_candidate;
           grant select on reporting.everything to north_app""",
    ),
    Mutant(
        "a materialized view",
        "create materialized view everything as select * from matter; grant select on everything to north_app",
    ),
    Mutant(
        "a function with its owner's rights",
        """create function everything() returns setof agent_memory_candidate language sql security definer
           as 'select * from agent_memory_candidate'""",
    ),
    Mutant(
        "a function with its owner's rights, in another schema",
        """create schema reporting; grant usage on schema reporting to north_app;
           create function reporting.everything() returns setof public.matter language sql security definer
           as 'select * from public.matter'""",
    ),
    Mutant("a table that inherits a walled one", "create table older () inherits (agent_memory_candidate)"),
    Mutant("a table of firms' rows that is not walled", "create table note (organization_id uuid, content text)"),
    Mutant("a table of firms' rows that does not say so", "create table note (firm uuid, content text)"),
    Mutant(
        "a trigger that copies rows",
        """create function copied() returns trigger language plpgsql as 'begin return new; end';
           create trigger copied after insert on chat_message for each row execute function copied()""",
    ),
    Mutant("a rule that copies rows", "create rule copied as on insert to chat_message do also notify chat_message"),
    Mutant("a publication of every row", "create publication everything for table agent_memory_candidate"),
    Mutant("names in the table without walls", "alter table lookup_key add column email text"),
    Mutant("whose program it is, in the table without walls", "alter table oauth_client add column firm_id uuid"),
    Mutant(
        "a policy for the sweep alone",
        "create policy sweep on agent_memory_candidate to scheduler_role using (true)",
    ),
    Mutant(
        "a policy that asks another table",
        """alter policy firm on matter using (organization_id in (select organization_id from organization))""",
    ),
)

KEYS = (
    Mutant("a unique index across firms", "create unique index across on matter (number)"),
    Mutant("a unique constraint across firms", "alter table app_user add unique (email)"),
    Mutant(
        "a foreign key without the firm",
        """alter table chat_thread add unique (id); alter table chat_message
           add constraint without_firm foreign key (thread_id) references chat_thread (id)""",
    ),
    Mutant(
        "a primary key without the firm",
        """alter table import_conversation drop constraint import_conversation_pkey;
           alter table import_conversation add primary key (id)""",
    ),
    Mutant("a foreign key without an index", "drop index chat_message_owner"),
)


def _granted(name: str, what: str, undo: str = "") -> Mutant:
    return Mutant(f"rights: {name}", what, undo)


RIGHTS = (
    _granted("north_app bypasses policies", "alter role north_app bypassrls", "alter role north_app nobypassrls"),
    _granted("north_app is a superuser", "alter role north_app superuser", "alter role north_app nosuperuser"),
    _granted("north_app makes roles", "alter role north_app createrole", "alter role north_app nocreaterole"),
    _granted("the owner bypasses policies", "alter role north_owner bypassrls", "alter role north_owner nobypassrls"),
    _granted("the owner logs in", "alter role north_owner login", "alter role north_owner nologin"),
    _granted(
        "the sweep bypasses policies", "alter role scheduler_role bypassrls", "alter role scheduler_role nobypassrls"
    ),
    _granted("north_app is the owner too", "grant north_owner to north_app", "revoke north_owner from north_app"),
    _granted("the sweep is north_app too", "grant north_app to scheduler_role", "revoke north_app from scheduler_role"),
    _granted(
        "north_app reads all data", "grant pg_read_all_data to north_app", "revoke pg_read_all_data from north_app"
    ),
    _granted(
        "north_app is bound when it connects",
        f"alter role north_app set app.organization_id = '{SOMEBODY}'",
        "alter role north_app reset app.organization_id",
    ),
    _granted("north_app owns a table", "alter table matter owner to north_app"),
    _granted("north_app truncates", "grant truncate on memory_term to north_app"),
    _granted("north_app deletes memories", "grant delete on agent_memory_candidate to north_app"),
    _granted("north_app changes events", "grant update on product_event to north_app"),
    _granted("north_app changes one column of an event", "grant update (name) on product_event to north_app"),
    _granted("north_app makes tables", "grant create on schema public to north_app"),
    _granted("everybody reads matters", "grant select on matter to public"),
    _granted("the sweep reads memories", "grant select on agent_memory_candidate to scheduler_role"),
    _granted("the sweep reads what memories say", "grant select (content) on agent_memory_candidate to scheduler_role"),
    _granted("the sweep reads messages", "grant select on chat_message to scheduler_role"),
    _granted(
        "later tables are open", "alter default privileges in schema public grant select on tables to scheduler_role"
    ),
)
