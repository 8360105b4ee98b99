"""`north doctor`: what is fine says so, and what is not says what to do."""

from __future__ import annotations

import json
import shutil
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from north.cli import app
from north.connectors import minilm
from north.db.embedded import EmbeddedServer
from north.db.postgres_fixes import FIXES, missing_fixes
from north.doctor import Finding, diagnose
from north.settings import Settings
from tests.commands import free_port
from tests.conftest import SECRET_KEY, TestDatabase


def settings_for(database: TestDatabase, **others: object) -> Settings:
    url = SecretStr(database.application_url)
    given = {"database_url": url, "secret_key": SecretStr(SECRET_KEY), "model": "offline", "embedder": "none"}
    return Settings(**given | {"port": free_port()} | others)  # type: ignore[arg-type] # as given


def found(settings: Settings) -> dict[str, Finding]:
    return {finding.name: finding for finding in diagnose(settings)}


def broken_by(database: TestDatabase, *statements: str) -> dict[str, Finding]:
    """What the doctor finds after an administrator has run these statements."""
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())
    return found(settings_for(database))


class TestADatabase:
    def test_a_sound_one_is_fine_but_for_its_age(self, fresh_database: TestDatabase) -> None:
        findings = found(settings_for(fresh_database))
        with psycopg.connect(fresh_database.superuser_url) as connection:
            outdated = ["Postgres"] if missing_fixes(connection.info.server_version) else []
        assert [name for name, finding in findings.items() if not finding.fine] == outdated
        assert list(findings) == [
            *("Versions", "Postgres", "pgvector", "Roles", "Row-level security", "Isolation canary", "Schema"),
            *("Jobs", "Secret key", "Embedder", "Model", "Port"),
        ]

    def test_a_table_without_forced_row_security_is_named(self, fresh_database: TestDatabase) -> None:
        findings = broken_by(fresh_database, "alter table matter no force row level security")
        assert not findings["Row-level security"].fine
        assert " matter." in findings["Row-level security"].message
        assert not findings["Isolation canary"].fine

    def test_a_policy_that_opens_a_table_is_found_by_trying(self, fresh_database: TestDatabase) -> None:
        findings = broken_by(
            fresh_database,
            "create policy open on organization using (true)",
            "insert into organization (organization_id, slug, name) values (gen_random_uuid(), 'a', 'A')",
        )
        assert findings["Row-level security"].fine
        assert findings["Isolation canary"].message == "a transaction bound to no firm sees rows of another."

    def test_rights_beyond_a_role_s_work_are_found(self, fresh_database: TestDatabase) -> None:
        findings = broken_by(
            fresh_database,
            "grant truncate on matter to north_app",
            "create table scratch (organization_id uuid); alter table scratch owner to scheduler_role",
        )
        assert findings["Roles"].message == (
            "north_app can TRUNCATE: run `revoke truncate on all tables in schema public from north_app`; "
            "scheduler_role owns tables: run `reassign owned by scheduler_role to north_owner`; "
            "scheduler_role can TRUNCATE: run `revoke truncate on all tables in schema public from scheduler_role`."
        )

    def test_an_administrator_s_url_is_refused(self, fresh_database: TestDatabase) -> None:
        settings = settings_for(fresh_database, database_url=SecretStr(fresh_database.superuser_url))
        assert "bypasses row-level security; connect as north_app" in found(settings)["Isolation canary"].message

    def test_an_older_schema_is_to_be_migrated(self, fresh_database: TestDatabase) -> None:
        findings = broken_by(fresh_database, "update alembic_version set version_num = '0000'")
        assert findings["Schema"].message.endswith("Run `north db migrate`.")

    def test_a_newer_schema_needs_a_newer_north(self, fresh_database: TestDatabase) -> None:
        findings = broken_by(fresh_database, "update alembic_version set version_num = '9999'")
        assert "prepared by a newer North (9999" in findings["Schema"].message

    def test_an_empty_one_is_to_be_migrated(self, embedded_server: EmbeddedServer) -> None:
        settings = Settings(database_url=SecretStr(embedded_server.superuser_url()), embedder="none", model="offline")
        findings = found(settings)
        assert findings["Schema"].message == "it has no tables of North's yet. Run `north db migrate`."
        assert findings["pgvector"].message == "the extension is missing. Run `north db migrate`."
        assert "Isolation canary" not in findings

    def test_one_that_is_away_is_one_finding(self) -> None:
        url = f"postgresql://north_app:sesame@127.0.0.1:{free_port()}/north"
        (database,) = [
            finding for finding in diagnose(Settings(database_url=SecretStr(url))) if "atabase" in str(finding)
        ]
        assert database.name == "Database"
        assert "Connection refused" in database.message
        assert "sesame" not in database.message

    def test_a_url_that_cannot_be_read_is_not_quoted(self) -> None:
        database = found(Settings(database_url=SecretStr("postgres//north_app:sesame@host/north")))["Database"]
        assert "NORTH_DATABASE_URL cannot be read" in database.message
        assert "sesame" not in database.message


