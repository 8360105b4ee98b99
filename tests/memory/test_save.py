"""The door: what becomes of what somebody asks North to remember."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from north.errors import (
    ContentEmpty,
    ContentNotText,
    ContentTooLong,
    InvalidInput,
    MatterNotAllowed,
    MatterNotFound,
    MatterRequired,
    NorthError,
)
from north.memory.backend import Backend
from north.memory.edit import archive
from north.memory.recall import recall
from north.memory.rules import create_rule, list_rules
from north.memory.save import save
from north.memory.wall import record_consultation
from north.model import (
    AlreadyKnown,
    Draft,
    MemoryType,
    Origin,
    RefusedByRule,
    RefusedByWall,
    Saved,
    Scope,
    new_id,
)
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.remembering import count, everything, of_firm, on_matter, personal, remember, stored

BLUEBOOK = "I always want citations in Bluebook form."


class TestSaved:
    async def test_is_live_as_it_was_said(self, backend: Backend, firm: FirmOfTest) -> None:
        (outcome,) = await save(backend, firm.a, [personal(f"  {BLUEBOOK}\r\n", MemoryType.PREFERENCE)])
        assert isinstance(outcome, Saved)
        memory = outcome.memory
        assert (memory.content, memory.status, memory.type) == (BLUEBOOK, "active", MemoryType.PREFERENCE)
        assert (memory.scope, memory.matter, memory.origin) == (Scope.USER_PRIVATE, None, Origin.API)
        assert memory.captured_by is not None and memory.captured_by.name == "Ana Ruiz"
        assert await everything(backend, firm.a) == [BLUEBOOK]

    async def test_is_in_the_next_recall(self, backend: Backend, firm: FirmOfTest) -> None:
        memory = await remember(backend, firm.a, BLUEBOOK)
        found = await recall(backend, firm.a, "How do I cite a case?")
        assert [hit.memory.id for hit in found.personal] == [memory.id]

    async def test_on_a_matter_by_its_number_or_its_id(self, backend: Backend, firm: FirmOfTest) -> None:
        by_number = await remember(backend, firm.a, on_matter("The client is a Delaware LLC."))
        by_id = await remember(backend, firm.a, on_matter("The seat is in Dover.", str(firm.matter.id)))
        assert by_number.matter is not None and by_id.matter is not None
        assert by_number.matter.id == by_id.matter.id == firm.matter.id

    async def test_keeps_its_source_evidence_and_time(self, backend: Backend, firm: FirmOfTest) -> None:
        then = datetime(2024, 3, 1, 12, tzinfo=UTC)
        thread, message = new_id(), new_id()
        draft = replace(personal(BLUEBOOK), evidence="always Bluebook", source_label="Export", captured_at=then)
        memory = await remember(backend, replace(firm.a, thread_id=thread, message_id=message), draft)
        assert (memory.evidence, memory.created_at) == ("always Bluebook", then)
        assert memory.source is not None
        assert (memory.source.thread_id, memory.source.message_id) == (thread, message)
        assert (memory.source.label, memory.source.yours) == ("Export", True)

    async def test_in_each_place_of_its_own(self, backend: Backend, firm: FirmOfTest) -> None:
        text = "The code word is Heron."
        drafts = [personal(text), on_matter(text), on_matter(text, "HV-1002"), of_firm(text)]
        assert all(isinstance(outcome, Saved) for outcome in await save(backend, firm.a, drafts))
        (colleagues,) = await save(backend, firm.b, [personal(text)])
        assert isinstance(colleagues, Saved)


class TestAlreadyKnown:
    @pytest.mark.parametrize(
        "again",
        [
            "The client is Müller & Søn, Room 5.",
            "the CLIENT is müller & SØN, room 5.",
            " The client  is\tMüller &\n Søn, Room 5. ",
            "The client is Mu\u0308ller & Søn, Room 5.",
            "Ｔｈｅ client is Müller ＆ Søn, Room ５.",
        ],
        ids=["same", "case", "white space", "composition", "compatibility"],
    )
    async def test_when_only_the_form_differs(self, backend: Backend, firm: FirmOfTest, again: str) -> None:
        first = await remember(backend, firm.a, "The client is Müller & Søn, Room 5.")
        (outcome,) = await save(backend, firm.a, [personal(again, MemoryType.PARTY)])
        assert isinstance(outcome, AlreadyKnown)
        assert outcome.memory == first

    async def test_to_the_whole_firm_on_a_matter(self, backend: Backend, firm: FirmOfTest) -> None:
        first = await remember(backend, firm.a, on_matter("The client is a Delaware LLC."))
        (outcome,) = await save(backend, firm.b, [on_matter("the client is a delaware llc.")])
        assert isinstance(outcome, AlreadyKnown) and outcome.memory.id == first.id

    @pytest.mark.parametrize("other", ["The fee is 5.", "The fee is 50!", "The fee is 50 EUR."])
    async def test_not_when_a_word_differs(self, backend: Backend, firm: FirmOfTest, other: str) -> None:
        await remember(backend, firm.a, "The fee is 50.")
        await remember(backend, firm.a, other)


class TestRefused:
    async def test_by_a_rule_which_it_names(self, backend: Backend, firm: FirmOfTest, database: TestDatabase) -> None:
        rule = await create_rule(backend, firm.a, "never_remember", None, None, "home address")
        (outcome,) = await save(backend, firm.a, [personal("Her home addresses are in Kent.")])
        assert outcome == RefusedByRule(rule)
        assert await everything(backend, firm.a) == []
        assert [each.refused for each in await list_rules(backend, firm.a)] == [1]
        assert count(database, "memory_term", firm.a) == 0

    async def test_by_ones_own_rules_alone(self, backend: Backend, firm: FirmOfTest) -> None:
        await create_rule(backend, firm.a, "never_remember", None, None, None)
        await remember(backend, firm.b, "My secretary is Pat.")

    @pytest.mark.parametrize("shared", [on_matter("The seller is Orion."), of_firm("Our seller is Orion.")])
    async def test_by_the_wall_for_what_the_firm_shares(
        self, backend: Backend, firm: FirmOfTest, shared: Draft
    ) -> None:
        tainted = replace(firm.a, thread_id=new_id())
        await record_consultation(backend, tainted, "netdocuments")
        outcomes = await save(backend, tainted, [shared, personal("I prefer short memos.")])
        assert outcomes[0] == RefusedByWall("NetDocuments")
        assert isinstance(outcomes[1], Saved), "personal memory stays allowed"
        (elsewhere,) = await save(backend, replace(firm.a, thread_id=new_id()), [shared])
        assert isinstance(elsewhere, Saved), "another thread has read nothing"

    async def test_in_a_batch_without_stopping_the_others(self, backend: Backend, firm: FirmOfTest) -> None:
        rule = await create_rule(backend, firm.a, "never_remember", None, MemoryType.DEADLINE, None)
        outcomes = await save(
            backend, firm.a, [personal("One."), personal("Two.", MemoryType.DEADLINE), personal("Three.")]
        )
        assert [type(outcome) for outcome in outcomes] == [Saved, RefusedByRule, Saved]
        assert outcomes[1] == RefusedByRule(rule)


INVALID: dict[str, tuple[Draft, type[NorthError]]] = {
    "empty": (personal(""), ContentEmpty),
    "white space": (personal(" \t\r\n\u3000"), ContentEmpty),
    "invisible": (personal("\u200b\u2060\ufeff"), ContentEmpty),
    "too long": (personal("a" * 2001), ContentTooLong),
    "far too long": (personal("a\u0301" * 1_000_000), ContentTooLong),
    "a NUL": (personal("one\0two"), ContentNotText),
    "a lone surrogate": (personal("one\ud800two"), ContentNotText),
    "no matter": (Draft("Text.", MemoryType.FACT, Scope.MATTER), MatterRequired),
    "a matter too many": (Draft("Text.", MemoryType.FACT, Scope.USER_PRIVATE, "HV-1001"), MatterNotAllowed),
    "a firm's matter": (Draft("Text.", MemoryType.FACT, Scope.FIRM_GLOBAL, "HV-1001"), MatterNotAllowed),
    "an unknown matter": (on_matter("Text.", "HV-9999"), MatterNotFound),
    "an unknown matter's id": (on_matter("Text.", str(new_id())), MatterNotFound),
    "a matter that is no line": (on_matter("Text.", "HV\n\0"), MatterNotFound),
    "a matter that is a surrogate": (on_matter("Text.", "HV\udc00"), MatterNotFound),
    "evidence with a NUL": (replace(personal("Text."), evidence="a\0"), ContentNotText),
    "evidence with a surrogate": (replace(personal("Text."), evidence="a\udfff"), ContentNotText),
    "evidence without end": (replace(personal("Text."), evidence="a" * 10_001), InvalidInput),
    "a label with a line break": (replace(personal("Text."), source_label="a\nb"), InvalidInput),
    "a label with a surrogate": (replace(personal("Text."), source_label="a\ud900"), InvalidInput),
}


class TestInvalid:
    @pytest.mark.parametrize(("draft", "error"), INVALID.values(), ids=INVALID)
    async def test_is_an_error_and_nothing_of_the_batch_is_written(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase, draft: Draft, error: type[NorthError]
    ) -> None:
        with pytest.raises(error):
            await save(backend, firm.a, [personal("Good."), draft, personal("Also good.")])
        assert await everything(backend, firm.a) == []
        assert count(database, "product_event", firm.a) == 0

    async def test_another_firms_matter_is_one_that_does_not_exist(
        self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest
    ) -> None:
        told = []
        for matter in (rival.matter.id, new_id()):
            with pytest.raises(MatterNotFound) as error:
                await save(backend, firm.a, [on_matter("Text.", str(matter))])
            told.append((str(error.value), error.value.detail))
        assert told[0] == told[1]

    @pytest.mark.parametrize("number", [0, 501])
    async def test_is_a_batch_of_none_or_too_many(self, backend: Backend, firm: FirmOfTest, number: int) -> None:
        with pytest.raises(InvalidInput, match="1 to 500"):
            await save(backend, firm.a, [personal(f"Fact {n}.") for n in range(number)])

    async def test_is_not_what_stays_within_the_limit_when_trimmed(self, backend: Backend, firm: FirmOfTest) -> None:
        longest = "e\u0301" * 2000
        memory = await remember(backend, firm.a, f"\n{longest}\n")
        assert memory.content == "é" * 2000


class TestBatch:
    async def test_says_the_same_twice_and_is_saved_once(self, backend: Backend, firm: FirmOfTest) -> None:
        first, second, other = await save(
            backend, firm.a, [personal("The fee is 50."), personal("the fee  is 50."), personal("Other.")]
        )
        assert isinstance(first, Saved) and isinstance(second, AlreadyKnown) and isinstance(other, Saved)
        assert second.memory.id == first.memory.id

    async def test_of_the_greatest_size_is_saved_whole(self, backend: Backend, firm: FirmOfTest) -> None:
        outcomes = await save(backend, firm.a, [personal(f"Exhibit {number} is filed.") for number in range(500)])
        assert len({outcome.memory.id for outcome in outcomes if isinstance(outcome, Saved)}) == 500


class TestAtOnce:
    async def test_twenty_saves_of_one_fact_leave_one_live_row(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        drafts = [on_matter(f"The hearing is on 3 June.{' ' * number}") for number in range(20)]
        callers = [firm.a, firm.b] * 10
        answers = await asyncio.gather(
            *(save(backend, caller, [draft]) for caller, draft in zip(callers, drafts, strict=True))
        )
        outcomes = [outcome for (outcome,) in answers]
        assert sum(isinstance(outcome, Saved) for outcome in outcomes) == 1
        assert sum(isinstance(outcome, AlreadyKnown) for outcome in outcomes) == 19
        assert len({outcome.memory.id for outcome in outcomes if isinstance(outcome, Saved | AlreadyKnown)}) == 1
        assert count(database, "agent_memory_candidate", firm.a) == 1

    async def test_batches_in_opposite_order_do_not_block_each_other(self, backend: Backend, firm: FirmOfTest) -> None:
        texts = [f"Witness {number} is called." for number in range(10)]
        await asyncio.gather(
            *(save(backend, firm.a, [on_matter(text) for text in (texts, texts[::-1])[n % 2]]) for n in range(6))
        )
        assert sorted(await everything(backend, firm.b)) == sorted(texts)


class TestHints:
    async def test_name_what_is_close_and_merge_nothing(self, backend: Backend, firm: FirmOfTest) -> None:
        old = await remember(backend, firm.a, on_matter("The answer is due on 12 June 2026."))
        await remember(backend, firm.a, on_matter("The client is a Delaware LLC."))
        await remember(backend, firm.a, on_matter("The answer is due on 12 June 2026, too.", "HV-1002"))
        await remember(backend, firm.b, personal("The answer is due on 12 June 2026, privately."))
        (outcome,) = await save(backend, firm.a, [on_matter("The answer is due on 14 June 2026.")])
        assert isinstance(outcome, Saved)
        assert [memory.id for memory in outcome.similar] == [old.id]
        assert len(await everything(backend, firm.a)) == 4

    async def test_do_not_name_what_was_deleted(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        old = await remember(backend, firm.a, "The answer is due on 12 June 2026.")
        await archive(backend, firm.a, old.id)
        (outcome,) = await save(backend, firm.a, [personal("The answer is due on 14 June 2026.")])
        assert isinstance(outcome, Saved) and outcome.similar == ()


class TestEvents:
    async def test_tell_each_decision_and_hold_no_text(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        rule = await create_rule(backend, firm.a, "never_remember", None, None, "Zebra")
        tainted = replace(firm.a, thread_id=new_id())
        await record_consultation(backend, tainted, "netdocuments")
        drafts = [personal("Quokka one."), personal("Quokka one."), personal("Zebra two."), on_matter("Ocelot three.")]
        outcomes = await save(backend, tainted, drafts)
        assert isinstance(outcomes[0], Saved)
        events = stored(
            database, "select * from product_event where organization_id = %s order by id", firm.a.organization_id
        )
        assert [(event["name"], event["subject_id"]) for event in events] == [
            ("memory_saved", outcomes[0].memory.id),
            ("memory_already_known", outcomes[0].memory.id),
            ("memory_refused", rule.id),
            ("memory_refused", None),
        ]
        assert not any(word in str(events).lower() for word in ("quokka", "zebra", "ocelot"))
