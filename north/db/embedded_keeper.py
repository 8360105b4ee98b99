"""Keeping an embedded server up: one that dies while it is needed is started again.

The system kills a Postgres when memory is short, and Postgres ends itself when it has no room for its log. What it had
acknowledged is there again, its address is the same, and whoever uses it connects anew.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from north.db.embedded import EmbeddedServer, start
from north.errors import NorthError
from north.logs import fault

LOOK_SECONDS = 0.5
"""How often it is looked whether the server lives."""
LONGEST_PAUSE_SECONDS = 30.0
"""The longest between two attempts to start one that does not come back; the first is a second, and each is doubled."""

log = structlog.get_logger(__name__)


@contextmanager
def kept_running(server: EmbeddedServer) -> Iterator[None]:
    """For the block, start the server of a data folder again whenever it has died.

    Any number of processes may keep one server: they start it one at a time, and those that come later join it. Not on
    Windows, where the next server would listen on another port.
    """
    if sys.platform == "win32":
        yield
        return
    keeper = _Keeper(server)
    keeper.start()
    try:
        yield
    finally:
        keeper.end()


class _Keeper(threading.Thread):
    """Looks after a server until it is told to end."""

    def __init__(self, server: EmbeddedServer) -> None:
        super().__init__(name="north-embedded-keeper", daemon=True)
        self._given = self._server = server
        self._ended = threading.Event()

    def run(self) -> None:
        """Look, and start again what has died."""
        pause = LOOK_SECONDS
        while not self._ended.wait(pause):
            try:
                if self._is_dead():
                    self._start_again()
                pause = LOOK_SECONDS
            except Exception as error:  # whatever it is, it may pass
                pause = min(max(1.0, 2 * pause), LONGEST_PAUSE_SECONDS)
                said = {"code": error.code, "reason": str(error)} if isinstance(error, NorthError) else fault(error)
                log.error("embedded_postgres_not_started", again_in_seconds=pause, **said)

    def _is_dead(self) -> bool:
        """Whether there is no server, twice in a row: one look may fall between two that another process starts."""
        return not self._server.alive and not self._ended.wait(LOOK_SECONDS / 2) and not self._server.alive

    def _start_again(self) -> None:
        dead, self._server = self._server, start(self._server.data_dir)
        dead.release()
        log.warning("embedded_postgres_started_again", pid=self._server.pid)

    def end(self) -> None:
        """Look no more, and leave the server that was given to whoever gave it; a later one is stopped."""
        self._ended.set()
        self.join()
        if self._server is not self._given:
            self._server.stop()
