"""Which index a statement may read. When its plan is kept nobody knows how large a bucket is, and in a firm among a
thousand the server takes any index that begins with the bucket. So each has a condition, true of every row, and is open
to the statements alone that name it."""

from __future__ import annotations

import re

import psycopg
import pytest

from north.db.statements import statement
from tests.conftest import FirmOfTest, TestDatabase

CONDITIONS = {"memory_sketch": "length >= 0", "memory_listed": "length < 2147483647"}
READERS = {
    "recall.newest": "memory_sketch",
    "recall.sketched": "memory_sketch",
    "memory.page": "memory_listed",
    "memory.found": "memory_listed",
    "recall.listed": "memory_sketch",
    "recall.dated": "memory_sketch",
    "recall.vectors": None,
    "recall.compared": None,
    "recall.beside": None,
}


@pytest.mark.parametrize("name", READERS)
def test_a_statement_names_the_condition_of_its_own_index_alone(name: str) -> None:
    named = {index for index, condition in CONDITIONS.items() if condition in statement(name)}
    assert named == ({READERS[name]} if READERS[name] else set())


@pytest.mark.parametrize("index", CONDITIONS)
def test_an_index_is_closed_to_statements_that_do_not_name_its_condition(database: TestDatabase, index: str) -> None:
    with psycopg.connect(database.superuser_url) as connection:
        found = connection.execute("select indexdef from pg_indexes where indexname = %s", (index,)).fetchone()
    assert found is not None and f"({CONDITIONS[index]})" in found[0]


KEPT = (
    *(f"recall.{name}" for name in ("listed", "postings", "dated", "whole", "uses_of_whole", "best")),
    "memory.live_twins",
)


def test_a_kept_plan_reads_no_table_whole_however_cheap_that_looks(firm: FirmOfTest, database: TestDatabase) -> None:
    def plan(name: str, *, keep_plans: bool) -> str:
        names: list[str] = []

        def numbered(found: re.Match[str]) -> str:
            names.extend({found[1]} - set(names))
            return f"${names.index(found[1]) + 1}"

        with psycopg.connect(database.application_url) as connection:
            connection.execute("set seq_page_cost = 0")
            connection.execute("set random_page_cost = 1000")
            ids = {"organization_id": firm.a.organization_id, "user_id": firm.a.user_id}
            connection.execute(statement("tenant.bind").encode(), {**ids, "keep_plans": keep_plans, "read_only": False})
            text = re.sub(r"%\((\w+)\)s", numbered, statement(name))
            return "\n".join(line for (line,) in connection.execute(f"explain (generic_plan) {text}".encode()))

    whole = "Seq Scan on"
    assert not [name for name in KEPT if whole in plan(name, keep_plans=True)]
    assert [name for name in KEPT if whole in plan(name, keep_plans=False)], "otherwise there is nothing to see"
