"""Two firms and three lawyers with one row each in every walled table, written past the walls as superuser."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import Connection, sql

from north.model import new_id
from tests.conftest import TestDatabase

Columns = dict[str, Any]


@dataclass(frozen=True)
class Owner:
    """A lawyer, and the ids of what is theirs."""

    organization_id: UUID
    user_id: UUID = field(default_factory=new_id)
    matter_id: UUID = field(default_factory=new_id)
    thread_id: UUID = field(default_factory=new_id)
    memory_id: UUID = field(default_factory=new_id)
    rule_id: UUID = field(default_factory=new_id)
    batch_id: UUID = field(default_factory=new_id)
    other_id: UUID = field(default_factory=new_id)


def rows_of(owner: Owner) -> dict[str, Columns]:
    """One row for each walled table, parents first. Personal where the table knows personal rows."""
    firm, user, key = owner.organization_id, owner.user_id, owner.other_id.bytes
    of_firm = {"organization_id": firm}
    own = {**of_firm, "id": owner.other_id, "user_id": user}
    personal = {"scope": "user_private", "target_user_id": user}
    return {
        "organization": {**of_firm, "slug": f"firm-{firm.hex}", "name": "A firm"},
        "app_user": {**of_firm, "id": user, "email": f"{user.hex}@firm.test", "name": "A lawyer"},
        "matter": {**of_firm, "id": owner.matter_id, "number": owner.matter_id.hex, "name": "A matter"},
        "user_password": {**of_firm, "user_id": user, "password_hash": "x"},
        "chat_thread": {**own, "id": owner.thread_id},
        "chat_message": {**own, "thread_id": owner.thread_id, "role": "user", "content": "Hello."},
        "agent_memory_candidate": {
            **of_firm,
            **personal,
            "id": owner.memory_id,
            "type": "fact",
            "content": "The vault code is 4711.",
            "content_key": key,
            "length": 5,
            "status": "active",
            "confidence": "high",
            "origin": "chat",
        },
        "memory_term": {
            **of_firm,
            **personal,
            "bucket": user,
            "term": "vault",
            "memory_id": owner.memory_id,
            "tf": 1,
            "length": 5,
        },
        "memory_use": {**own, **personal, "memory_id": owner.memory_id, "surface": "chat"},
        "memory_use_total": {
            **of_firm,
            "owner_id": user,
            "memory_id": owner.memory_id,
            "uses": 1,
            "last_used_at": datetime.now(UTC),
        },
        "memory_rule": {**own, "id": owner.rule_id, "action": "never_remember", "origin": "settings"},
        "memory_rule_suggestion": {**own, "scope": "matter", "type": "fact", "suggested_action": "never_remember"},
        "walled_consultation": {**own, "source": "netdocuments"},
        "idempotency_key": {**of_firm, "user_id": user, "key_hash": key, "request_hash": key, "outcome": "[]"},
        "product_event": {**own, "name": "memory_saved"},
        "import_batch": {**own, "id": owner.batch_id, "file_name": "export.zip", "status": "queued"},
        "import_chunk": {**of_firm, "import_id": owner.batch_id, "number": 0, "user_id": user, "piece": key},
        "import_conversation": {
            **own,
            "batch_id": owner.batch_id,
            "source": "chatgpt",
            "external_key": key,
            "part": 0,
            "turns": key,
        },
        "import_memory": {**of_firm, "batch_id": owner.batch_id, "memory_id": owner.memory_id, "user_id": user},
        "web_session": {**own, "expires_at": datetime.now(UTC)},
        "access_token": {**own, "name": "A token"},
        "oauth_grant": {
            **own,
            "client_id": "https://host.test/program",
            "client_name": "A program",
            "redirect_host": "host.test",
            "redirect_uri": "https://host.test/back",
            "code_challenge": "x",
            "scope": "memory",
            "resource": "https://north.test/mcp",
            "expires_at": datetime.now(UTC),
        },
        "connection": {**own, "provider": "netdocuments", "sealed_tokens": key, "account": "A lawyer"},
    }


TABLES = tuple(rows_of(Owner(new_id())))
FIRM_TABLES = ("organization", "app_user", "matter")
OWNED_TABLES = tuple(table for table in TABLES if table not in FIRM_TABLES)


def shared_row(owner: Owner) -> Columns:
    """A memory of the lawyer's matter, which is the firm's."""
    row = rows_of(renewed(owner))["agent_memory_candidate"]
    return {**row, "scope": "matter", "target_user_id": None, "target_matter_id": owner.matter_id}


def renewed(owner: Owner) -> Owner:
    """The same lawyer with ids for a second row in each table."""
    kept = {"organization_id", "user_id"}
    return replace(owner, **{each.name: new_id() for each in fields(Owner) if each.name not in kept})


def owner_column(table: str) -> str | None:
    """The column that names whose a row is, where rows are somebody's own."""
    if table in FIRM_TABLES:
        return None
    if table == "memory_use_total":
        return "owner_id"
    return "target_user_id" if table in ("agent_memory_candidate", "memory_term", "memory_use") else "user_id"


def insert(connection: Connection[Any], table: str, columns: Columns) -> None:
    connection.execute(
        sql.SQL("insert into {} ({}) values ({})").format(
            sql.Identifier(table),
            sql.SQL(", ").join(map(sql.Identifier, columns)),
            sql.SQL(", ").join(sql.Placeholder() * len(columns)),
        ),
        list(columns.values()),
    )


def bind(connection: Connection[Any], organization_id: UUID | None, user_id: UUID | None) -> None:
    connection.execute("select north_bind(%s, %s)", (organization_id, user_id))


@dataclass(frozen=True)
class World:
    """A database in which `ana` and `ben` are colleagues and `rita` is of another firm."""

    database: TestDatabase
    ana: Owner
    ben: Owner
    rita: Owner

    def connect(self, *, autocommit: bool = False) -> Connection[tuple[Any, ...]]:
        """A connection as north_app, bound to nobody."""
        return psycopg.connect(self.database.application_url, autocommit=autocommit)


def filled(database: TestDatabase) -> World:
    """Write everybody's rows, and grant north_app every right on every table, so that policies stand alone."""
    ana = Owner(new_id())
    world = World(database, ana, Owner(ana.organization_id), Owner(new_id()))
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute("grant select, insert, update, delete on all tables in schema public to north_app")
        for owner in (world.ana, world.ben, world.rita):
            for table, columns in rows_of(owner).items():
                if not (table == "organization" and owner is world.ben):
                    insert(connection, table, columns)
    return world


def refused(error: pytest.ExceptionInfo[psycopg.Error]) -> tuple[str | None, str | None, str | None]:
    """What an error tells the one who caused it, ids aside."""
    diag = error.value.diag
    return diag.sqlstate, diag.message_primary, diag.constraint_name
