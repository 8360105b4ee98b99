"""The trust profile: what lawyers keep deleting is refused from the next night on, and they are not asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from north.errors import SweepNotConfigured
from north.memory.backend import Backend
from north.memory.edit import archive, edit, restore
from north.memory.rules import delete_rule, list_rules
from north.memory.save import save
from north.memory.trust import PLURALS, KeepRate, Swept, sweep
from north.model import Caller, Draft, Memory, MemoryType, Origin, RefusedByRule, Saved, Scope, new_id
from tests.conftest import FirmOfTest, TestDatabase, open_pool
from tests.isolation.rows import bind
from tests.memory.remembering import on_matter, remember, stored

PREFERENCE, FACT = MemoryType.PREFERENCE, MemoryType.FACT
LEDGER = "select * from memory_rule_suggestion where organization_id = %s"


async def captures(backend: Backend, caller: Caller, number: int, type: MemoryType = PREFERENCE) -> list[Memory]:
    """New memories from the caller's sessions."""
    drafts = [Draft(f"{type.value} number {each} of {caller.origin.value}.", type) for each in range(number)]
    outcomes = await save(backend, caller, drafts)
    return [outcome.memory for outcome in outcomes if isinstance(outcome, Saved)]


async def delete(backend: Backend, caller: Caller, memories: Sequence[Memory]) -> None:
    for memory in memories:
        await archive(backend, replace(caller, origin=Origin.SETTINGS), memory.id)


async def swept(database: TestDatabase, firm: FirmOfTest, *, dry_run: bool = False) -> Swept:
    return await sweep(database.scheduler_url, firm.ana.organization_id, dry_run=dry_run)


async def rates(database: TestDatabase, firm: FirmOfTest) -> list[tuple[int, int]]:
    """(kept, sample) of every rule that the sweep wrote."""
    return [(rule.keep_rate.kept, rule.keep_rate.sample) for rule in (await swept(database, firm)).rules]


class TestKeepRate:
    @given(kept=st.integers(0, 50), deleted=st.integers(0, 50))
    def test_calls_for_a_rule_at_five_captures_and_a_fifth(self, kept: int, deleted: int) -> None:
        if not kept + deleted:
            return
        rate = KeepRate(Scope.MATTER, FACT, kept, kept + deleted)
        assert rate.calls_for_a_rule is (kept + deleted >= 5 and 5 * kept <= kept + deleted)

    def test_has_words_for_every_type(self) -> None:
        assert set(PLURALS) == set(MemoryType)


