"""A dump holds every row of every firm, and a restored database is the one that was dumped, walls and all."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from typer.testing import CliRunner

from north.cli import app
from north.db.canary import check_isolation
from north.db.dumping import Passwords, dump, restore
from north.errors import DatabaseNotEmpty, DumpFailed, RestoreFailed
from north.model import new_id
from tests.conftest import TestDatabase, open_pool
from tests.db.other_postgres import OtherPostgres, other_postgres
from tests.isolation.rows import TABLES, Owner, insert, rows_of, shared_row

PASSWORDS = Passwords("the application's", "the sweep's")


@pytest.fixture(scope="module")
def filled(make_database: Callable[[], TestDatabase]) -> TestDatabase:
    """A database with two firms."""
    database = make_database()
    with psycopg.connect(database.superuser_url) as connection:
        for owner in (Owner(new_id()), Owner(new_id())):
            for table, columns in rows_of(owner).items():
                insert(connection, table, columns)
            insert(connection, "agent_memory_candidate", shared_row(owner))
            key = {"kind": "firm", "key_hash": new_id().bytes, "firm_id": owner.organization_id}
            insert(connection, "lookup_key", key)
    return database


@pytest.fixture(scope="module")
def dumped(filled: TestDatabase, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("dumps") / "north.dump"
    told: list[str] = []
    assert dump(filled.owner_url, file, told.append) == file.stat().st_size
    assert set(TABLES) <= set(told)
    return file


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OtherPostgres]:
    with other_postgres(tmp_path_factory.mktemp("restored")) as server:
        yield server


@pytest.fixture
def empty(server: OtherPostgres) -> OtherPostgres:
    """Another server, with an empty database, and none of North's roles."""
    server.empty()
    return server


def rows(url: str) -> dict[str, list[str]]:
    """Every row of every walled table, as text."""
    with psycopg.connect(url) as connection:
        text = sql.SQL("select t::text from {} t order by 1")
        return {
            table: [row for (row,) in connection.execute(text.format(sql.Identifier(table)))]
            for table in (*TABLES, "lookup_key")
        }


class TestRestored:
    async def test_is_the_database_that_was_dumped(
        self, filled: TestDatabase, dumped: Path, empty: OtherPostgres
    ) -> None:
        state = restore(empty.url("postgres"), dumped, PASSWORDS, lambda table: None)
        assert state.current
        assert rows(empty.url("postgres")) == rows(filled.superuser_url)
        async with open_pool(empty.url("north_app", "the application's")) as application:
            await check_isolation(application)

    def test_has_the_schema_policies_and_rights_of_a_migrated_one(self, dumped: Path, empty: OtherPostgres) -> None:
        restore(empty.url("postgres"), dumped, PASSWORDS, lambda table: None)
        restored = empty.schema()
        assert "FORCE ROW LEVEL SECURITY" in restored and "AS RESTRICTIVE" in restored
        assert "GRANT SELECT,INSERT ON TABLE public.matter TO north_app" in restored
        empty.run("drop schema public cascade", "create schema public")
        runner = CliRunner()
        environment = {
            "NORTH_OWNER_DATABASE_URL": empty.url("postgres"),
            "NORTH_DATABASE_URL": empty.url("north_app", "the application's"),
        }
        assert runner.invoke(app, ["db", "migrate"], env=environment).exit_code == 0
        assert statements(empty.schema()) == statements(restored)


def statements(schema: str) -> set[str]:
    """The statements of a schema, whatever their order; who may use `public` is each server's own affair."""
    return {each.strip() for each in schema.split(";\n") if "SCHEMA public" not in each}


class TestRefuses:
    def test_a_database_that_is_not_empty(self, dumped: Path, empty: OtherPostgres) -> None:
        empty.run("create table somebody_elses (id integer)")
        with pytest.raises(DatabaseNotEmpty, match="The database firm is not empty"):
            restore(empty.url("postgres"), dumped, PASSWORDS, lambda table: None)

    def test_a_file_that_is_no_dump_and_leaves_the_database_empty(
        self, dumped: Path, empty: OtherPostgres, tmp_path: Path
    ) -> None:
        cut = tmp_path / "cut.dump"
        cut.write_bytes(dumped.read_bytes()[: dumped.stat().st_size // 2])
        for file in (cut, tmp_path / "absent.dump"):
            with pytest.raises(RestoreFailed):
                restore(empty.url("postgres"), file, PASSWORDS, lambda table: None)
        assert "CREATE TABLE" not in empty.schema()

    def test_to_dump_as_a_role_that_the_walls_hold(self, filled: TestDatabase, tmp_path: Path) -> None:
        file = tmp_path / "part.dump"
        with pytest.raises(DumpFailed):
            dump(filled.application_url, file, lambda table: None)
        assert list(tmp_path.iterdir()) == []

    def test_to_write_over_a_file(self, filled: TestDatabase, dumped: Path) -> None:
        before = dumped.read_bytes()
        with pytest.raises(DumpFailed, match="exists already"):
            dump(filled.owner_url, dumped, lambda table: None)
        assert dumped.read_bytes() == before

    def test_programs_of_an_older_postgres(
        self, filled: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old = tmp_path / "bin" / "pg_dump"
        old.parent.mkdir()
        old.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 13.1'\n")
        old.chmod(0o755)
        monkeypatch.setenv("PATH", f"{old.parent}:/usr/bin:/bin")
        monkeypatch.setattr("north.db.dumping.SHIPPED_PROGRAMS", tmp_path / "nowhere")
        with pytest.raises(DumpFailed, match=r"pg_dump of Postgres 18 is needed, and there is 13\."):
            dump(filled.owner_url, tmp_path / "file", lambda table: None)


def test_the_commands_say_what_they_did_and_keep_the_file_private(
    filled: TestDatabase, empty: OtherPostgres, tmp_path: Path
) -> None:
    runner, file = CliRunner(), tmp_path / "north.dump"
    made = runner.invoke(app, ["db", "dump", str(file), "--json"], env={"NORTH_OWNER_DATABASE_URL": filled.owner_url})
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout) == {"file": str(file), "bytes": file.stat().st_size}
    assert "dumping agent_memory_candidate" in made.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    environment = {"NORTH_OWNER_DATABASE_URL": empty.url("postgres")}
    filled_again = runner.invoke(app, ["db", "restore", str(file), "--json"], env=environment)
    assert filled_again.exit_code == 0, filled_again.output
    assert set(json.loads(filled_again.stdout)) == {"file", "revision", "head"}
    again = runner.invoke(app, ["db", "restore", str(file)], env=environment)
    assert again.exit_code == 1 and "is not empty" in again.stderr and again.stdout == ""