class TestPostgresFixes:
    @pytest.mark.parametrize(
        ("version", "missing"),
        [(160004, 3), (160014, 1), (160015, 0), (170010, 1), (170011, 0), (180000, 1), (180006, 0), (190000, 0)],
    )
    def test_a_minor_release_lacks_what_came_after_it(self, version: int, missing: int) -> None:
        assert len(missing_fixes(version)) == missing
        assert all(fix.fixed_in(version).startswith(f"{version // 10_000}.") for fix in missing_fixes(version))

    def test_every_fix_names_its_source(self) -> None:
        assert all(fix.cve.startswith("CVE-") for fix in FIXES)

    def test_north_has_no_policy_of_the_kinds_that_they_concern(self, database: TestDatabase) -> None:
        """The doctor says so where the server is North's own."""
        with psycopg.connect(database.superuser_url) as connection:
            for_roles = connection.execute("select count(*) from pg_policy where polroles <> '{0}'").fetchone()
            inherited = connection.execute("select count(*) from pg_inherits i join pg_policy p on polrelid = inhrelid")
            assert (for_roles, inherited.fetchone()) == ((0,), (0,))


class TestADataFolder:
    def test_one_that_does_not_exist_is_fine_and_is_not_made(self, tmp_path: Path) -> None:
        folder = tmp_path / "not yet"
        findings = found(Settings(data_dir=folder, model="offline", embedder="none", port=free_port()))
        assert findings["Data folder"].message == f"{folder} will be created by `north up`"
        assert all(finding.fine for finding in findings.values())
        assert not folder.exists()

    def test_a_file_in_the_way_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "data").write_text("")
        finding = found(Settings(data_dir=tmp_path / "data"))["Data folder"]
        assert not finding.fine
        assert "is a file in the way" in finding.message

    def test_one_whose_passwords_are_lost_says_what_to_do(self, tmp_path: Path) -> None:
        (tmp_path / "postgres").mkdir()
        (tmp_path / "postgres" / "PG_VERSION").write_text("18\n")
        finding = found(Settings(data_dir=tmp_path))["Data folder"]
        assert "Put it back from a backup" in finding.message

    def test_a_running_server_is_joined_and_changed_in_nothing(self, embedded_server: EmbeddedServer) -> None:
        """The database `north` is not in it yet, and is not made."""
        finding = found(Settings(data_dir=embedded_server.data_dir))["Data folder"]
        assert 'database "north" does not exist' in finding.message

    def test_a_full_disk_is_a_finding(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=5 * 10**8))
        finding = found(Settings(data_dir=tmp_path / "not yet"))["Disk"]
        assert "only 0.5 GB are free" in finding.message


