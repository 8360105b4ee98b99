"""What North's connections say to the server, as libpq writes it down."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from psycopg.errors import DivisionByZero

from north.db.connect import PREPARE_AFTER, Database, Transaction
from north.model import new_id
from tests.conftest import TestDatabase, open_pool

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="libpq's trace is for Linux here")


async def said_by_the_client(database: TestDatabase, trace: Path, statement: str) -> list[str]:
    """The kinds of the client's messages in one transaction, in order."""
    async with open_pool(database.application_url) as served:
        with trace.open("w") as file:
            try:
                async with served.bound(new_id(), new_id()) as transaction:
                    transaction.connection.pgconn.trace(file.fileno())
                    await asked(transaction, statement)
            finally:
                async with served.connection() as connection:
                    connection.pgconn.untrace()
    lines = (line.split("\t") for line in trace.read_text().splitlines())
    return [kind for _, direction, _, kind, *_ in lines if direction == "F"]


async def asked(transaction: Transaction, statement: str) -> None:
    cursor = await transaction.connection.execute(statement.encode())
    await cursor.fetchall()
    await transaction.connection.execute(statement.encode())


async def test_nothing_is_sent_after_a_transaction_since_a_pooler_would_give_it_a_connection_for_good(
    database: TestDatabase, tmp_path: Path
) -> None:
    said = await said_by_the_client(database, tmp_path / "trace", "select 1")
    assert said.count("Sync") == 1 and said[-1] == "Sync"


async def test_nor_after_one_that_failed(database: TestDatabase, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    with pytest.raises(DivisionByZero):
        await said_by_the_client(database, trace, "select 1 / 0")
    sent = [line.split("\t")[3] for line in trace.read_text().splitlines() if "\tF\t" in line]
    assert "Sync" in sent and "Flush" not in sent[sent.index("Sync") :]


@pytest.mark.parametrize("before", range(PREPARE_AFTER + 2))
async def test_a_plan_that_was_to_be_kept_in_a_transaction_that_failed_is_kept_the_next_time(
    database: TestDatabase, before: int
) -> None:
    """The server passes over what follows a failure: it has no plan then, though the driver has asked for one."""

    async def rules(served: Database, first: bytes) -> None:
        async with served.bound(new_id(), new_id(), read_only=True) as transaction:
            await transaction.connection.execute(first)
            cursor = await transaction.send("rules.live")
        assert await cursor.fetchall() == []

    async with open_pool(database.application_url) as served:
        for _ in range(before):
            await rules(served, b"select 1")
        with pytest.raises(DivisionByZero):
            await rules(served, b"select 1 / 0")
        for _ in range(PREPARE_AFTER + 2):
            await rules(served, b"select 1")
        async with served.connection() as connection:
            cursor = await connection.execute(
                b"select count(*) as kept from pg_prepared_statements where statement ~ 'memory_rule'"
            )
            assert await cursor.fetchone() == {"kept": 1}


async def test_what_does_not_fit_into_the_socket_leaves_before_its_answer_is_waited_for(database: TestDatabase) -> None:
    async with open_pool(database.application_url) as served:
        for size in (100_000, 1_000_000, 10_000_000):
            async with served.bound(new_id(), new_id()) as transaction:
                cursor = await transaction.connection.execute(b"select length(%s) as length", ("a" * size,))
            assert await cursor.fetchone() == {"length": size}
