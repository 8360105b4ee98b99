"""North's server as production runs it: a process of its own, reached over HTTP."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

from north.settings import Settings

SERVE = "from north.cli import main; main()"


@contextmanager
def served(settings: Settings) -> Iterator[int]:
    """`north serve` on the benchmark's data folder; gives its port once it answers.

    Raises:
        RuntimeError: it ended instead.
    """
    port = free_port()
    environment = environment_with(settings.data_dir, port, settings.embedder)
    with subprocess.Popen([sys.executable, "-c", SERVE, "serve"], env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            if not process.stdout.readline():  # it says that it is ready
                raise RuntimeError("the server did not start")
            yield port
        finally:
            process.terminate()


def environment_with(data_dir: Path, port: int, embedder: str = "local") -> dict[str, str]:
    """The environment of a North on this data folder and port; whatever else is set for North here does not count."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("NORTH_")}
    return others | {
        "NORTH_DATA_DIR": str(data_dir),
        "NORTH_PORT": str(port),
        "NORTH_MODEL": "offline",
        "NORTH_EMBEDDER": embedder,
    }


class Client:
    """One connection of a client that costs next to nothing itself: it blocks, and reads no JSON."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def post(self, path: str, body: dict[str, object]) -> bytes:
        """The reply's body.

        Raises:
            RuntimeError: the reply is not a success.
        """
        self._connection.request("POST", path, json.dumps(body), self._headers)
        response = self._connection.getresponse()
        content = response.read()
        if not 200 <= response.status < 300:
            raise RuntimeError(f"{path} answered {response.status}: {content[:500]!r}")
        return content


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
