"""The revision that gave every memory a total of its uses, on a database where memories had been used."""

from __future__ import annotations

import psycopg
from psycopg import Connection

from north.db.migrate import migrate
from north.model import new_id
from tests.conftest import TestDatabase
from tests.isolation.rows import Owner, bind, insert, rows_of, shared_row

LOG = """select organization_id, memory_id, coalesce(target_user_id, organization_id), count(*), max(used_at)
         from memory_use group by 1, 2, 3 order by 1, 2, 3"""
TOTALS = """select organization_id, memory_id, owner_id, uses, last_used_at from memory_use_total order by 1, 2, 3"""


def as_before(connection: Connection[tuple[object, ...]]) -> None:
    """Undo the revision, and what the later ones made."""
    connection.execute("drop function north_admit; drop table memory_use_total")
    connection.execute("update alembic_version set version_num = '0007'")


def test_counts_what_every_firm_had_used_until_then(fresh_database: TestDatabase) -> None:
    owners = (Owner(new_id()), Owner(new_id()))
    with psycopg.connect(fresh_database.superuser_url) as connection:
        as_before(connection)
        for times, owner in enumerate(owners, 1):
            shared = shared_row(owner)
            for table, columns in rows_of(owner).items():
                if table != "memory_use_total":
                    insert(connection, table, columns)
            insert(connection, "agent_memory_candidate", shared)
            for day in range(times * 2):
                use = {**rows_of(owner)["memory_use"], "id": new_id(), "used_at": f"2026-03-0{day + 1}"}
                insert(connection, "memory_use", use)
                insert(
                    connection,
                    "memory_use",
                    {**use, "id": new_id(), "memory_id": shared["id"], "scope": "matter", "target_user_id": None},
                )

    assert migrate(fresh_database.owner_url, application_password=None, scheduler_password=None).current

    with psycopg.connect(fresh_database.superuser_url) as connection:
        totals = connection.execute(TOTALS).fetchall()
        assert totals == connection.execute(LOG).fetchall()
        assert sorted(total[3] for total in totals) == [2, 3, 4, 5]
    with psycopg.connect(fresh_database.application_url) as connection:
        for owner in owners:
            bind(connection, owner.organization_id, owner.user_id)
            seen = connection.execute("select sum(uses) from memory_use_total").fetchone()
            assert seen == connection.execute("select count(*) from memory_use").fetchone()
