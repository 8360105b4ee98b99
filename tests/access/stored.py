"""Everything that a database holds, as text, to look for what must not be there."""

from __future__ import annotations

import psycopg
from psycopg import sql

from tests.conftest import TestDatabase


def dump(database: TestDatabase) -> str:
    """Every row of every table, read past the walls; binary columns in hexadecimal."""
    with psycopg.connect(database.superuser_url) as connection:
        tables = connection.execute("select tablename from pg_tables where schemaname = 'public'").fetchall()
        rows: list[str] = []
        for (table,) in tables:
            query = sql.SQL("select t::text from {} t").format(sql.Identifier(table))
            rows += [row for (row,) in connection.execute(query)]
    return "\n".join(rows)


def holds(text: str, secret: str) -> bool:
    """Whether `text` holds the secret, plain or as the bytes of a binary column."""
    return secret in text or secret.encode().hex() in text
