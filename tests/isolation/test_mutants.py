"""`make prove-mutants` breaks every wall in turn. Here: it forgets none, and Postgres takes each of its changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from psycopg import Connection

from tests.conftest import TestDatabase
from tests.isolation.mutants import conjuncts, mutants


@pytest.fixture(scope="module")
def superuser(make_database: Callable[[], TestDatabase]) -> Iterator[Connection[Any]]:
    with psycopg.connect(make_database().superuser_url) as connection:
        yield connection


def names(superuser: Connection[Any]) -> list[str]:
    return [mutant.name for mutant in mutants(superuser)]


def test_every_policy_is_dropped_and_loosened_and_every_table_opened(superuser: Connection[Any]) -> None:
    found = set(names(superuser))
    policies = superuser.execute(
        "select tablename, policyname, qual, with_check from pg_policies where schemaname = 'public'"
    ).fetchall()
    assert len(policies) > 20
    for table, policy, qual, with_check in policies:
        assert f"{table}.{policy}: dropped" in found
        for clause, expression in (("using", qual), ("with check", with_check)):
            for wall in conjuncts(expression):
                assert f"{table}.{policy}: {clause} without {wall}" in found
        for opened in ("row-level security disabled", "not forced on its owner", "a second permissive policy"):
            assert f"{table}: {opened}" in found


def test_each_has_a_name_of_its_own(superuser: Connection[Any]) -> None:
    assert len(names(superuser)) == len(set(names(superuser)))


def test_an_expression_is_taken_apart_at_its_outermost_and() -> None:
    assert conjuncts("((a = b) AND ((c = d) OR ((e = f) AND g)))") == ["(a = b)", "((c = d) OR ((e = f) AND g))"]
    assert conjuncts("(a = b)") == ["(a = b)"]


def test_postgres_takes_each_change(superuser: Connection[Any]) -> None:
    for mutant in mutants(superuser):
        superuser.execute(mutant.statements.encode())
        superuser.rollback()
