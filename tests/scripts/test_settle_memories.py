"""The old rows, settled once: by the script as it is run, on populations that only SQL can make any more."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.rows import dict_row

from north.assembly import make_backend, opened
from north.memory.recall import recall
from north.memory.save import save
from north.memory.text import content_key
from north.model import Caller, Draft, MemoryType, Origin, new_id
from north.settings import Settings
from tests.conftest import TestDatabase
from tests.isolation.rows import Columns, Owner, insert, rows_of

SCRIPT = Path(__file__).parents[2] / "scripts" / "2026_08_settle_memories.py"
START = datetime(2026, 3, 1, tzinfo=UTC)


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("settle_memories", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


script = load_script()


@dataclass
class OldFirm:
    """A firm with one lawyer and a matter, whose rows an earlier release wrote."""

    database: TestDatabase
    owner: Owner = field(default_factory=lambda: Owner(new_id()))
    written: int = 0

    def __post_init__(self) -> None:
        rows = rows_of(self.owner)
        for table in ("organization", "app_user", "matter"):
            self.insert(table, rows[table])
        key = {"kind": "firm", "key_hash": self.owner.organization_id.bytes, "firm_id": self.owner.organization_id}
        self.insert("lookup_key", key)

    def insert(self, table: str, columns: Columns) -> None:
        with psycopg.connect(self.database.superuser_url) as connection:
            insert(connection, table, columns)

    def memory(self, content: str, status: str, replaces: UUID | None = None, *, on_matter: bool = False) -> UUID:
        """Write a memory, newer than those before it."""
        self.written += 1
        row = rows_of(self.owner)["agent_memory_candidate"] | {
            "id": new_id(),
            "content": content,
            "content_key": content_key(content),
            "status": status,
            "supersedes_id": replaces,
            "captured_by": self.owner.user_id,
            "created_at": START + timedelta(minutes=self.written),
        }
        if on_matter:
            row |= {"scope": "matter", "target_user_id": None, "target_matter_id": self.owner.matter_id}
        self.insert("agent_memory_candidate", row)
        memory_id: UUID = row["id"]
        return memory_id

    def rows(self, table: str = "agent_memory_candidate") -> dict[UUID, dict[str, Any]]:
        with psycopg.connect(self.database.superuser_url, row_factory=dict_row) as connection:
            query = f"select * from {table} where organization_id = %s"
            return {row["id"]: row for row in connection.execute(query.encode(), (self.owner.organization_id,))}

    def statuses(self, *ids: UUID) -> list[str]:
        rows = self.rows()
        return [rows[each]["status"] for each in ids]

    def settle(self, *, apply: bool = True) -> Any:
        async def settle() -> Any:
            async with script.as_owner(self.database.owner_url) as database:
                return await script.settle_firm(database, self.owner.organization_id, apply=apply)

        return asyncio.run(settle())


@pytest.fixture(scope="module")
def old_database(make_database: Callable[[], TestDatabase]) -> TestDatabase:
    return make_database()


@pytest.fixture
def old(old_database: TestDatabase) -> OldFirm:
    return OldFirm(old_database)


class TestMemories:
    @pytest.mark.parametrize("on_matter", [False, True])
    def test_one_that_waited_is_live(self, old: OldFirm, on_matter: bool) -> None:
        waiting = old.memory("The client is a Delaware LLC.", "pending", on_matter=on_matter)
        refused = old.memory("The moon is a cheese.", "rejected", on_matter=on_matter)
        old.settle()
        assert old.statuses(waiting, refused) == ["active", "rejected"]

    def test_one_that_would_replace_a_live_one_supersedes_it(self, old: OldFirm) -> None:
        before = old.memory("The fee is 400.", "active")
        after = old.memory("The fee is 450.", "pending", before)
        old.settle()
        assert old.statuses(before, after) == ["superseded", "active"]
        assert old.rows()[before]["superseded_at"] is not None

    def test_one_whose_predecessor_has_a_newer_version_is_archived(self, old: OldFirm) -> None:
        before = old.memory("The fee is 400.", "superseded")
        late = old.memory("The fee is 450.", "pending", before)
        newer = old.memory("The fee is 500.", "active", before)
        old.settle()
        assert old.statuses(before, late, newer) == ["superseded", "archived", "active"]

    def test_of_several_replacements_the_newest_wins(self, old: OldFirm) -> None:
        before = old.memory("The fee is 400.", "active")
        rivals = [old.memory(f"The fee is {fee}.", "pending", before) for fee in (450, 475, 500)]
        old.settle()
        assert old.statuses(before, *rivals) == ["superseded", "archived", "archived", "active"]

    @pytest.mark.parametrize("first", ["active", "pending"])
    def test_a_chain_ends_with_its_newest_live(self, old: OldFirm, first: str) -> None:
        chain = [old.memory("The fee is 400.", first)]
        for fee in (425, 450, 475):
            chain.append(old.memory(f"The fee is {fee}.", "pending", chain[-1]))
        old.settle()
        assert old.statuses(*chain) == ["superseded", "superseded", "superseded", "active"]

    def test_what_would_replace_a_deleted_one_is_archived_with_all_that_follows(self, old: OldFirm) -> None:
        deleted = old.memory("The fee is 400.", "archived")
        waiting = old.memory("The fee is 450.", "pending", deleted)
        following = old.memory("The fee is 500.", "pending", waiting)
        old.settle()
        assert old.statuses(deleted, waiting, following) == ["archived"] * 3

    @pytest.mark.parametrize("text", ["The client is a Delaware LLC.", "the client is a  DELAWARE llc."])
    def test_one_that_is_live_already_is_archived(self, old: OldFirm, text: str) -> None:
        live = old.memory("The client is a Delaware LLC.", "active")
        waiting = old.memory(text, "pending")
        elsewhere = old.memory(text, "pending", on_matter=True)
        old.settle()
        assert old.statuses(live, waiting, elsewhere) == ["active", "archived", "active"]

    def test_one_that_says_what_its_predecessor_says_is_archived(self, old: OldFirm) -> None:
        before = old.memory("The fee is 400.", "active")
        waiting = old.memory("the fee is 400.", "pending", before)
        old.settle()
        assert old.statuses(before, waiting) == ["active", "archived"]

    def test_of_two_that_say_the_same_one_is_live(self, old: OldFirm) -> None:
        twins = [old.memory("The fee is 400.", "pending") for _ in range(2)]
        old.settle()
        assert old.statuses(*twins) == ["active", "archived"]

    def test_what_is_live_is_recalled(self, old: OldFirm) -> None:
        before = old.memory("The hourly fee is 400.", "active")
        old.memory("The hourly fee is 450.", "pending", before)
        old.settle()

        async def recalled() -> list[str]:
            caller = Caller(old.owner.organization_id, old.owner.user_id, Origin.API)
            async with opened(make_backend(Settings(model="offline", embedder="none"), old.database.place)) as backend:
                return [hit.memory.content for hit in (await recall(backend, caller, "hourly fee")).personal]

        assert asyncio.run(recalled()) == ["The hourly fee is 450."]

    def test_more_than_one_transaction_holds_are_all_settled(
        self, old: OldFirm, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(script, "AT_ONCE", 3)
        waiting = [old.memory(f"Fact number {each}.", "pending") for each in range(8)]
        old.settle()
        assert old.statuses(*waiting) == ["active"] * 8

    def test_is_safe_while_the_same_is_saved(self, old: OldFirm) -> None:
        texts = [f"Fact number {each}." for each in range(40)]
        for text in texts:
            old.memory(text, "pending")

        async def both() -> None:
            caller = Caller(old.owner.organization_id, old.owner.user_id, Origin.API)
            async with opened(make_backend(Settings(model="offline", embedder="none"), old.database.place)) as backend:
                saves = [save(backend, caller, [Draft(text, MemoryType.FACT)]) for text in reversed(texts)]
                await asyncio.gather(script.settle(old.database.owner_url, apply=True), *saves)

        asyncio.run(both())
        live = [row["content"] for row in old.rows().values() if row["status"] == "active"]
        assert sorted(live) == sorted(texts)
        assert "pending" not in {row["status"] for row in old.rows().values()}


class TestQueue:
    def test_is_deleted_and_what_the_sweep_wrote_stays(self, old: OldFirm) -> None:
        own = rows_of(old.owner)
        rule = own["memory_rule"]
        for action in ("always_review", "always_remember", "never_remember"):
            old.insert("memory_rule", {**rule, "id": new_id(), "action": action})
        ledger = own["memory_rule_suggestion"]
        for action, type in (("always_review", "fact"), ("always_remember", "party"), ("never_remember", "deadline")):
            old.insert("memory_rule_suggestion", {**ledger, "id": new_id(), "type": type, "suggested_action": action})
        for _ in range(2):
            old.settle()
            assert {row["action"] for row in old.rows("memory_rule").values()} == {"always_remember", "never_remember"}
            assert [row["type"] for row in old.rows("memory_rule_suggestion").values()] == ["deadline"]


class TestReport:
    def test_a_dry_run_foretells_and_writes_nothing(self, old: OldFirm) -> None:
        before = old.memory("The fee is 400.", "active")
        old.memory("The fee is 450.", "pending", before)
        old.memory("The fee is 475.", "pending", before)
        old.insert("memory_rule", {**rows_of(old.owner)["memory_rule"], "action": "always_review"})
        written = old.rows()
        foretold = old.settle(apply=False)
        assert old.rows() == written and len(old.rows("memory_rule")) == 1
        assert foretold.before == {"active": 1, "pending": 2, "rules": 1}
        assert foretold.after == {"active": 1, "superseded": 1, "archived": 1}
        assert old.settle() == foretold
        assert old.settle().before == foretold.after

    def test_the_command_is_dry_without_apply(self, old: OldFirm, tmp_path: Path) -> None:
        waiting = old.memory("The fee is 400.", "pending")

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            environment = {"NORTH_OWNER_DATABASE_URL": old.database.owner_url, "HOME": str(tmp_path)}
            command = [sys.executable, str(SCRIPT), *arguments]
            return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)

        assert "Nothing was written." in run().stdout
        assert old.statuses(waiting) == ["pending"]
        counts = json.loads(run("--apply", "--json").stdout)["firms"][str(old.owner.organization_id)]
        assert counts == {"before": {"pending": 1}, "after": {"active": 1}}
        assert old.statuses(waiting) == ["active"]


STATUSES = st.sampled_from(["pending", "pending", "pending", "archived", "rejected", "superseded"])


@st.composite
def lineages(draw: st.DrawFn) -> list[tuple[str, int | None, str]]:
    """Families as (text, index of the predecessor, status): in each at most one live row, as the old release had."""
    rows: list[tuple[str, int | None, str]] = []
    live_texts: set[str] = set()
    for _ in range(draw(st.integers(1, 3))):
        start, live = len(rows), False
        for number in range(draw(st.integers(1, 5))):
            text = draw(st.sampled_from("abcdef"))
            before = None if number == 0 else draw(st.integers(start, start + number - 1))
            status = draw(STATUSES)
            taken = any(row[1] == before and row[2] in ("active", "superseded") for row in rows[start:])
            if before is not None and (taken or rows[before][2] != "superseded"):
                status = "pending" if status == "superseded" else status
            elif not live and text not in live_texts and draw(st.booleans()):
                status, live = "active", True
                live_texts.add(text)
            rows.append((text, before, status))
    return rows


def write(old: OldFirm, rows: list[tuple[str, int | None, str]]) -> list[UUID]:
    ids: list[UUID] = []
    for text, before, status in rows:
        ids.append(old.memory(text, status, None if before is None else ids[before]))
    return ids


def family_of(rows: list[tuple[str, int | None, str]], index: int) -> int:
    before = rows[index][1]
    return index if before is None else family_of(rows, before)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=lineages())
def test_whatever_was_left_no_row_waits_and_no_fact_is_live_twice(
    old_database: TestDatabase, rows: list[tuple[str, int | None, str]]
) -> None:
    old = OldFirm(old_database)
    ids = write(old, rows)
    foretold = old.settle(apply=False)
    assert old.settle() == foretold
    after = old.rows()
    settled = [after[each]["status"] for each in ids]
    live = [index for index, status in enumerate(settled) if status == "active"]
    assert "pending" not in settled
    assert max(Counter(family_of(rows, index) for index in live).values(), default=0) <= 1
    assert max(Counter(rows[index][0] for index in live).values(), default=0) <= 1
    for (_, before, was), now in zip(rows, settled, strict=True):
        assert was == "pending" or now == was or (was, now) == ("active", "superseded")
        if was == "pending" and before is not None and rows[before][2] == "archived":
            assert now == "archived"
    for index, (text, before, was) in enumerate(rows):
        if was == "pending" and before is None and index not in {row[1] for row in rows}:
            assert text in {rows[each][0] for each in live} or "superseded" in settled
    again = old.settle()
    assert again.before == again.after and old.rows() == after
