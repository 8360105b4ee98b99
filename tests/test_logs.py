"""What a log says of a fault, whoever logs it: its kind and its place, and no value."""

from __future__ import annotations

import subprocess
import sys

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
