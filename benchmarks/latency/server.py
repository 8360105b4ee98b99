"""North's server as production runs it: a process of its own, reached over HTTP."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from north.settings import Settings

SERVE = "from north.cli import main; main()"


@contextmanager
def served(settings: Settings) -> Iterator[str]:
    """`north serve` on the benchmark's data folder; gives its address once it answers.

    Raises:
        RuntimeError: it ended instead.
    """
    port = _free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NORTH_")} | {
        "NORTH_DATA_DIR": str(settings.data_dir),
        "NORTH_PORT": str(port),
        "NORTH_MODEL": "offline",
        "NORTH_EMBEDDER": settings.embedder,
    }
    with subprocess.Popen([sys.executable, "-c", SERVE, "serve"], env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            if not process.stdout.readline():  # it says that it is ready
                raise RuntimeError("the server did not start")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
