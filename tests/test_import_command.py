"""`north import`: a file of this machine becomes a lawyer's memory, and the person at the terminal sees how."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from north.cli import app
from north.memory.backend import Backend
from north.memory.imports import list_imports
from north.model import ImportStatus
from tests.chat.exported import chatgpt_conversation, chatgpt_export
from tests.chat.mining_script import SAID
from tests.commands import NORTH, SECONDS, environment
from tests.conftest import SECRET_KEY, FirmOfTest, TestDatabase
from tests.memory.remembering import count, everything

LIST = "[2025-03-01] - The lawyer lives in Bonn.\n[2025-03-02] - The lawyer has a dog.\n"


@pytest.fixture
def environ(database: TestDatabase) -> dict[str, str]:
    return {
        "NORTH_DATABASE_URL": database.application_url,
        "NORTH_SECRET_KEY": SECRET_KEY,
        "NORTH_EMBEDDER": "none",
        "NORTH_MODEL": "offline",
    }


@pytest.fixture
def export(tmp_path: Path) -> Path:
    path = tmp_path / "conversations.json"
    path.write_bytes(chatgpt_export(chatgpt_conversation("1", SAID), chatgpt_conversation("1", SAID)))
    return path


def north(environ: dict[str, str], *arguments: str, code: int = 0, said: str | bytes | None = None) -> Any:
    result = CliRunner().invoke(app, ["import", *arguments], env=environ, input=said)
    assert result.exit_code == code, result.output
    return result


def test_a_file_is_imported_and_reported_in_words(environ: dict[str, str], export: Path, firm: FirmOfTest) -> None:
    result = north(environ, str(export), "--email", firm.ana.email)
    assert result.stdout == (
        "Finished. 2 conversations and memories: 1 imported, 1 skipped (1 stands there more than once).\n"
        "1 saved as memories.\n"
    )
    assert "Importing" not in result.stderr, "no bar where nobody looks"


def test_a_script_gets_json(environ: dict[str, str], export: Path, firm: FirmOfTest) -> None:
    shown = json.loads(north(environ, str(export), "--email", firm.ana.email, "--json").stdout)
    assert set(shown) == {
        *("id", "status", "progress", "file_name", "created_at", "finished_at", "undone_at", "error", "report")
    }
    assert (shown["status"], shown["progress"], shown["error"], shown["file_name"]) == (
        *("finished", 1, None, "conversations.json"),
    )
    assert shown["report"] == {
        "seen": 2,
        "imported": 1,
        "skipped": {"repeated": 1},
        "failed": [],
        "failed_count": 0,
        "memories": 1,
    }


async def run(arguments: list[str], environ: dict[str, str], given: str = "") -> str:
    """What a command of its own process says."""
    process = await asyncio.create_subprocess_exec(
        *arguments, env=environment(environ), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    said, _ = await asyncio.wait_for(process.communicate(given.encode()), SECONDS)
    return said.decode()


async def test_a_pasted_list_comes_by_standard_input(
    environ: dict[str, str], backend: Backend, database: TestDatabase, firm: FirmOfTest
) -> None:
    arguments = [NORTH, "import", "-", "--email", firm.ana.email, "--json"]
    assert json.loads(await run(arguments, environ, LIST))["report"]["memories"] == 2
    assert set(await everything(backend, firm.a)) == {"The lawyer lives in Bonn.", "The lawyer has a dog."}
    assert count(database, "import_chunk", firm.a) == 0


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"),
    [
        (b"\xff\xd8\xff\xe0", (), "north: North finds no conversations"),
        (b"", (), "The file is empty"),
        (None, (), "cannot be read: No such file"),
        (b"[]", ("--email", "nobody@nowhere.test"), "There is no user nobody@nowhere.test"),
    ],
    ids=["a photograph", "nothing", "no file", "nobody"],
)
def test_what_cannot_be_imported_is_one_sentence(
    environ: dict[str, str],
    tmp_path: Path,
    firm: FirmOfTest,
    content: bytes | None,
    arguments: tuple[str, ...],
    sentence: str,
) -> None:
    path = tmp_path / "file"
    if content is not None:
        path.write_bytes(content)
    result = north(environ, str(path), *(arguments or ("--email", firm.ana.email)), code=1)
    assert sentence in result.output and "Traceback" not in result.output


class Terminal:
    """The command as a person sees it who sits at a terminal."""

    def __init__(self, environ: dict[str, str], *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [NORTH, "import", *arguments],
            env=environment(environ) | {"TERM": "xterm"},
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = ""

    def read(self) -> Iterator[str]:
        """What appears on it, as it appears."""
        while True:
            try:
                more = os.read(self._ours, 1000).decode(errors="replace")
            except OSError:  # its other end is closed
                more = ""
            if not more:
                return
            self.shown += more
            yield self.shown

    def close(self) -> int:
        for _ in self.read():
            pass
        os.close(self._ours)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.wait(SECONDS)


async def test_a_bar_moves_and_stopping_it_says_how_to_go_on(
    environ: dict[str, str], tmp_path: Path, backend: Backend, firm: FirmOfTest
) -> None:
    path = tmp_path / "export.json"
    talks = [chatgpt_conversation(str(n), f"I always cite case {n} first.", "Thanks. " * 4000) for n in range(300)]
    path.write_bytes(chatgpt_export(*talks))
    terminal = Terminal(environ, str(path), "--email", firm.ana.email)
    for shown in terminal.read():
        if len(set(re.findall(r"(\d+)%", shown)) - {"0", "100"}) >= 2:
            break
    os.killpg(terminal.process.pid, signal.SIGINT)
    assert terminal.close() == 130, terminal.shown
    assert "Importing" in terminal.shown and "run the command again" in terminal.shown
    assert "Traceback" not in terminal.shown
    (stopped,) = await list_imports(backend, firm.a)
    assert stopped.status is ImportStatus.CANCELLED and 0 < stopped.report.imported < 300
    arguments = [NORTH, "import", str(path), "--email", firm.ana.email, "--json"]
    report = json.loads(await run(arguments, environ))["report"]
    assert (report["imported"], report["skipped"]) == (
        300 - stopped.report.imported,
        {"already_imported": stopped.report.imported},
    )
    assert stopped.report.memories + report["memories"] == 300
