"""The embedded Postgres starts on a folder, after a crash too, and stops with the last who uses it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import psutil  # type: ignore[import-untyped]  # it ships no types
import psycopg
import pytest
import sqlalchemy

from north.db import embedded_process
from north.db.embedded import EmbeddedServer, embedded, read_credentials, running, start
from tests.db.embedded.conftest import copy, setting
from tests.db.servers import ask, ended

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
