"""What is loaded when North starts, and Python's garbage collector.

A full round of the collector looks at every object there is, and nobody is answered meanwhile. Two hundred thousand
come with the libraries and stay for good: 90 ms each time, once in some two thousand requests.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collecting_put_off() -> Iterator[None]:
    """A block that loads a server and runs it. Nothing is collected until `leave_out_what_is_loaded`: nearly all that
    is loaded stays, and to look at it takes a fifth of the start.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def leave_out_what_is_loaded() -> None:
    """Collect from now on, and look no more at what is there by now."""
    gc.collect()
    gc.freeze()
    gc.enable()
