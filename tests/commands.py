"""Runs the `north` command as a person does: a process of its own, with an environment that a test chooses."""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from north.cli import app

NORTH = str(Path(sys.executable).with_name("north"))
SECONDS = 60.0


def environment(settings: Mapping[str, str]) -> dict[str, str]:
    """What a shell has, and the settings; nothing of what the tests' own environment sets."""
    return (
        {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {"COLUMNS": "200"} | {**settings}
    )


def run_north(*arguments: str, cwd: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in a folder without a `.env`."""
    return subprocess.run(
        [NORTH, *arguments], cwd=cwd, env=environment(settings), capture_output=True, text=True, timeout=SECONDS
    )


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port


class Running:
    """A command that runs until it is stopped, and what it has printed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.output = ""
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put(None)

    def wait_for(self, text: str) -> str:
        """Wait until `text` was printed; fails with the whole output when the command ends before that."""
        deadline = time.monotonic() + SECONDS
        while text not in self.output:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                line = None
            assert line is not None, f"{text!r} was never printed, but:\n{self.output}"
            self.output += line
        return self.output

    def stop(self, how: signal.Signals) -> int:
        """Signal the command's whole group, as a terminal does, and return its exit code."""
        os.killpg(self.process.pid, how)
        code = self.process.wait(SECONDS)
        self._reader.join()
        while (line := self._lines.get()) is not None:
            self.output += line
        return code


@contextmanager
def running_north(*arguments: str, cwd: Path, **settings: str) -> Iterator[Running]:
    """Start a command that runs until the end of the block, or until it is stopped before."""
    process = subprocess.Popen(
        [NORTH, *arguments],
        cwd=cwd,
        env=environment(settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    running = Running(process)
    try:
        yield running
    finally:
        if process.poll() is None:
            running.stop(signal.SIGTERM)


def ask(method: str, url: str, token: str | None = None, body: object = None) -> tuple[int, Any]:
    """Make a request with JSON and return the status and the answer."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        return answer.status, json.loads(answer.read())


def every_command() -> dict[tuple[str, ...], TyperCommand]:
    """Every command by the words that call it."""
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    return dict(_commands_in(root, ()))


def _commands_in(group: TyperGroup, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], TyperCommand]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from _commands_in(command, (*path, name))
        else:
            assert isinstance(command, TyperCommand)
            yield (*path, name), command
