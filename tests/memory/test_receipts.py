"""A request with an idempotency key: repeated, it gets its first answer, and nothing is written twice."""

from __future__ import annotations

import asyncio

import pytest

from north.errors import IdempotencyKeyReused, InvalidInput
from north.memory.backend import Backend
from north.memory.edit import archive, edit
from north.memory.rules import create_rule, delete_rule
from north.memory.save import save
from north.model import AlreadyKnown, Outcome, RefusedByRule, Saved
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.remembering import count, everything, on_matter, personal, stored


async def one(backend: Backend, firm: FirmOfTest, text: str, key: str) -> Outcome:
    (outcome,) = await save(backend, firm.a, [personal(text)], key)
    return outcome


class TestRepetition:
    async def test_gets_the_first_outcome(self, backend: Backend, firm: FirmOfTest) -> None:
        drafts = [personal("The fee is 50."), personal("The fee is 60."), on_matter("The client is Orion.")]
        first = await save(backend, firm.a, drafts, "key")
        assert await save(backend, firm.a, drafts, "key") == first
        assert len(await everything(backend, firm.a)) == 3

    async def test_gets_the_first_outcome_after_an_edit(self, backend: Backend, firm: FirmOfTest) -> None:
        first = await one(backend, firm, "The fee is 50.", "key")
        assert isinstance(first, Saved)
        await edit(backend, firm.a, first.memory.id, "The fee is 60.")
        again = await one(backend, firm, "The fee is 50.", "key")
        assert isinstance(again, Saved) and again.memory.id == first.memory.id
        assert again.memory.status == "superseded"
        assert await everything(backend, firm.a) == ["The fee is 60."]

    async def test_does_not_bring_back_what_was_deleted(self, backend: Backend, firm: FirmOfTest) -> None:
        first = await one(backend, firm, "The fee is 50.", "key")
        assert isinstance(first, Saved)
        await archive(backend, firm.a, first.memory.id)
        again = await one(backend, firm, "The fee is 50.", "key")
        assert isinstance(again, Saved) and (again.memory.id, again.memory.status) == (first.memory.id, "archived")
        assert await everything(backend, firm.a) == []

    async def test_of_what_was_known_says_so_again(self, backend: Backend, firm: FirmOfTest) -> None:
        await save(backend, firm.a, [personal("The fee is 50.")])
        for _ in range(2):
            assert isinstance(await one(backend, firm, "The fee is 50.", "key"), AlreadyKnown)

    async def test_of_a_refusal_is_refused_though_the_rule_is_gone(self, backend: Backend, firm: FirmOfTest) -> None:
        rule = await create_rule(backend, firm.a, "never_remember", None, None, None)
        assert await one(backend, firm, "The fee is 50.", "key") == RefusedByRule(rule)
        await delete_rule(backend, firm.a, rule.id)
        assert await one(backend, firm, "The fee is 50.", "key") == RefusedByRule(rule)
        assert isinstance(await one(backend, firm, "The fee is 50.", "another key"), Saved)

    async def test_twenty_at_once_write_one_row(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        outcomes = await asyncio.gather(*(one(backend, firm, "The fee is 50.", "key") for _ in range(20)))
        assert all(isinstance(outcome, Saved) for outcome in outcomes)
        assert len({outcome.memory.id for outcome in outcomes if isinstance(outcome, Saved)}) == 1
        assert count(database, "agent_memory_candidate", firm.a) == 1
        assert count(database, "product_event", firm.a) == 1


class TestKey:
    async def test_of_another_request_is_an_error(self, backend: Backend, firm: FirmOfTest) -> None:
        await one(backend, firm, "The fee is 50.", "key")
        with pytest.raises(IdempotencyKeyReused):
            await one(backend, firm, "The fee is 60.", "key")
        assert await everything(backend, firm.a) == ["The fee is 50."]

    async def test_belongs_to_one_lawyer(self, backend: Backend, firm: FirmOfTest) -> None:
        await one(backend, firm, "The fee is 50.", "key")
        (colleagues,) = await save(backend, firm.b, [personal("Something else.")], "key")
        assert isinstance(colleagues, Saved)

    async def test_of_an_invalid_request_is_free_again(self, backend: Backend, firm: FirmOfTest) -> None:
        with pytest.raises(InvalidInput):
            await one(backend, firm, " ", "key")
        assert isinstance(await one(backend, firm, "The fee is 50.", "key"), Saved)

    @pytest.mark.parametrize("key", ["", "k" * 201])
    async def test_has_1_to_200_characters(self, backend: Backend, firm: FirmOfTest, key: str) -> None:
        with pytest.raises(InvalidInput, match="1 to 200"):
            await one(backend, firm, "The fee is 50.", key)

    @pytest.mark.parametrize("key", ["k" * 200, "\0", "\ud800", "ключ"])
    async def test_may_be_any_text(self, backend: Backend, firm: FirmOfTest, key: str) -> None:
        assert await one(backend, firm, "The fee is 50.", key) == await one(backend, firm, "The fee is 50.", key)

    async def test_is_stored_as_a_hash(self, backend: Backend, firm: FirmOfTest, database: TestDatabase) -> None:
        await one(backend, firm, "The fee is Quokka.", "a-telling-key")
        rows = stored(
            database, "select i::text from idempotency_key i where organization_id = %s", firm.a.organization_id
        )
        assert len(rows) == 1
        assert "telling" not in str(rows) and "Quokka" not in str(rows)
