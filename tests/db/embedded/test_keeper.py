"""A server of a data folder that dies while it is needed comes back, with what it had acknowledged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from north.db import embedded_keeper
from north.db.embedded import EmbeddedServer, embedded
from north.db.embedded_folder import Folder
from north.db.embedded_keeper import kept_running
from tests.db.servers import ask, ended, ready_pid

SECONDS = 10.0
ANOTHER = """
import sys
from pathlib import Path
from north.db.embedded import embedded
from north.db.embedded_keeper import kept_running
with embedded(Path(sys.argv[1])) as server, kept_running(server):
    print(server.pid, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_keeper, "LOOK_SECONDS", 0.05)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[EmbeddedServer]:
    with embedded(tmp_path / "data") as server, kept_running(server):
        yield server


def kill(server: EmbeddedServer) -> int:
    """Kill whichever server runs; its process id."""
    pid = ready_pid(server.data_dir)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    return pid


def waited_for(what: Callable[[], object]) -> object:
    until = time.monotonic() + SECONDS
    while not (found := what()):
        assert time.monotonic() < until, "it never came"
        time.sleep(0.02)
    return found


def back(server: EmbeddedServer, killed: int) -> int:
    """The process id of the server that came after the one that was killed."""
    waited_for(lambda: ready_pid(server.data_dir) not in (None, killed))
    pid = ready_pid(server.data_dir)
    assert pid is not None
    return pid


def seen_to_answer(logs: list[EventDict], times: int) -> None:
    """Wait until whoever starts it has said so often that it runs again: a kill before that is a start that failed."""
    waited_for(lambda: len(logs) >= times)


def test_one_that_is_killed_again_and_again_comes_back_with_all_that_it_had_acknowledged(tmp_path: Path) -> None:
    with capture_logs() as logs, embedded(tmp_path / "data") as server, kept_running(server):
        for number in range(3):
            with psycopg.connect(server.superuser_url(), autocommit=True) as connection:
                connection.execute("create table if not exists kept (number int)")
                connection.execute("insert into kept values (%s)", (number,))
            last = back(server, kill(server))
            assert ask(server, "select count(*) from kept") == number + 1
            seen_to_answer(logs, number + 1)
    assert ended(last), "it ends with the last who needs it"
    assert [entry["event"] for entry in logs] == ["embedded_postgres_started_again"] * 3


def test_two_who_keep_it_start_one_and_it_lives_as_long_as_either_needs_it(kept: EmbeddedServer) -> None:
    command = [sys.executable, "-c", ANOTHER, str(kept.data_dir)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as other:
        assert other.stdout is not None and other.stdin is not None
        assert other.stdout.readline() == f"{kept.pid}\n".encode()
        pid = back(kept, kill(kept))
        assert ask(kept, "select 1") == 1
        other.stdin.close()
        assert other.wait(SECONDS) == 0
    assert ask(kept, "select 1") == 1 and ready_pid(kept.data_dir) == pid


def test_one_that_does_not_start_is_tried_again_and_the_log_says_why(kept: EmbeddedServer) -> None:
    control = Folder(kept.data_dir).postgres / "global" / "pg_control"
    with capture_logs() as logs:
        control.rename(control.with_name("away"))
        killed = kill(kept)
        waited_for(lambda: [entry for entry in logs if entry["event"] == "embedded_postgres_not_started"])
        control.with_name("away").rename(control)
        back(kept, killed)
    failed = next(entry for entry in logs if entry["event"] == "embedded_postgres_not_started")
    assert failed["code"] == "data_folder_unusable" and "pg_control" in failed["reason"]


def test_one_that_lives_is_left_alone(kept: EmbeddedServer) -> None:
    with capture_logs() as logs:
        assert ask(kept, "select pg_sleep(1)") is not None
    assert ready_pid(kept.data_dir) == kept.pid and logs == []
