"""What a log says of a fault, whoever logs it: its kind and its place, and no value."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import logging, structlog
from north.logs import configure_logging
configure_logging()
def remember(content):
    raise ValueError(f"cannot store {content}")
def act():
    try:
        remember("the client is Acme")
    except ValueError as error:
        raise RuntimeError("while saving the client is Acme") from error
for log in (structlog.get_logger("north"), logging.getLogger("library")):
    try:
        act()
    except RuntimeError:
        log.exception("failed")
"""


def test_a_fault_is_logged_by_kind_and_place_without_its_message() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert "event=failed" in line
        assert "RuntimeError < ValueError" in line
        assert "remember" in line
        assert "Acme" not in done.stderr


UNWRITABLE = """
import logging
from north.logs import configure_logging
configure_logging()
logging.getLogger().handlers[0].setStream(open("/dev/full", "w", buffering=1))
try:
    raise ValueError("cannot store the client is Acme")
except ValueError:
    logging.getLogger("library").exception("failed")
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_log_that_cannot_be_written_does_not_spill_what_it_was_about() -> None:
    done = subprocess.run([sys.executable, "-c", UNWRITABLE], capture_output=True, text=True)
    assert "Acme" not in done.stderr


def test_what_the_driver_leaves_aside_is_not_told_beside_the_error_that_it_raised() -> None:
    code = """
import logging
from north.logs import configure_logging
configure_logging()
logging.getLogger("psycopg").warning("error ignored terminating %r: %s", "a pipeline", "pipeline aborted")
logging.getLogger("psycopg").warning("query cancellation failed: %s", "it is gone")
logging.getLogger("psycopg.pool").warning("error connecting in %r", "north")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "ignored" not in done.stderr and "cancellation" in done.stderr and "connecting" in done.stderr
