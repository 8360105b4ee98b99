"""North on a Postgres that it did not start, over TCP and with passwords."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

from north.cli import app
from north.db.migrate import migrate, schema_state
from north.db.postgres_fixes import missing_fixes
from north.errors import DatabaseNotReady, DatabaseUnavailable
from tests.commands import ask, free_port, run_north, running_north
from tests.db.other_postgres import PASSWORD, OtherPostgres, other_postgres, quoted

SECRET_KEY = "a key for tests, and for nothing but tests"
APP_PASSWORD, SWEEP_PASSWORD = "north app's: 100%/@", "the sweep's"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OtherPostgres]:
    with other_postgres(tmp_path_factory.mktemp("other")) as server:
        yield server


@pytest.fixture
def postgres(server: OtherPostgres) -> OtherPostgres:
    """The server with nothing of North's in it."""
    server.empty()
    return server


def settings_for(postgres: OtherPostgres, owner: str = "postgres") -> dict[str, str]:
    return {
        "NORTH_OWNER_DATABASE_URL": postgres.url(owner),
        "NORTH_DATABASE_URL": postgres.url("north_app", APP_PASSWORD),
        "NORTH_SCHEDULER_DATABASE_URL": postgres.url("scheduler_role", SWEEP_PASSWORD),
        "NORTH_SECRET_KEY": SECRET_KEY,
        "NORTH_MODEL": "offline",
    }


def prepare(postgres: OtherPostgres, owner: str = "postgres") -> None:
    migrate(postgres.url(owner), application_password=APP_PASSWORD, scheduler_password=SWEEP_PASSWORD)


def refused(*arguments: str, settings: dict[str, str]) -> str:
    """Run a command that must fail with one sentence, and return it."""
    result = CliRunner().invoke(app, list(arguments), env=settings)
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    return result.stderr


class TestPreparing:
    def test_the_command_prepares_roles_passwords_and_schema(self, postgres: OtherPostgres, tmp_path: Path) -> None:
        done = run_north("db", "migrate", "--json", cwd=tmp_path, **settings_for(postgres))

        assert done.returncode == 0, done.stderr
        state = json.loads(done.stdout)
        assert state["revision"] == state["head"]
        with psycopg.connect(postgres.url("north_app", APP_PASSWORD)) as connection:
            assert connection.execute("select count(*) from agent_memory_candidate").fetchone() == (0,)
        with psycopg.connect(postgres.url("scheduler_role", SWEEP_PASSWORD)) as connection:
            assert connection.execute("select current_user").fetchone() == ("scheduler_role",)

    def test_preparing_again_changes_nothing(self, postgres: OtherPostgres) -> None:
        prepare(postgres)
        first = postgres.schema()
        prepare(postgres)
        assert postgres.schema() == first
        assert "CREATE POLICY" in first

    def test_preparing_again_sets_a_new_password(self, postgres: OtherPostgres) -> None:
        prepare(postgres)
        migrate(postgres.url("postgres"), application_password="rotated", scheduler_password=None)
        assert schema_state(postgres.url("north_app", "rotated")).current
        assert schema_state(postgres.url("scheduler_role", SWEEP_PASSWORD)).current

    def test_two_at_once_are_one_after_the_other(self, postgres: OtherPostgres) -> None:
        failures: list[Exception] = []

        def prepare_or_note() -> None:
            try:
                prepare(postgres)
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=prepare_or_note) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []

    def test_an_owner_who_may_create_roles_needs_no_superuser(self, postgres: OtherPostgres) -> None:
        postgres.run(
            f"create role firm_it login createrole password {quoted(PASSWORD)}",
            "alter database firm owner to firm_it",
            "create extension vector",
        )
        prepare(postgres, owner="firm_it")
        prepare(postgres, owner="firm_it")
        assert schema_state(postgres.url("north_app", APP_PASSWORD)).current

    def test_a_member_of_roles_that_an_administrator_made_needs_no_other_right(self, postgres: OtherPostgres) -> None:
        postgres.run(
            "create extension vector",
            "create role north_owner nologin",
            f"create role north_app login password {quoted(APP_PASSWORD)}",
            f"create role scheduler_role login password {quoted(SWEEP_PASSWORD)}",
            f"create role firm_it login password {quoted(PASSWORD)}",
            "grant north_owner to firm_it",
            "grant create on schema public to north_owner",
        )
        prepare(postgres, owner="firm_it")
        assert schema_state(postgres.url("north_app", APP_PASSWORD)).current


