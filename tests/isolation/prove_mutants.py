"""Runs the isolation suite against every mutant and prints which test kills it: `make prove-mutants`.

Each mutant is a database of its own on one server, and two runs of pytest in a process of their own: the tests of the
catalog, and those that try by SQL, which stop at the first that fails. One that no test kills is a hole in the suite.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from north.db.embedded import EmbeddedServer, embedded
from tests.conftest import DATA_DIR_VARIABLE, TEMPLATE, TEMPLATE_VARIABLE, database_maker
from tests.isolation.mutants import Mutant, mutants

HERE = Path(__file__).parent
CATALOG = ["test_catalog.py"]
BEHAVIOUR = ["test_walls.py", "test_memory_walls.py", "test_connections.py", "test_admission.py", "test_canary.py"]
FORK = multiprocessing.get_context("fork")


@dataclass
class Recorder:
    """A plug-in that remembers which tests failed."""

    failed: list[str] = field(default_factory=list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid.rpartition("isolation/")[2])


@dataclass(frozen=True)
class Verdict:
    """Which tests a mutant fails."""

    mutant: str
    catalog: tuple[str, ...]
    behaviour: tuple[str, ...]

    @property
    def killed(self) -> bool:
        return bool(self.catalog or self.behaviour)


def failures(files: Sequence[str], *options: str) -> tuple[str, ...]:
    """The tests of these files that fail."""
    recorder = Recorder()
    # Without rewritten assertions: what they tell is not read, and the libraries are loaded already.
    arguments = ["-q", "-p", "no:cacheprovider", "--assert=plain", *options, *(str(HERE / name) for name in files)]
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        code = pytest.main(arguments, plugins=[recorder])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"pytest ended with {code!r}")
    return tuple(dict.fromkeys(recorder.failed))


def judge(mutant: str, database: str, data_dir: Path, told: Any) -> None:
    """Run the suite against a database, as the template of every database that its tests ask for."""
    os.environ |= {TEMPLATE_VARIABLE: database, DATA_DIR_VARIABLE: str(data_dir)}
    told.put(Verdict(mutant, failures(CATALOG), failures(BEHAVIOUR, "-x")))


@contextmanager
def mutated(server: EmbeddedServer, name: str, mutant: Mutant) -> Iterator[None]:
    """The mutant as a database of this name, for the block."""
    with psycopg.connect(server.superuser_url(), autocommit=True) as administrator:
        administrator.execute(f"create database {name} template {TEMPLATE}".encode())
        with psycopg.connect(server.superuser_url(name)) as connection:
            connection.execute(mutant.statements.encode())
        try:
            yield
        finally:
            with psycopg.connect(server.superuser_url(name)) as connection:
                connection.execute((mutant.undo or "select 1").encode())
            made = administrator.execute("select datname from pg_database where datname ~ %s", (f"^{name}(_|$)",))
            for (database,) in made.fetchall():
                administrator.execute(f"drop database {database} with (force)".encode())


def verdicts_of(server: EmbeddedServer, batch: Sequence[tuple[int, Mutant]]) -> list[Verdict]:
    """What the suite says of some mutants, each judged by a process of its own at the same time."""
    told: Any = FORK.Queue()
    with ExitStack() as stack:
        processes = []
        for number, mutant in batch:
            name = f"north_mutant_{number}"
            stack.enter_context(mutated(server, name, mutant))
            processes.append(FORK.Process(target=judge, args=(mutant.name, name, server.data_dir, told)))
            processes[-1].start()
        for process in processes:
            process.join()
            if process.exitcode:
                raise RuntimeError(f"a run of the suite ended with {process.exitcode}")
        return [told.get() for _ in batch]


def batches(chosen: Sequence[Mutant], size: int) -> Iterator[list[tuple[int, Mutant]]]:
    """Those that can be judged together: what a mutant does to a role, it does to every database of the server."""
    numbered = list(enumerate(chosen, 1))
    apart = [each for each in numbered if not each[1].undo]
    yield from (apart[start : start + size] for start in range(0, len(apart), size))
    yield from ([each] for each in numbered if each[1].undo)


def main() -> int:
    """Judge every mutant, or those whose name has the given words; print the table."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that its Postgres ends with it
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only mutants whose name has each of these words")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at once; default: one a core")
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="north-mutants-") as folder, embedded(Path(folder) / "data") as server:
        database_maker(server)
        with psycopg.connect(server.superuser_url(TEMPLATE)) as connection:
            chosen = [each for each in mutants(connection) if all(word in each.name for word in options.words)]
        (sound,) = verdicts_of(server, [(0, Mutant("none", "select 1"))])
        if sound.killed:
            print(f"The suite fails without a mutant: {sound}")
            return 1
        verdicts: list[Verdict] = []
        for batch in batches(chosen, options.jobs):
            for verdict in verdicts_of(server, batch):
                verdicts.append(verdict)
                print(row(verdict), flush=True)
    survivors = [each.mutant for each in verdicts if not each.killed]
    unseen = [each.mutant for each in verdicts if not each.behaviour]
    print(
        f"\n{len(verdicts)} mutants, {len(verdicts) - len(survivors)} killed; {len(verdicts) - len(unseen)} of them by "
        f"what a test tried, the others by the catalog alone; {time.monotonic() - started:.0f} s"
    )
    for survivor in survivors:
        print(f"SURVIVED  {survivor}")
    return 1 if survivors else 0


def row(verdict: Verdict) -> str:
    """A line of the table: the mutant, what the catalog's tests say, and the first test that saw it by trying."""
    catalog = ", ".join(test.rpartition("::")[2] for test in verdict.catalog) or "-"
    return f"{verdict.mutant} | {catalog} | {', '.join(verdict.behaviour) or '-'}"


if __name__ == "__main__":
    sys.exit(main())
