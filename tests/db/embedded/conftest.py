"""Data folders with a database in them, and a server on one."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from north.db.embedded import EmbeddedServer, start
from tests.db.servers import ask

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has to give up being root")


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