class TestTheRest:
    @pytest.fixture
    def settings(self, tmp_path: Path) -> Callable[..., Settings]:
        def make(**given: object) -> Settings:
            defaults = {"data_dir": tmp_path / "none", "model": "offline", "embedder": "none", "port": free_port()}
            return Settings(**defaults | given)  # type: ignore[arg-type] # as given

        return make

    def test_the_local_embedder_s_files_are_checked(
        self, settings: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert found(settings(embedder="local"))["Embedder"].fine
        monkeypatch.setattr(minilm, "MODEL_SHA256", "0" * 64)
        finding = found(settings(embedder="local"))["Embedder"]
        assert "is not the one that North was built with" in finding.message

    def test_a_remote_embedder_needs_its_key(
        self, settings: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        name = "openai:text-embedding-3-small"
        assert "OPENAI_API_KEY" in found(settings(embedder=name))["Embedder"].message
        monkeypatch.setenv("OPENAI_API_KEY", "sesame")
        finding = found(settings(embedder=name))["Embedder"]
        assert finding.fine
        assert "sesame" not in finding.message

    def test_an_embedder_s_name_must_parse(self, settings: Callable[..., Settings]) -> None:
        assert "Write `local`, `none`" in found(settings(embedder="minilm"))["Embedder"].message

    def test_a_model_needs_its_key(self, settings: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        findings = found(settings(model="openai:gpt-5", miner_model="nobody:nothing"))
        assert "OPENAI_API_KEY" in findings["Model"].message
        assert "the model `nobody:nothing` cannot be used" in findings["Miner model"].message

    def test_a_model_with_a_key_is_not_called(self, settings: Callable[..., Settings]) -> None:
        finding = found(settings(model=None, anthropic_api_key=SecretStr("sesame")))["Model"]
        assert (finding.fine, finding.message) == (True, "anthropic:claude-sonnet-5-5; it was not called")

    @pytest.mark.parametrize(("key", "said"), [(None, "set NORTH_SECRET_KEY to 32"), ("short", "is too short")])
    def test_a_secret_key_is_there_and_long(self, key: str | None, said: str, database: TestDatabase) -> None:
        settings = settings_for(database, secret_key=SecretStr(key) if key else None)
        assert said in found(settings)["Secret key"].message

    def test_a_port_in_use_by_another_program_is_a_finding(self, settings: Callable[..., Settings]) -> None:
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            other.settimeout(10)
            threading.Thread(target=lambda: other.accept()[0].close()).start()
            finding = found(settings(port=other.getsockname()[1]))["Port"]
        assert "already in use" in finding.message

    def test_a_port_in_use_by_north_is_fine(self, settings: Callable[..., Settings]) -> None:
        class Healthy(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200 if self.path == "/healthz" else 404)
                self.end_headers()
                self.wfile.write(b'{"status": "up"}')

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        with HTTPServer(("127.0.0.1", 0), Healthy) as server:
            threading.Thread(target=server.handle_request).start()
            finding = found(settings(port=server.server_port))["Port"]
        assert (finding.fine, finding.message) == (True, f"{server.server_port}: North answers there")


class TestTheCommand:
    def test_it_prints_one_line_each_and_fails_when_there_is_something_to_do(self, tmp_path: Path) -> None:
        (tmp_path / "data").write_text("")
        arguments = ["doctor", "--data-dir", str(tmp_path / "data"), "--port", str(free_port())]
        result = CliRunner().invoke(app, arguments, env={"NORTH_MODEL": "offline", "NORTH_EMBEDDER": "none"})
        assert result.exit_code == 1
        assert [line.split()[0] for line in result.stdout.splitlines()] == [
            "fine",
            "fix",
            "fine",
            "fine",
            "fine",
            "fine",
        ]

    def test_it_prints_json_for_scripts(self, tmp_path: Path) -> None:
        arguments = ["doctor", "--data-dir", str(tmp_path / "none"), "--port", str(free_port()), "--json"]
        result = CliRunner().invoke(app, arguments, env={"NORTH_MODEL": "offline", "NORTH_EMBEDDER": "none"})
        assert result.exit_code == 0
        assert {"name": "Embedder", "fine": True, "message": "none: memories are found by their words alone"} in (
            json.loads(result.stdout)
        )
