"""Recall: what the two buckets hold for a question, and what never comes back."""

from __future__ import annotations

import pytest

from north.errors import InvalidInput, MatterNotFound
from north.memory.backend import Backend
from north.memory.edit import archive, edit
from north.memory.matters import create_matter
from north.memory.recall import briefing, inject, recall
from north.model import Caller, new_id
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.remembering import of_firm, on_matter, personal, remember, stored


async def found(backend: Backend, caller: Caller, query: str, matter: str | None = None) -> set[str]:
    """The texts that come back, by whichever way memory is read."""
    recalled = await recall(backend, caller, query, matter, 200)
    injected = await inject(backend, caller, query, matter)
    assert {memory.id for memory in injected.memories} == {memory.id for memory in recalled.memories}
    assert all(memory.content in injected.text for memory in recalled.memories)
    return {memory.content for memory in recalled.memories}


class TestBuckets:
    async def test_are_the_lawyers_own_and_the_matters(self, backend: Backend, firm: FirmOfTest) -> None:
        await remember(backend, firm.a, personal("I cite in Bluebook form."))
        await remember(backend, firm.a, on_matter("The client is a Delaware LLC."))
        both = await recall(backend, firm.a, "the client's form", "HV-1001")
        assert [hit.memory.content for hit in both.personal] == ["I cite in Bluebook form."]
        assert [hit.memory.content for hit in both.matter] == ["The client is a Delaware LLC."]
        assert both.matter_number == "HV-1001"
        assert await found(backend, firm.a, "the client's form") == {"I cite in Bluebook form."}

    async def test_of_a_matter_are_its_colleagues_too(self, backend: Backend, firm: FirmOfTest) -> None:
        await remember(backend, firm.a, on_matter("The client is a Delaware LLC."))
        await remember(backend, firm.a, personal("I find the client tiresome."))
        for reference in ("HV-1001", str(firm.matter.id)):
            assert await found(backend, firm.b, "What is the client?", reference) == {"The client is a Delaware LLC."}

    async def test_of_two_matters_keep_apart(self, backend: Backend, firm: FirmOfTest) -> None:
        await remember(backend, firm.a, on_matter("The client is a Delaware LLC."))
        await remember(backend, firm.a, on_matter("The client is a Dutch BV.", "HV-1002"))
        assert await found(backend, firm.a, "What is the client?", "HV-1001") == {"The client is a Delaware LLC."}
        assert await found(backend, firm.a, "What is the client?", "HV-1002") == {"The client is a Dutch BV."}
        assert await found(backend, firm.a, "What is the client?") == set()

    async def test_hold_nothing_of_another_firm(self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest) -> None:
        await remember(backend, firm.a, on_matter("The client is a Delaware LLC."))
        await remember(backend, firm.a, personal("I cite in Bluebook form."))
        assert await found(backend, rival.a, "Delaware Bluebook", "HV-1001") == set()

    async def test_never_hold_firm_wide_memory(self, backend: Backend, firm: FirmOfTest) -> None:
        await remember(backend, firm.a, of_firm("The client is a Delaware LLC."))
        for matter in (None, "HV-1001"):
            assert await found(backend, firm.a, "The client is a Delaware LLC.", matter) == set()
            assert "Delaware" not in (await briefing(backend, firm.a, matter)).text

    async def test_never_hold_what_is_no_longer_live(self, backend: Backend, firm: FirmOfTest) -> None:
        gone = await remember(backend, firm.a, on_matter("The hearing is in Leeds."))
        await archive(backend, firm.b, gone.id)
        old = await remember(backend, firm.a, on_matter("The trial is in York."))
        await edit(backend, firm.b, old.id, "The trial is in Bath.")
        assert await found(backend, firm.a, "hearing Leeds trial York", "HV-1001") == {"The trial is in Bath."}