class TestRefusing:
    def test_a_role_without_rights_is_told_which(self, postgres: OtherPostgres) -> None:
        postgres.run(f"create role firm_it login password {quoted(PASSWORD)}", "create extension vector")
        with pytest.raises(
            DatabaseNotReady, match=r"permission denied to create role.* grant north_owner to this role"
        ):
            prepare(postgres, owner="firm_it")

    def test_a_server_without_pgvector_is_told_to_install_it(self, postgres: OtherPostgres) -> None:
        postgres.run("alter database firm set extension_control_path = '/nowhere'")
        with pytest.raises(DatabaseNotReady, match=r"Install pgvector 0\.8 or newer on the server"):
            prepare(postgres)

    def test_a_role_that_may_not_create_the_extension_is_told_who_may(self, postgres: OtherPostgres) -> None:
        postgres.run(f"create role firm_it login createrole password {quoted(PASSWORD)}")
        with pytest.raises(DatabaseNotReady, match="`create extension vector` in this database as an administrator"):
            prepare(postgres, owner="firm_it")

    @pytest.mark.parametrize("command", [("db", "migrate"), ("serve", "--port", "0"), ("worker",)])
    def test_a_database_of_a_newer_north_is_left_alone(self, postgres: OtherPostgres, command: tuple[str, ...]) -> None:
        prepare(postgres)
        postgres.run("update alembic_version set version_num = '9999'")
        settings = settings_for(postgres)
        arguments = [str(free_port()) if argument == "0" else argument for argument in command]

        assert "prepared by a newer North (9999;" in refused(*arguments, settings=settings)
        assert schema_state(postgres.url("postgres")).revision == "9999"

    def test_an_empty_database_is_not_served(self, postgres: OtherPostgres) -> None:
        settings = settings_for(postgres) | {"NORTH_DATABASE_URL": postgres.url("postgres")}
        assert "Run `north db migrate`" in refused("serve", "--port", str(free_port()), settings=settings)

    def test_an_administrator_s_url_is_not_served(self, postgres: OtherPostgres) -> None:
        prepare(postgres)
        settings = settings_for(postgres) | {"NORTH_DATABASE_URL": postgres.url("postgres")}
        sentence = refused("serve", "--port", str(free_port()), settings=settings)
        assert "the role postgres bypasses row-level security; connect as north_app" in sentence

    def test_a_wrong_password_is_named_as_the_reason_and_not_shown(self, postgres: OtherPostgres) -> None:
        with pytest.raises(DatabaseUnavailable, match='password authentication failed for user "postgres"') as caught:
            migrate(postgres.url("postgres", "sesame"), application_password=None, scheduler_password=None)
        assert "sesame" not in str(caught.value)

    def test_a_url_that_cannot_be_read_is_not_quoted(self) -> None:
        settings = {"NORTH_OWNER_DATABASE_URL": "postgres//owner:sesame@127.0.0.1/firm"}
        sentence = refused("db", "migrate", settings=settings)
        assert "NORTH_OWNER_DATABASE_URL cannot be read" in sentence
        assert "sesame" not in sentence

    def test_migrating_needs_an_owner(self, postgres: OtherPostgres) -> None:
        settings = settings_for(postgres)
        del settings["NORTH_OWNER_DATABASE_URL"]
        assert "NORTH_OWNER_DATABASE_URL is not set" in refused("db", "migrate", settings=settings)


class TestServing:
    def test_the_server_and_the_worker_run_as_north_app(self, postgres: OtherPostgres, tmp_path: Path) -> None:
        prepare(postgres)
        settings = settings_for(postgres)
        del settings["NORTH_OWNER_DATABASE_URL"]  # the servers need no owner
        port = free_port()
        address = f"http://127.0.0.1:{port}"

        def north(*arguments: str) -> str:
            done = CliRunner().invoke(app, list(arguments), env=settings | {"NORTH_NEW_PASSWORD": "a long password"})
            assert done.exit_code == 0, done.stderr
            return done.stdout

        with (
            running_north("serve", "--port", str(port), cwd=tmp_path, **settings) as server,
            running_north("worker", cwd=tmp_path, **settings) as worker,
        ):
            north("firm", "create", "harbor")
            north("user", "add", "ada@harbor.test", "--firm", "harbor", "--name", "Ada Marlowe")
            token = north("token", "create", "--firm", "harbor", "--user", "ada@harbor.test").strip()
            server.wait_for(f"North is serving at {address}")
            worker.wait_for("The worker is running")
            assert ask("GET", f"{address}/readyz") == (200, {"status": "ready"})

            fact = {"content": "The client is a Delaware LLC.", "type": "fact", "scope": "user_private"}
            status, saved = ask("POST", f"{address}/api/v1/memories", token, fact)
            assert (status, saved["outcome"]) == (201, "saved")
            _, recalled = ask("POST", f"{address}/api/v1/recall", token, {"query": "What kind of client?"})
            assert [memory["content"] for memory in recalled["personal"]] == [fact["content"]]

            doctor = run_north("doctor", "--json", "--port", str(port), cwd=tmp_path, **settings)
            assert server.stop(signal.SIGTERM) == 0, server.output
            assert worker.stop(signal.SIGTERM) == 0, worker.output
        assert "Traceback" not in server.output + worker.output
        findings = {finding["name"]: finding for finding in json.loads(doctor.stdout)}
        assert [name for name in findings if not findings[name]["fine"]] == self.outdated(postgres)
        assert "North answers there" in findings["Port"]["message"]

    def outdated(self, postgres: OtherPostgres) -> list[str]:
        """What the doctor must find in the Postgres of the tests, which may lag behind."""
        with psycopg.connect(postgres.url("postgres")) as connection:
            return ["Postgres"] if missing_fixes(connection.info.server_version) else []
