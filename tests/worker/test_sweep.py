"""The sweep as the worker does it, and as an operator asks for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from typer.testing import CliRunner, Result

from north.assembly import make_backend, opened
from north.cli import app
from north.memory.backend import Backend
from north.memory.edit import archive
from north.memory.rules import list_rules
from north.memory.save import save
from north.model import Draft, MemoryType, Origin, Saved
from north.settings import Settings
from tests.conftest import SECRET_KEY, FirmOfTest, TestDatabase, make_firm
from tests.worker.conftest import at_work, queue, until

North = Callable[..., Result]


async def delete_all(backend: Backend, firm: FirmOfTest) -> None:
    """Five preferences of the first lawyer, saved by an agent and deleted by hand."""
    drafts = [Draft(f"Preference number {each}.", MemoryType.PREFERENCE) for each in range(5)]
    for outcome in await save(backend, firm.a, drafts):
        assert isinstance(outcome, Saved)
        await archive(backend, replace(firm.a, origin=Origin.SETTINGS), outcome.memory.id)


async def test_the_worker_sweeps(backend: Backend, database: TestDatabase, firm: FirmOfTest) -> None:
    await delete_all(backend, firm)
    async with at_work(database):
        await queue(backend, "sweep", timestamp=0)

        async def written() -> bool:
            return bool(await list_rules(backend, firm.a))

        await until(written)
    (rule,) = await list_rules(backend, firm.a)
    assert rule.reason == "You deleted 5 of 5 preferences."


@pytest.fixture
def north(database: TestDatabase) -> North:
    """Runs `north sweep` on this database."""

    def run(*arguments: str, **settings: str) -> Result:
        environment = {
            "NORTH_DATABASE_URL": database.application_url,
            "NORTH_SCHEDULER_DATABASE_URL": database.scheduler_url,
            "NORTH_SECRET_KEY": SECRET_KEY,
            "NORTH_MODEL": "offline",
            "NORTH_EMBEDDER": "none",
        }
        return CliRunner().invoke(app, ["sweep", *arguments], env=environment | settings)

    return run


class TestCommand:
    def prepare(self, database: TestDatabase) -> FirmOfTest:
        """A firm with something to sweep, made outside the tests' own event loop."""

        async def made() -> FirmOfTest:
            async with opened(make_backend(Settings(model="offline", embedder="none"), database.place)) as running:
                firm = await make_firm(running, "no hash")
                await delete_all(running, firm)
                return firm

        return asyncio.run(made())

    def test_looks_and_then_writes_once(self, database: TestDatabase, north: North) -> None:
        firm = self.prepare(database)
        dry = json.loads(north("--dry-run", "--json").stdout)
        assert (dry["dry_run"], dry["lawyers"], dry["rules"][0]["rule"]) == (True, 2, None)
        done = json.loads(north("--firm", firm.slug, "--json").stdout)
        (rule,) = done["rules"]
        assert (rule["user"], rule["scope"], rule["type"]) == (str(firm.ana.id), "user_private", "preference")
        assert (rule["kept"], rule["sample"], rule["keep_rate"]) == (0, 5, 0.0)
        assert north().stdout.startswith("Wrote 0 rules, for 2 lawyers looked at.")

    def test_says_what_is_missing(self, database: TestDatabase, north: North) -> None:
        unset = north(NORTH_SCHEDULER_DATABASE_URL="")
        assert (unset.exit_code, unset.stderr.count("\n")) == (1, 1)
        assert "NORTH_SCHEDULER_DATABASE_URL is not set" in unset.stderr
        assert "There is no firm nobody" in north("--firm", "nobody").stderr