class TestQuestion:
    @pytest.mark.parametrize("query", ["", " \n", "a" * 10_001])
    async def test_has_1_to_10_000_characters(self, backend: Backend, firm: FirmOfTest, query: str) -> None:
        with pytest.raises(InvalidInput, match="the query has"):
            await recall(backend, firm.a, query)

    @pytest.mark.parametrize(
        "query", ["?!", "\0", "\ud800 of \udfff", "a" * 10_000, "the of and", "ﷺ" * 3_000, "'\"%_\\"]
    )
    async def test_may_be_any_text(self, backend: Backend, firm: FirmOfTest, query: str) -> None:
        memory = await remember(backend, firm.a, "I cite in Bluebook form.")
        recalled = await recall(backend, firm.a, query, "HV-1001")
        assert [hit.memory.id for hit in recalled.personal] == [memory.id]

    @pytest.mark.parametrize("limit", [0, 201, -1])
    async def test_asks_for_1_to_200(self, backend: Backend, firm: FirmOfTest, limit: int) -> None:
        with pytest.raises(InvalidInput, match="1 to 200"):
            await recall(backend, firm.a, "citations", limit=limit)

    async def test_gets_no_more_than_it_asks_for_of_each_bucket(self, backend: Backend, firm: FirmOfTest) -> None:
        for number in range(4):
            await remember(backend, firm.a, personal(f"I prefer style {number}."))
            await remember(backend, firm.a, on_matter(f"Exhibit {number} has a style."))
        recalled = await recall(backend, firm.a, "style 2", "HV-1001", limit=2)
        assert (len(recalled.personal), len(recalled.matter)) == (2, 2)
        assert recalled.personal[0].memory.content == "I prefer style 2."

    async def test_names_a_matter_that_the_firm_has(
        self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest
    ) -> None:
        told = []
        for matter in ("HV-9", str(rival.matter.id), str(new_id()), "HV\n", "x" * 65, "\ud800"):
            with pytest.raises(MatterNotFound) as error:
                await recall(backend, firm.a, "citations", matter)
            told.append((str(error.value), error.value.detail))
        assert len(set(map(str, told))) == 1

    async def test_cannot_be_misled_by_a_matter_that_is_named_like_another(
        self, backend: Backend, firm: FirmOfTest
    ) -> None:
        with pytest.raises(InvalidInput, match="cannot look like an id"):
            await create_matter(backend, firm.b, str(firm.matter.id), "A trap")


class TestMeaning:
    async def test_finds_what_was_saved_a_moment_ago(self, backend: Backend, firm: FirmOfTest) -> None:
        for text in ("My dog is called Rex.", "The kitchen closes at six.", "Invoices go out on Fridays."):
            await remember(backend, firm.a, text)
        memory = await remember(backend, firm.a, "Always use Bluebook for citations.")
        best = (await recall(backend, firm.a, "Which reference style do footnotes need?")).personal[0]
        assert best.memory.id == memory.id
        assert best.cosine is not None and best.cosine > 0.2

    async def test_of_an_edited_text_is_the_new_one(self, backend: Backend, firm: FirmOfTest) -> None:
        old = await remember(backend, firm.a, "The puppy sleeps in the kitchen.")
        await remember(backend, firm.a, "Invoices go out on Fridays.")
        await edit(backend, firm.a, old.id, "Always use Bluebook for citations.")
        best = (await recall(backend, firm.a, "Which reference style do footnotes need?")).personal[0]
        assert best.memory.content == "Always use Bluebook for citations."
        assert best.cosine is not None


class TestUses:
    async def test_are_noted_for_what_was_recalled(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        own = await remember(backend, firm.a, personal("I cite in Bluebook form."))
        shared = await remember(backend, firm.a, on_matter("The client is a Delaware LLC."))
        await recall(backend, firm.a, "Bluebook", "HV-1001")
        await recall(backend, firm.b, "Delaware", "HV-1001")
        uses = stored(
            database, "select * from memory_use where organization_id = %s order by id", firm.a.organization_id
        )
        assert {(use["memory_id"], use["user_id"], use["surface"]) for use in uses} == {
            (own.id, firm.ana.id, "api"),
            (shared.id, firm.ana.id, "api"),
            (shared.id, firm.ben.id, "api"),
        }

    async def test_are_counted_on_the_memory(self, backend: Backend, firm: FirmOfTest) -> None:
        await remember(backend, firm.a, personal("I cite in Bluebook form."))
        for uses in range(3):
            (hit,) = (await recall(backend, firm.a, "Bluebook")).personal
            assert hit.memory.uses == uses
            assert (hit.memory.last_used_at is None) == (uses == 0)

    async def test_are_noted_for_a_briefing_and_not_for_a_prompt_that_is_not_sent(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        await remember(backend, firm.a, personal("I cite in Bluebook form."))
        count = "select count(*) as uses from memory_use where organization_id = %s"
        await inject(backend, firm.a, "Bluebook", None)
        assert stored(database, count, firm.a.organization_id) == [{"uses": 0}]
        await briefing(backend, firm.a, None)
        assert stored(database, count, firm.a.organization_id) == [{"uses": 1}]
