"""Which index a statement may read. When its plan is kept nobody knows how large a bucket is, and in a firm among a
thousand the server takes any index that begins with the bucket. So each has a condition, true of every row, and is open
to the statements alone that name it."""

from __future__ import annotations

import psycopg
import pytest

from north.db.statements import statement
from tests.conftest import TestDatabase

CONDITIONS = {"memory_sketch": "length >= 0", "memory_listed": "length < 2147483647"}
READERS = {
    "recall.newest": "memory_sketch",
    "recall.sketched": "memory_sketch",
    "memory.page": "memory_listed",
    "memory.found": "memory_listed",
    "recall.listed": "memory_sketch",
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
