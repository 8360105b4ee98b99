"""`make prove-faults`: every fault again and again, as a table of what was done and what was found.

Ends with 1 when anything acknowledged was lost or doubled, anybody noticed a restart, or North was not at work again in
time. Takes at most `--minutes`; the kills, which take longest, use what the rest leaves.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scripts.system_programs import faketime
from tests.faults.apart import work_apart
from tests.faults.harness import Postgres, postgres_in
from tests.faults.imports import kill_in_mid_import
from tests.faults.kills import VICTIMS, kill_again_and_again
from tests.faults.rolling import ENDING_SECONDS, restart_in_turn

RECOVERY_SECONDS = 10.0
APART_SECONDS = 20.0
IMPORTED = 2000
KILLS_OF_AN_IMPORT = 4


@dataclass(frozen=True)
class Line:
    """A line of the table."""

    what: str
    done: str
    found: str
    wrong: int


def main() -> int:
    """Prove it all, print the table, and say how it went as an exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="how often a process is killed")
    parser.add_argument("--restarts", type=int, default=10, help="how often a server is restarted behind a balancer")
    parser.add_argument("--rounds", type=int, default=3, help="how often the tests of the other faults are run")
    parser.add_argument("--minutes", type=float, default=30.0, help="when to stop killing")
    parser.add_argument("--seed", type=int, default=None, help="repeats the order of the kills")
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else random.randrange(1_000_000)
    until = time.monotonic() + given.minutes * 60
    print(f"seed {seed}; kills, restarts and rounds: {given.kills}, {given.restarts}, {given.rounds}", flush=True)
    lines = [_tests(name, given.rounds) for name in ("database", "full_log", "providers", "races", "clocks")]
    lines.append(_restarts(given.restarts))
    lines.append(_apart())
    lines.append(_imports(given.rounds))
    lines += _kills(given.kills, random.Random(seed), until)
    print()
    for line in lines:
        print(f"{line.what:<34} {line.done:<38} {line.found}{'   WRONG' if line.wrong else ''}")
    return 1 if any(line.wrong for line in lines) else 0


def _tests(name: str, rounds: int) -> Line:
    """Run the tests of one kind so many times."""
    failed = 0
    for number in range(rounds):
        command = [sys.executable, "-m", "pytest", "-q", f"tests/faults/test_{name}.py", "-p", "no:cacheprovider"]
        ended = subprocess.run(command, capture_output=True, text=True)
        failed += ended.returncode != 0
        print(f"{name}, round {number + 1}: {ended.stdout.strip().splitlines()[-1]}", flush=True)
        if ended.returncode != 0:
            print(ended.stdout[-6000:], flush=True)
    return Line(f"tests: {name}", f"{rounds} rounds", f"{failed} rounds failed", failed)


@contextmanager
def _postgres() -> Iterator[tuple[Postgres, Path]]:
    with tempfile.TemporaryDirectory(prefix="north-faults-") as folder, postgres_in(Path(folder, "data")) as postgres:
        yield postgres, Path(folder)


def _say(line: str) -> None:
    print(line, flush=True)


def _restarts(restarts: int) -> Line:
    with _postgres() as (postgres, folder):
        noticed = asyncio.run(restart_in_turn(postgres, folder, restarts=restarts, tell=_say))
    late = [seconds for seconds in noticed.seconds if seconds > ENDING_SECONDS]
    _tell_wrong(noticed.wrong)
    done = f"{restarts} restarts of two servers"
    found = f"{noticed.answers} answers, {noticed.streams} streams, {noticed.calls} MCP calls; "
    found += f"{len(noticed.wrong)} noticed; ended after {_spread(noticed.seconds)}"
    return Line("SIGTERM behind a balancer", done, found, len(noticed.wrong) + len(late))


def _apart() -> Line:
    what = "clocks an hour apart"
    if (library := faketime()) is None:
        return Line(what, "left out", "needs Debian's package `faketime`", 0)
    with _postgres() as (postgres, folder):
        wrong, acknowledged = asyncio.run(work_apart(postgres, folder, library, APART_SECONDS))
    _tell_wrong(wrong)
    found = f"{acknowledged} texts acknowledged, {len(wrong)} wrong"
    return Line(what, f"2 servers, 2 workers, {APART_SECONDS:.0f} s", found, len(wrong))


def _imports(rounds: int) -> Line:
    wrong: list[str] = []
    for _ in range(rounds):
        with _postgres() as (postgres, folder):
            wrong += asyncio.run(kill_in_mid_import(postgres, folder, statements=IMPORTED, kills=KILLS_OF_AN_IMPORT))
    _tell_wrong(wrong)
    done = f"{rounds} imports of {IMPORTED}, {KILLS_OF_AN_IMPORT} kills in each"
    return Line("kill -9 of a worker that imports", done, f"{len(wrong)} wrong", len(wrong))


def _kills(kills: int, chance: random.Random, until: float) -> list[Line]:
    victims = [chance.choice(VICTIMS) for _ in range(kills)]
    with _postgres() as (postgres, folder):
        found = asyncio.run(
            kill_again_and_again(postgres, folder, victims, chance=chance, until=until, clients=6, tell=_say)
        )
    _tell_wrong(found.wrong)
    lines = [
        Line(
            f"kill -9 of {victim}",
            f"{len(seconds)} times under load",
            f"at work again after {_spread(seconds)}",
            sum(each > RECOVERY_SECONDS for each in seconds),
        )
        for victim, seconds in found.seconds.items()
    ]
    late = sum(each > RECOVERY_SECONDS for each in found.left_by_workers)
    left = _spread(found.left_by_workers)
    lines.append(
        Line("jobs that a killed worker was doing", f"{len(found.left_by_workers)} times", f"done after {left}", late)
    )
    answers = ", ".join(f"{count} × {answer}" for answer, count in sorted(found.replies.items()))
    print(f"\nanswers under kills: {answers}")
    kept = f"{found.saves} texts and {found.threads} conversations acknowledged, {len(found.wrong)} wrong"
    done = f"{sum(map(len, found.seconds.values()))} of {kills} kills"
    return [*lines, Line("lost, doubled, done twice", done, kept, len(found.wrong))]


def _tell_wrong(wrong: list[str]) -> None:
    for each in wrong[:50]:
        print(f"WRONG: {each}", flush=True)


def _spread(seconds: list[float]) -> str:
    """The median, the 95th percentile and the longest."""
    if not seconds:
        return "nothing"
    ordered = sorted(seconds)
    most = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return f"{statistics.median(ordered):.2f} s (p95 {most:.2f}, longest {ordered[-1]:.2f})"


if __name__ == "__main__":
    sys.exit(main())
