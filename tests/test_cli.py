"""The `north` command, as the person who types it meets it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import urllib.error
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperArgument, TyperOption
from typer.testing import CliRunner

from north.cli import app
from north.db.embedded_folder import Folder
from north.db.embedded_process import find_postmaster
from tests.commands import NORTH, SECONDS, Running, ask, environment, every_command, free_port, running_north
from tests.db.servers import ready_pid

PLAIN = {"NORTH_MODEL": "offline", "NORTH_EMBEDDER": "none"}


@dataclass
class Up:
    """A running `north up`: its folder, its address and what it printed at the start."""

    north: Running
    data_dir: Path
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def banner(self) -> str:
        return self.north.output

    def memories(self, token: str) -> list[str]:
        _, found = ask("GET", f"{self.address}/api/v1/memories", token)
        return [memory["content"] for memory in found["memories"]]


def started(north: Running) -> Running:
    north.wait_for("Press Ctrl-C to stop.")
    return north


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One machine with everything, in a folder with a space in its name."""
    cwd = tmp_path_factory.mktemp("operator")
    data_dir, port = cwd / "data folder", free_port()
    with running_north("up", "--data-dir", str(data_dir), "--port", str(port), cwd=cwd, **PLAIN) as north:
        yield Up(started(north), data_dir, port)


