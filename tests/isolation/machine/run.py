"""The state machine at length: `make prove-isolation`, or `python -m tests.isolation.machine.run --help`."""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import platform
import queue
import secrets
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import hypothesis
import structlog
from hypothesis.stateful import run_state_machine_as_test

from north.db.embedded import embedded
from tests.conftest import TestDatabase, database_maker
from tests.isolation.machine.driver import Tally
from tests.isolation.machine.machine import machine_on
from tests.isolation.machine.routes import routes_of
from tests.isolation.machine.stage import Stage

STEPS = 60
REPORT_SECONDS = 30.0
SPAWN = multiprocessing.get_context("spawn")
STAGE_RESPONSES = 50_000
"""After so many, a job goes on with a fresh database, so that the millionth reply comes as quickly as the first."""


def examples(stage: Stage, number: int, steps: int, seed: int = 0) -> None:
    """Run so many worlds of so many steps each.

    Raises:
        Exception: what was found, with how to find it again.
    """
    settings = hypothesis.settings(
        max_examples=number,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    run_state_machine_as_test(hypothesis.seed(seed)(machine_on(stage)), settings=settings)
    if stage.found:
        stage.found.add_note(f"seed {stage.seed}, after {stage.tally.responses} replies")
        raise stage.found


@dataclass(frozen=True)
class Progress:
    """What a job has done since it last told; at its end, the routes that there are."""

    tally: Tally
    found: str | None = None
    routes: frozenset[str] | None = None


Told = queue.Queue[Progress]


def work(seed: int, databases: list[TestDatabase], until: float, stop: Event, told: Told) -> None:
    """Run worlds, on one database after another, until the time is over, enough is done or something is found."""
    for asked in (signal.SIGINT, signal.SIGTERM):  # the parent is asked to end, and says when
        signal.signal(asked, signal.SIG_IGN)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    found, routes = None, frozenset[str]()
    try:
        for number, database in enumerate(databases):
            with Stage(database, seed + number) as stage:
                routes = frozenset(routes_of(stage.app))
                done = world = 0
                while done < STAGE_RESPONSES and time.time() < until and not stop.is_set():
                    stage.tally = Tally()
                    examples(stage, 1, STEPS, seed=stage.seed + world)
                    done, world = done + stage.tally.responses, world + 1
                    told.put(Progress(stage.tally))
    except Exception as error:  # the edge of the process: the parent prints it
        found = f"{type(error).__name__}: {error}\n" + "\n".join(getattr(error, "__notes__", ()))
    told.put(Progress(Tally(), found, routes))


def run(responses: int, minutes: float, jobs: int, seed: int) -> int:
    """Run `jobs` processes on one Postgres; say what they did. The exit code."""
    started = time.time()
    print(f"seed {seed}; {jobs} processes; until {responses:,} replies or {minutes:g} minutes; {machine()}", flush=True)
    with tempfile.TemporaryDirectory(prefix="north-isolation-") as folder, embedded(Path(folder) / "data") as server:
        make, told, stop = database_maker(server), SPAWN.Queue(), SPAWN.Event()
        for asked in (signal.SIGINT, signal.SIGTERM):  # it ends after the worlds that are under way, with its report
            signal.signal(asked, lambda *_: stop.set())
        each = -(-responses // jobs // STAGE_RESPONSES) + 2
        working = []
        for job in range(jobs):
            given = (seed + 1000 * job, [make() for _ in range(each)], started + 60 * minutes, stop, told)
            working.append(SPAWN.Process(target=work, args=given))
            working[-1].start()
        outcome = collect(working, told, stop, responses, started)
        for process in working:
            process.join()
    return report(outcome, responses, started)


@dataclass
class Outcome:
    """What all processes did together, what they found, and the routes that there are."""

    total: Tally = field(default_factory=Tally)
    found: list[str] = field(default_factory=list)
    routes: set[str] = field(default_factory=set)


def collect(working: list[Any], told: Any, stop: Event, responses: int, started: float) -> Outcome:
    """Add up what the processes tell until each has ended; stop them when it is enough, or something is found."""
    outcome, ended, printed = Outcome(), 0, started
    while ended < len(working):
        progress = next_told(told, working)
        outcome.total.add(progress.tally)
        if progress.found:
            outcome.found.append(progress.found)
        if progress.routes is not None:
            ended += 1
            outcome.routes |= progress.routes
        if outcome.total.responses >= responses or outcome.found:
            stop.set()
        if time.time() > printed + REPORT_SECONDS:
            printed = time.time()
            print(f"{outcome.total.responses:>10,} replies, {rate(outcome.total, started)}", flush=True)
    return outcome


def next_told(told: Any, working: list[Any]) -> Progress:
    """What a process tells next; one that died without a word is told of once."""
    while True:
        try:
            progress: Progress = told.get(timeout=REPORT_SECONDS)
            return progress
        except queue.Empty:
            if died := next((each for each in working if each.exitcode), None):
                working.remove(died)
                return Progress(Tally(), f"a process ended with {died.exitcode}")


def report(outcome: Outcome, wanted: int, started: float) -> int:
    """Print what was done, and return the exit code."""
    total, routes, found = outcome.total, outcome.routes, outcome.found
    print(f"\n{'call':<100} {'replies by status'}")
    by_call: dict[str, list[str]] = {}
    for (title, status), count in sorted(total.statuses.items()):
        by_call.setdefault(title, []).append(f"{status}: {count:,}")
    for title, counts in by_call.items():
        probed = f"; foreign and absent: {total.probes[title]:,}" if total.probes[title] else ""
        print(f"{title:<100} {', '.join(counts)}{probed}")
    undriven = sorted(routes - total.routes)
    print(
        f"\n{total.responses:,} replies, {rate(total, started)}; {total.probes.total():,} foreign ids each beside an "
        f"absent one; {total.own_canaries:,} canaries seen, "
        f"{'all' if not found else 'NOT all'} by whom they were for; "
        f"{len(routes) - len(undriven)} of {len(routes)} routes"
    )
    for route in undriven:
        print(f"NOT DRIVEN  {route}")
    for each in found:
        print(f"FOUND  {each}")
    if total.responses < wanted and not found:
        print(f"Stopped before the end: {total.responses:,} of {wanted:,} replies.")
    return 1 if found or undriven or total.responses < wanted else 0


def rate(total: Tally, started: float) -> str:
    seconds = time.time() - started
    return f"{total.responses / seconds:,.0f} a second for {seconds / 60:.1f} minutes"


def machine() -> str:
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()} {platform.machine()}"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--responses", type=int, default=1_000_000, help="how many replies to look at")
    parser.add_argument("--minutes", type=float, default=240, help="the most minutes it may take")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes; default: one a core")
    parser.add_argument("--seed", type=int, default=None, help="a number; the same one makes the same calls")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else secrets.randbelow(10**6) * 10_000
    return run(options.responses, options.minutes, options.jobs, seed)


if __name__ == "__main__":
    sys.exit(main())
