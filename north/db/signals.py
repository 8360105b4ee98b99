"""Signals, as far as a process that launches another has to mind them."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STOPPING = {signal.SIGINT, signal.SIGTERM}


@contextmanager
def raised_when_terminated() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, with what is to be cleaned up; by itself it ends the process at once.

    Only where nobody has a handler for it yet; signals reach the main thread alone.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return

    def end(number: int, frame: object) -> None:
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def signals_held() -> Iterator[Callable[[], None]]:
    """Hold SIGINT and SIGTERM back until the block ends, or what is given is called: what came meanwhile comes then.

    Windows holds nothing back.
    """
    if sys.platform == "win32":
        yield lambda: None
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)

    def release() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    try:
        yield release
    finally:
        release()