@pytest.fixture(scope="module")
def token(up: Up, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the command in the banner prints, run as it stands there."""
    (line,) = [line for line in up.banner.splitlines() if "token create" in line]
    command = line.partition("a token for one: ")[2]
    path = f"{Path(NORTH).parent}{os.pathsep}{os.environ['PATH']}"
    cwd = tmp_path_factory.mktemp("elsewhere")
    done = subprocess.run(
        command, shell=True, cwd=cwd, env=environment({"PATH": path}), capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def typed(up: Up, *arguments: str, exit_code: int = 0) -> str:
    """Run a command beside `north up`; return what it says on success, or on failure its one sentence."""
    settings = PLAIN | {"NORTH_NEW_PASSWORD": "a long password"}
    result = CliRunner().invoke(app, [*arguments, "--data-dir", str(up.data_dir)], env=settings)
    assert result.exit_code == exit_code, result.output
    if exit_code:
        assert result.stdout == ""
        assert result.stderr.count("\n") == 1
    return result.stderr if exit_code else result.stdout


def refused(*arguments: str, **settings: str) -> str:
    """Run a command that must fail with one sentence, and return it."""
    result = CliRunner().invoke(app, list(arguments), env=PLAIN | settings)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1
    return result.stderr


class TestUp:
    def test_it_says_where_how_and_with_which_model(self, up: Up) -> None:
        assert f"North is running at {up.address}\n" in up.banner
        for login in ("lawyer-a@demo.test", "lawyer-b@demo.test", "admin@demo.test", "lawyer@rival.test"):
            assert login in up.banner
        assert re.search(r"Password +north-[0-9a-f]{10}\n", up.banner)
        assert f"{up.address}/api/docs" in up.banner
        assert re.search(r"Model +offline: built-in rules\..* set ANTHROPIC_API_KEY", up.banner)
        assert str(up.data_dir) in up.banner

    def test_the_token_that_it_offers_works(self, up: Up, token: str) -> None:
        fact = {"content": "I always want citations in Bluebook form.", "type": "preference", "scope": "user_private"}
        status, saved = ask("POST", f"{up.address}/api/v1/memories", token, fact)
        assert (status, saved["outcome"]) == (201, "saved")
        assert fact["content"] in up.memories(token)

    def test_when_its_postgres_is_killed_it_answers_again_within_ten_seconds(self, up: Up, token: str) -> None:
        known, killed, until = up.memories(token), ready_pid(up.data_dir), time.monotonic() + 10
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        while ready_pid(up.data_dir) in (None, killed) or ask("GET", f"{up.address}/api/v1/memories", token)[0] != 200:
            assert time.monotonic() < until
        assert up.memories(token) == known

    def test_a_head_without_measure_is_refused(self, up: Up, token: str) -> None:
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask("GET", f"{up.address}/healthz", token + "a" * 70_000)
        assert refused.value.code == 431
        assert json.load(refused.value)["code"] == "head_too_large"

    def test_two_folders_run_side_by_side_and_share_nothing(self, up: Up, token: str, tmp_path: Path) -> None:
        port = free_port()
        arguments = ("up", "--data-dir", str(tmp_path / "other"), "--port", str(port))
        with running_north(*arguments, cwd=tmp_path, **PLAIN) as north:
            other = Up(started(north), tmp_path / "other", port)
            with pytest.raises(Exception, match="401"):  # a token of the first is nobody in the second
                other.memories(token)
            assert ask("GET", f"{up.address}/readyz") == ask("GET", f"{other.address}/readyz")
            assert north.stop(signal.SIGTERM) == 0
        assert "Traceback" not in north.output
        assert find_postmaster(Folder(tmp_path / "other").postgres) is None

    def test_a_port_in_use_is_one_sentence_and_nothing_is_made(self, up: Up, tmp_path: Path) -> None:
        sentence = refused("up", "--data-dir", str(tmp_path / "other"), "--port", str(up.port))
        assert sentence == (
            f"north: Port {up.port} is already in use. Stop what uses it, or choose another with --port.\n"
        )
        assert not (tmp_path / "other").exists()

    def test_the_doctor_finds_it_well(self, up: Up) -> None:
        findings = json.loads(typed(up, "doctor", "--port", str(up.port), "--json"))
        assert all(finding["fine"] for finding in findings)
        assert {"name": "Port", "fine": True, "message": f"{up.port}: North answers there"} in findings


class TestSettingUpAFirm:
    def test_each_command_prints_what_it_made(self, up: Up) -> None:
        assert typed(up, "firm", "create", "harbor", "--name", "Harbor Law") == "Created firm harbor.\n"
        person = ("ada@harbor.test", "--firm", "harbor", "--name", "Ada Marlowe")
        assert typed(up, "user", "add", *person) == "Added ada@harbor.test to harbor.\n"
        matter = ("HV-7", "--firm", "harbor", "--name", "Harbor v. Vance")
        assert typed(up, "matter", "add", *matter) == "Added matter HV-7 to harbor.\n"
        secret = typed(up, "token", "create", "--firm", "harbor", "--user", "ada@harbor.test").strip()
        assert ask("GET", f"{up.address}/api/v1/matters", secret)[1]["matters"][0]["number"] == "HV-7"

    def test_each_command_prints_json_for_scripts(self, up: Up) -> None:
        def values(*arguments: str) -> Any:
            return json.loads(typed(up, *arguments, "--json"))

        assert values("firm", "create", "quay").keys() == {"firm", "id"}
        assert values("user", "add", "q@quay.test", "--firm", "quay", "--name", "Q").keys() == {"user", "id", "firm"}
        assert values("matter", "add", "Q-1", "--firm", "quay", "--name", "Q").keys() == {"matter", "id", "firm"}
        assert values("token", "create", "--firm", "quay", "--user", "q@quay.test").keys() == {"token"}
        assert values("db", "status")["current"] is True
        assert values("db", "migrate").keys() == {"revision", "head"}

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (("firm", "create", "demo"), "There is already a firm like that: demo."),
            (("firm", "create", "Not A Slug"), "a firm's short name has lower-case letters"),
            (("user", "add", "a@b.test", "--firm", "nobody", "--name", "A"), "There is no firm nobody. Create it with"),
            (
                ("user", "add", "lawyer-a@demo.test", "--firm", "demo", "--name", "A"),
                "There is already a user like that",
            ),
            (("user", "add", "not an address", "--firm", "demo", "--name", "A"), "this is not an e-mail address"),
            (("matter", "add", "X-1", "--firm", "nobody", "--name", "X"), "There is no firm nobody."),
            (("matter", "add", "HV-1001", "--firm", "demo", "--name", "X"), "There is already a matter like that"),
            (("token", "create", "--firm", "nobody", "--user", "lawyer-a@demo.test"), "There is no firm nobody."),
            (
                ("token", "create", "--firm", "demo", "--user", "no@demo.test"),
                "There is no user no@demo.test. Add them",
            ),
            (
                ("token", "create", "--firm", "demo", "--user", "lawyer@rival.test"),
                "There is no user lawyer@rival.test.",
            ),
        ],
    )
    def test_a_mistake_is_one_sentence(self, up: Up, arguments: tuple[str, ...], sentence: str) -> None:
        assert typed(up, *arguments, exit_code=1).startswith("north: ")
        assert sentence in typed(up, *arguments, exit_code=1)


class TestStoppingAndStarting:
    """The last in this file, for it stops what the others share."""

    def test_nothing_is_left_running_and_nothing_is_lost(self, up: Up, token: str, tmp_path: Path) -> None:
        fact = {"content": "My assistant is called Robin.", "type": "fact", "scope": "user_private"}
        ask("POST", f"{up.address}/api/v1/memories", token, fact)
        postgres = Folder(up.data_dir).postgres

        began = time.monotonic()
        assert up.north.stop(signal.SIGINT) == 0
        assert time.monotonic() - began < 15, "it should stop at once: there was nothing to drain"
        assert "Traceback" not in up.north.output
        assert find_postmaster(postgres) is None

        with self.again(up, tmp_path) as north:
            assert fact["content"] in up.memories(token)
            assert self.password(north) == self.password(up.north)
            north.process.kill()  # a power cut, but for the database
            north.process.wait()
        assert find_postmaster(postgres) is not None

        with self.again(up, tmp_path) as north:
            assert fact["content"] in up.memories(token)
            assert north.stop(signal.SIGTERM) == 0
        assert "Traceback" not in north.output
        assert find_postmaster(postgres) is None

    def test_a_start_that_is_cut_short_leaves_nothing_running(self, tmp_path: Path) -> None:
        postgres = Folder(tmp_path / "data").postgres
        arguments = ("up", "--data-dir", str(tmp_path / "data"), "--port", str(free_port()))
        with running_north(*arguments, cwd=tmp_path, **PLAIN) as north:
            while (found := find_postmaster(postgres)) is None or not found.ready:
                assert north.process.poll() is None, north.output
                time.sleep(0.01)  # nothing tells of it but the server itself
            north.stop(signal.SIGTERM)
        assert "Traceback" not in north.output
        assert find_postmaster(postgres) is None

    @staticmethod
    def password(north: Running) -> str:
        found = re.search(r"Password +(\S+)", north.output)
        assert found is not None
        return found[1]

    @staticmethod
    @contextmanager
    def again(up: Up, cwd: Path) -> Iterator[Running]:
        began = time.monotonic()
        with running_north("up", "--data-dir", str(up.data_dir), "--port", str(up.port), cwd=cwd, **PLAIN) as north:
            started(north)
            print(f"`north up` answered after {time.monotonic() - began:.1f} s")
            yield north


class TestBeforeAnythingStarts:
    def test_a_file_in_the_way_of_the_data_folder_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "data").write_text("")
        for command in (("up", "--port", str(free_port())), ("firm", "create", "harbor"), ("db", "status")):
            sentence = refused(*command, "--data-dir", str(tmp_path / "data"))
            assert "is a file in the way. Move it, or choose another folder with --data-dir." in sentence

    def test_up_brings_its_own_postgres(self) -> None:
        sentence = refused("up", NORTH_DATABASE_URL="postgresql://north_app@127.0.0.1/north")
        assert "with NORTH_DATABASE_URL use `north serve`" in sentence

    def test_a_configured_database_needs_its_secret_key(self) -> None:
        sentence = refused("firm", "create", "harbor", NORTH_DATABASE_URL="postgresql://north_app@127.0.0.1/north")
        assert "NORTH_SECRET_KEY must be set too" in sentence

    def test_a_host_that_is_not_of_this_machine_is_named(self, tmp_path: Path) -> None:
        sentence = refused("up", "--host", "192.0.2.1", "--data-dir", str(tmp_path / "data"))
        assert "cannot listen on 192.0.2.1 port 8400" in sentence

    def test_a_setting_that_cannot_be_used_is_named_and_its_value_is_not_shown(self) -> None:
        assert "NORTH_PORT: Input should be less than" in refused("doctor", NORTH_PORT="840000")
        assert "sesame" not in refused("doctor", NORTH_PORT="sesame")


COMMANDS = every_command()


class TestHelp:
    @pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
    def test_every_command_and_every_option_explains_itself(self, path: tuple[str, ...]) -> None:
        result = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "200"})
        assert result.exit_code == 0
        assert COMMANDS[path].help
        for parameter in COMMANDS[path].params:
            assert isinstance(parameter, TyperOption | TyperArgument)
            assert parameter.help, f"{parameter.name} has no help"

    @pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
    def test_every_command_finds_the_data_folder(self, path: tuple[str, ...]) -> None:
        assert "data_dir" in {parameter.name for parameter in COMMANDS[path].params}

    def test_the_first_page_says_where_to_start(self) -> None:
        result = CliRunner().invoke(app, [])
        assert "Start with `north up`." in result.output
        for first in {path[0] for path in COMMANDS}:
            assert first in result.output
