"""The official suite and the Inspector: fetched by npm into `.conformance`, run, and their results read."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE.parent.parent / ".conformance"
MODULES = FOLDER / "node_modules"
PACKAGES = [
    "node@22.23.3",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
]
SUITE = MODULES / "@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR = MODULES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
STAMP_LENGTH = len("-2026-01-31T12-00-00-000Z")


def fetch() -> None:
    """Install the exact versions, when they are not there yet; npm decides from where."""
    installed = FOLDER / "installed"
    if installed.exists() and installed.read_text().split() == PACKAGES:
        return
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("make conformance needs npm (any version); North itself does not")
    print(f"Fetching {', '.join(PACKAGES)} ...", flush=True)
    FOLDER.mkdir(exist_ok=True)
    flags = ["--no-save", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run([npm, "install", *flags, "--prefix", str(FOLDER), *PACKAGES], check=True)
    installed.write_text("\n".join(PACKAGES))


async def run_node(*arguments: str | Path, on_line: Callable[[str], None] | None = None) -> tuple[int, str]:
    """Run a program on the fetched Node.

    Args:
        arguments: the program's file and its arguments.
        on_line: is told each line as it is written.

    Returns:
        The exit code, and everything that it wrote to standard output and error.
    """
    path = os.pathsep.join([str(MODULES / ".bin"), os.environ.get("PATH", "")])
    environment = os.environ | {"PATH": path, "MCP_CATALOG_PATH": str(FOLDER / "catalog.json"), "NO_COLOR": "1"}
    process = await asyncio.create_subprocess_exec(
        MODULES / ".bin" / "node",
        *map(str, arguments),
        cwd=FOLDER,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    written = []
    while line := (await process.stdout.readline()).decode():
        written.append(line)
        if on_line:
            on_line(line.strip())
    return await process.wait(), "".join(written)


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one scenario."""

    scenario: str
    passed: int
    failed: list[str]
    skipped: int


def results(folder: Path) -> list[Result]:
    """The results that the suite left in a folder."""
    found = []
    for file in sorted(folder.glob("*/checks.json")):
        checks = json.loads(file.read_text())
        failed = [f"{each['id']}: {each.get('errorMessage', '')}" for each in checks if each["status"] == "FAILURE"]
        statuses = [each["status"] for each in checks]
        name = re.sub("^(authorization-)?server-", "", file.parent.name[:-STAMP_LENGTH], count=1)
        found.append(Result(name, statuses.count("SUCCESS"), failed, statuses.count("SKIPPED")))
    return found


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """The scenarios that `/mcp` need not pass, each with its reason."""

    reasons: dict[str, str]
    streams: frozenset[str]


def not_applicable() -> NotApplicable:
    """What `not_applicable.toml` says."""
    groups = tomllib.loads((HERE / "not_applicable.toml").read_text())["group"]
    reasons = {name: group["reason"] for group in groups for name in group["scenarios"]}
    streams = {name for group in groups if group.get("streams") for name in group["scenarios"]}
    return NotApplicable(reasons, frozenset(streams))
