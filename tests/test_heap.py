"""What the libraries bring is loaded once, and looked at by the garbage collector no more."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest
import uvicorn

from north.api.operations import Readiness
from north.commands import serving
from north.commands.heap import collecting_put_off
from north.commands.serving import _Server

LOADED = """
import gc
from north.commands.heap import collecting_put_off, leave_out_what_is_loaded
with collecting_put_off():
    from north.commands import serving
    assert not gc.isenabled()
    leave_out_what_is_loaded()
    assert gc.isenabled()
    print(gc.get_freeze_count(), len(gc.get_objects()))
"""


def test_no_round_looks_at_what_was_loaded(tmp_path: Path) -> None:
    printed = subprocess.run([sys.executable, "-c", LOADED], cwd=tmp_path, capture_output=True, text=True, check=True)
    left_out, looked_at = map(int, printed.stdout.split())
    assert left_out > 100_000
    assert looked_at < 1_000


async def test_a_server_leaves_it_out_before_it_says_that_it_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    monkeypatch.setattr(serving, "leave_out_what_is_loaded", lambda: steps.append("left out"))

    async def app(scope: object, receive: object, send: object) -> None:
        """Nobody asks."""

    config = uvicorn.Config(app, port=0, lifespan="off", log_config=None)
    config.load()
    server = _Server(config, Readiness(), lambda: steps.append("ready"))
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    await server.shutdown()
    assert steps == ["left out", "ready"]


def test_whatever_fails_meanwhile_is_followed_by_collecting() -> None:
    with pytest.raises(LookupError), collecting_put_off():
        raise LookupError
    assert gc.isenabled()
