"""One door: nothing but `memory/save.py` reaches the insert, and SQL stands in its own files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import north
from north.db.statements import QUERIES
from north.model import Status

HOUSE = Path(north.__file__).parent
SQL = re.compile(
    r"^\s*(--[^\n]*\n\s*)*(select\s.+\sfrom\s|select\s+\w+\(|insert\s+into\s|update\s+\w+\s+set\s|delete\s+from\s|"
    r"with\s+\w+\s+as\s*\(|(create|alter|drop)\s+(table|index|role|policy|function|database|extension|schema)\s|"
    r"(grant|revoke)\s.+\s(to|from|on)\s|truncate\s|copy\s\w+\s|set\s+(local|role|session)\s)",
    re.IGNORECASE | re.DOTALL,
)


def sources() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(HOUSE.rglob("*.py")):
        yield path.relative_to(HOUSE).as_posix(), ast.parse(path.read_text())


def strings(tree: ast.Module) -> Iterator[str]:
    """Every string in a source but its docstrings; of an f-string, what it begins with."""
    docs: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docs.update(id(each.value) for each in node.body if isinstance(each, ast.Expr))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docs:
            yield node.value.decode(errors="replace") if isinstance(node.value, bytes) else str(node.value)


def test_only_the_door_names_the_statement_that_inserts_a_memory() -> None:
    naming = [name for name, tree in sources() if "memory.insert_memory" in set(strings(tree))]
    assert naming == ["memory/save.py"]


def test_only_one_statement_inserts_a_memory() -> None:
    inserting = re.compile(r"insert\s+into\s+agent_memory_candidate", re.IGNORECASE)
    found = {path.name: len(inserting.findall(path.read_text())) for path in QUERIES.glob("*.sql")}
    assert {name: count for name, count in found.items() if count} == {"memory.sql": 1}
    assert [name for name, tree in sources() if any(inserting.search(text) for text in strings(tree))] == []


def test_sql_stands_under_queries_and_migrations_alone() -> None:
    with_sql = {name: text for name, tree in sources() for text in strings(tree) if SQL.match(text)}
    assert with_sql == {}


SETTLE = "settle.sql"
"""What the one-shot script for an earlier release's rows runs: it reads the historic states, and removes old rules."""


def test_nothing_is_ever_hard_deleted_but_what_holds_no_statement_of_anybody() -> None:
    deleted = {
        table
        for path in QUERIES.glob("*.sql")
        if path.name != SETTLE
        for table in re.findall(r"delete\s+from\s+(\w+)", path.read_text(), re.IGNORECASE)
    }
    assert deleted == {
        *("memory_term", "lookup_key", "idempotency_key", "oauth_client", "login_attempt", "import_chunk"),
        *("procrastinate_jobs", "job_failure"),
    }


def test_the_historic_states_are_written_nowhere() -> None:
    assert set(Status) == {"active", "superseded", "archived"}
    naming = [path.name for path in QUERIES.glob("*.sql") if re.search(r"'(pending|rejected)'", path.read_text())]
    assert naming == [SETTLE]
    assert not re.search(r"set\s+status\s*=\s*'(pending|rejected)'", (QUERIES / SETTLE).read_text())
