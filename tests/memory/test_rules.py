"""A lawyer's standing rules: what they match, who made them, and that they end when they are deleted."""

from __future__ import annotations

import psycopg
import pytest

from north.errors import InvalidInput, RuleActionUnknown, RuleNotFound
from north.memory.backend import Backend
from north.memory.rules import create_rule, delete_rule, describe, forbidding, list_rules
from north.memory.save import save
from north.model import MemoryType, RefusedByRule, Rule, Scope, new_id
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.remembering import of_firm, on_matter, personal, remember

FACT, DEADLINE = MemoryType.FACT, MemoryType.DEADLINE
PERSONAL, MATTER = Scope.USER_PRIVATE, Scope.MATTER


async def never(
    backend: Backend,
    firm: FirmOfTest,
    scope: Scope | None = None,
    type: MemoryType | None = None,
    phrase: str | None = None,
) -> Rule:
    return await create_rule(backend, firm.a, "never_remember", scope, type, phrase)


class TestMatching:
    @pytest.mark.parametrize(
        ("scope", "type", "phrase", "forbidden"),
        [
            (None, None, None, True),
            (PERSONAL, None, None, True),
            (MATTER, None, None, False),
            (None, FACT, None, True),
            (None, DEADLINE, None, False),
            (None, None, "home address", True),
            (None, None, "HOME   Addresses", True),
            (None, None, "address home", False),
            (None, None, "dress", False),
            (None, None, "home.*", True),
            (None, None, "home%ess", False),
            (PERSONAL, FACT, "home address", True),
            (PERSONAL, DEADLINE, "home address", False),
            (MATTER, FACT, "home address", False),
        ],
    )
    async def test_needs_scope_type_and_phrase_together(
        self,
        backend: Backend,
        firm: FirmOfTest,
        scope: Scope | None,
        type: MemoryType | None,
        phrase: str | None,
        forbidden: bool,
    ) -> None:
        rule = await never(backend, firm, scope, type, phrase)
        (outcome,) = await save(backend, firm.a, [personal("The home address is in Kent.", FACT)])
        assert (outcome == RefusedByRule(rule)) is forbidden

    @pytest.mark.parametrize("action", ["always_remember", "ask_first", "never_remember ", "NEVER_REMEMBER"])
    async def test_ignores_any_other_stored_action(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase, action: str
    ) -> None:
        rule = await never(backend, firm)
        with psycopg.connect(database.superuser_url) as connection:
            connection.execute("update memory_rule set action = %s where id = %s", (action, rule.id))
        await remember(backend, firm.a, "The home address is in Kent.")
        (listed,) = await list_rules(backend, firm.a)
        assert listed.action == action
        assert forbidding([listed], PERSONAL, FACT, "anything") is None

    async def test_covers_every_scope_when_none_is_named(self, backend: Backend, firm: FirmOfTest) -> None:
        rule = await never(backend, firm, phrase="Kent")
        drafts = [personal("In Kent."), on_matter("In Kent."), of_firm("In Kent.")]
        assert await save(backend, firm.a, drafts) == [RefusedByRule(rule)] * 3


class TestCreating:
    async def test_makes_never_remember_alone(self, backend: Backend, firm: FirmOfTest) -> None:
        for action in ("always_remember", "", "never_remember\0"):
            with pytest.raises(RuleActionUnknown):
                await create_rule(backend, firm.a, action, None, None, None)
        assert await list_rules(backend, firm.a) == []

    @pytest.mark.parametrize("phrase", ["a" * 201, "one\ntwo", "one\0two", "one\ud800two"])
    async def test_needs_a_phrase_of_one_line(self, backend: Backend, firm: FirmOfTest, phrase: str) -> None:
        with pytest.raises(InvalidInput):
            await never(backend, firm, phrase=phrase)

    @pytest.mark.parametrize("phrase", ["§", "***", "€ – !"])
    async def test_a_phrase_without_a_word_would_forbid_nothing(
        self, backend: Backend, firm: FirmOfTest, phrase: str
    ) -> None:
        with pytest.raises(InvalidInput, match="no word in it"):
            await never(backend, firm, phrase=phrase)

    @pytest.mark.parametrize("phrase", ["§ 5", "C", "東京", "é"])
    async def test_a_word_may_be_short_or_of_any_script(self, backend: Backend, firm: FirmOfTest, phrase: str) -> None:
        rule = await never(backend, firm, phrase=phrase)
        assert forbidding([rule], Scope.USER_PRIVATE, MemoryType.FACT, f"About {phrase}, then.") == rule

    @pytest.mark.parametrize("phrase", ["", "  ", None])
    async def test_takes_a_blank_phrase_as_none(self, backend: Backend, firm: FirmOfTest, phrase: str | None) -> None:
        assert (await never(backend, firm, phrase=phrase)).phrase is None

    async def test_applies_from_the_next_save_on(self, backend: Backend, firm: FirmOfTest) -> None:
        kept = await remember(backend, firm.a, "The home address is in Kent.")
        await never(backend, firm)
        (outcome,) = await save(backend, firm.a, [personal("Something new.")])
        assert isinstance(outcome, RefusedByRule)
        assert kept.status == "active"


class TestDeleting:
    async def test_frees_the_next_save(self, backend: Backend, firm: FirmOfTest) -> None:
        rule = await never(backend, firm)
        await delete_rule(backend, firm.a, rule.id)
        assert await list_rules(backend, firm.a) == []
        await remember(backend, firm.a, "The home address is in Kent.")

    async def test_finds_ones_own_rules_alone(self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest) -> None:
        rule = await never(backend, firm)
        for caller, rule_id in ((firm.b, rule.id), (rival.a, rule.id), (firm.a, new_id())):
            with pytest.raises(RuleNotFound):
                await delete_rule(backend, caller, rule_id)
        await delete_rule(backend, firm.a, rule.id)
        with pytest.raises(RuleNotFound):
            await delete_rule(backend, firm.a, rule.id)


class TestListing:
    async def test_is_newest_first_with_how_often_each_refused(self, backend: Backend, firm: FirmOfTest) -> None:
        kent = await never(backend, firm, phrase="Kent")
        surrey = await never(backend, firm, phrase="Surrey")
        await create_rule(backend, firm.b, "never_remember", None, None, None)
        for text in ("In Kent one.", "In Kent two.", "In Surrey."):
            await save(backend, firm.a, [personal(text)])
        assert [(rule.id, rule.refused) for rule in await list_rules(backend, firm.a)] == [(surrey.id, 1), (kent.id, 2)]

    async def test_describes_a_rule_in_a_sentence(self, backend: Backend, firm: FirmOfTest) -> None:
        rule = await never(backend, firm, MATTER, MemoryType.PLAYBOOK_RULE, "home address")
        assert describe(rule) == "Never remember any playbook rule in matter memory that mentions “home address”."
        assert describe(await never(backend, firm)) == "Never remember anything."