class TestSweep:
    async def test_writes_a_rule_with_its_reason(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        memories = await captures(backend, firm.a, 7)
        await delete(backend, firm.a, memories[:6])
        (written,) = (await swept(database, firm)).rules
        (rule,) = await list_rules(backend, firm.a)
        assert (rule.id, rule.action, rule.phrase) == (written.rule_id, "never_remember", None)
        assert (rule.scope, rule.type) == (Scope.USER_PRIVATE, PREFERENCE)
        assert rule.reason == "You deleted 6 of 7 preferences."
        (row,) = stored(database, LEDGER, firm.ana.organization_id)
        assert (row["rule_id"], row["sample"], row["keep_rate"]) == (rule.id, 7, 1 / 7)
        (refused,) = await save(backend, firm.a, [Draft("Ana prefers short answers.", PREFERENCE)])
        assert isinstance(refused, RefusedByRule) and refused.rule.id == rule.id
        await remember(backend, firm.a, "Another type is no concern of the rule's.")
        assert await list_rules(backend, firm.b) == []

    @pytest.mark.parametrize(("captured", "deleted", "rules"), [(5, 4, 1), (4, 4, 0), (6, 4, 0), (10, 8, 1)])
    async def test_needs_a_sample_and_a_poor_rate(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest, captured: int, deleted: int, rules: int
    ) -> None:
        await delete(backend, firm.a, (await captures(backend, firm.a, captured))[:deleted])
        assert len((await swept(database, firm)).rules) == rules

    async def test_only_looks_when_dry(self, backend: Backend, database: TestDatabase, firm: FirmOfTest) -> None:
        await delete(backend, firm.a, await captures(backend, firm.a, 5))
        (rule,) = (await swept(database, firm, dry_run=True)).rules
        assert rule.rule_id is None
        assert await list_rules(backend, firm.a) == []
        assert len((await swept(database, firm)).rules) == 1

    async def test_reaches_every_firm(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest, rival: FirmOfTest
    ) -> None:
        for caller in (firm.a, rival.b):
            await delete(backend, caller, await captures(backend, caller, 5))
        await sweep(database.scheduler_url)
        assert len(await list_rules(backend, firm.a)) == len(await list_rules(backend, rival.b)) == 1

    async def test_needs_its_own_connection(self) -> None:
        with pytest.raises(SweepNotConfigured, match="NORTH_SCHEDULER_DATABASE_URL"):
            await sweep(None)

    async def test_of_twenty_at_once_writes_one_rule(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        await delete(backend, firm.a, await captures(backend, firm.a, 5))
        results = await asyncio.gather(*(swept(database, firm) for _ in range(20)))
        assert sum(len(result.rules) for result in results) == 1
        assert len(await list_rules(backend, firm.a)) == 1
        assert len(stored(database, LEDGER, firm.ana.organization_id)) == 1

    async def test_keeps_no_save_waiting(self, backend: Backend, database: TestDatabase, firm: FirmOfTest) -> None:
        await delete(backend, firm.a, await captures(backend, firm.a, 5))
        async with (
            open_pool(database.scheduler_url) as scheduler,
            scheduler.bound(firm.ana.organization_id, firm.ana.id) as transaction,
        ):
            bucket = {"scope": Scope.USER_PRIVATE, "type": PREFERENCE, "action": "never_remember"}
            await transaction.send("trust.lock_bucket", **bucket)
            await transaction.send("trust.insert_rule", id=new_id(), reason="Under way.", **bucket)
            assert await transaction.fetch("trust.kept")
            async with asyncio.timeout(10):
                await remember(backend, firm.a, Draft("Ana prefers short answers.", PREFERENCE))


class TestLedger:
    async def test_keeps_a_deleted_rule_deleted(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        await delete(backend, firm.a, await captures(backend, firm.a, 5))
        await swept(database, firm)
        (rule,) = await list_rules(backend, firm.a)
        await delete_rule(backend, firm.a, rule.id)
        for dry_run in (True, False):
            assert (await swept(database, firm, dry_run=dry_run)).rules == ()
        assert len(stored(database, LEDGER, firm.ana.organization_id)) == 1
        assert await list_rules(backend, firm.a) == []
        await remember(backend, firm.a, Draft("Ana prefers short answers.", PREFERENCE))

    @pytest.mark.parametrize("action", ["never_remember", "always_remember", "something else"])
    async def test_closes_a_bucket_whatever_its_row_says(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest, action: str
    ) -> None:
        await delete(backend, firm.a, await captures(backend, firm.a, 5))
        with psycopg.connect(database.superuser_url) as connection:
            connection.execute(
                """insert into memory_rule_suggestion (organization_id, id, user_id, scope, type, suggested_action)
                   values (%s, gen_random_uuid(), %s, 'user_private', 'preference', %s)""",
                (firm.ana.organization_id, firm.ana.id, action),
            )
        for dry_run in (True, False):
            assert (await swept(database, firm, dry_run=dry_run)).rules == ()


class TestCounting:
    async def test_takes_a_superseded_version_as_its_latest(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        memories = await captures(backend, firm.a, 5)
        latest = [await edit(backend, firm.a, memory.id, f"{memory.content} Changed.") for memory in memories]
        assert await rates(database, firm) == []
        await delete(backend, firm.a, latest)
        assert await rates(database, firm) == [(0, 5)]

    async def test_takes_a_capture_that_was_put_right_by_hand_as_a_capture(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        by_hand = replace(firm.a, origin=Origin.SETTINGS)
        memories = await captures(backend, firm.a, 6)
        latest = [await edit(backend, by_hand, memory.id, f"{memory.content} Changed.") for memory in memories]
        await delete(backend, firm.a, latest[:5])
        assert await rates(database, firm) == [(1, 6)]

    async def test_leaves_out_what_was_written_by_hand(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        by_hand = replace(firm.a, origin=Origin.SETTINGS)
        written = await captures(backend, by_hand, 6)
        changed = [await edit(backend, firm.a, memory.id, f"{memory.content} Changed.") for memory in written]
        await delete(backend, firm.a, changed)
        assert await rates(database, firm) == []
        await captures(backend, by_hand, 20)
        await delete(backend, firm.a, await captures(backend, firm.a, 5))
        assert await rates(database, firm) == [(0, 5)]

    @pytest.mark.parametrize("origin", [origin for origin in Origin if origin is not Origin.SETTINGS])
    async def test_takes_every_other_origin(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest, origin: Origin
    ) -> None:
        caller = replace(firm.a, origin=origin)
        await delete(backend, caller, await captures(backend, caller, 5))
        assert await rates(database, firm) == [(0, 5)]

    async def test_takes_what_was_restored_as_kept(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        memories = await captures(backend, firm.a, 5)
        await delete(backend, firm.a, memories)
        for memory in memories[:2]:
            await restore(backend, firm.a, memory.id)
        assert await rates(database, firm) == []

    async def test_lays_a_deletion_to_whoever_deleted(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        facts = [await remember(backend, firm.a, on_matter(f"The fee for step {each} is 450.")) for each in range(10)]
        await delete(backend, firm.b, facts[:5])
        assert [rule.user_id for rule in (await swept(database, firm)).rules] == [firm.ben.id]
        await delete(backend, firm.a, facts[5:9])
        (rule,) = (await swept(database, firm)).rules
        assert (rule.user_id, rule.keep_rate.kept, rule.keep_rate.sample) == (firm.ana.id, 1, 5)
        assert (await list_rules(backend, firm.a))[0].scope is Scope.MATTER


class TestRights:
    @pytest.mark.parametrize(
        "query",
        [
            "select content from agent_memory_candidate",
            "select evidence from agent_memory_candidate",
            "select * from agent_memory_candidate",
            "select source_label from agent_memory_candidate",
            "select embedding from agent_memory_candidate",
            "select content_key from agent_memory_candidate",
            "select term from memory_term",
            "select content from chat_message",
            "select phrase from memory_rule",
            "select email from app_user",
            "select key_hash from lookup_key",
            "update agent_memory_candidate set status = 'active'",
            "update memory_rule set deleted_at = null",
            "delete from memory_rule_suggestion",
            "insert into agent_memory_candidate (organization_id) values (null)",
            "insert into product_event (organization_id) values (null)",
        ],
    )
    async def test_are_too_narrow_for(self, database: TestDatabase, firm: FirmOfTest, query: str) -> None:
        with psycopg.connect(database.scheduler_url) as connection:
            bind(connection, firm.ana.organization_id, firm.ana.id)
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied"):
                connection.execute(query.encode())

    async def test_end_at_the_walls(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest, rival: FirmOfTest
    ) -> None:
        await captures(backend, firm.a, 1)
        with psycopg.connect(database.scheduler_url) as connection:
            seen = "select count(*) from agent_memory_candidate where organization_id = %s"
            for user in (rival.ana, firm.ben):
                bind(connection, user.organization_id, user.id)
                assert connection.execute(seen, (firm.ana.organization_id,)).fetchone() == (0,)
