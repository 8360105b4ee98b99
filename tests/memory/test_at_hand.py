"""A small bucket is read whole while the question is embedded, and answers as Postgres would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import numpy as np
import pytest

from north.memory import at_hand
from north.memory.backend import Backend
from north.memory.buckets import make_question, own_bucket
from north.memory.edit import archive, edit
from north.memory.looking import look
from north.memory.ranking import WEIGHTS
from north.memory.recall import recall
from north.memory.save import save
from north.memory.scoring import ID, Likely
from north.memory.sizes import Sizes
from north.model import Caller, Confidence, Draft, MemoryType, Recall, Recalled, Scope, new_id
from tests.conftest import FirmOfTest
from tests.memory.asking import Asked
from tests.memory.remembering import on_matter, personal, remember

pytestmark = pytest.mark.usefixtures("new_vectors_are_awaited")

QUESTION = "How does the client pay?"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """The statements that read memories as they are shown."""
    return Asked(monkeypatch, but=("listed", "postings", "uses_of_whole", "compared", "vectors", "vectors_of"))


async def seen_before(backend: Backend, caller: Caller, matter: str | None = None) -> None:
    """Ask, so that the size of the buckets is known, and their vectors are kept."""
    await recall(backend, caller, "Who is it?", matter)


def both(found: Recall) -> list[Recalled]:
    """What was found in both buckets."""
    return [*found.personal, *found.matter]


def scoreless(found: Recall) -> list[Recalled]:
    """What was found, without what differs in its last digits, or counts that it was shown."""
    return [
        replace(hit, score=0, cosine=None, memory=replace(hit.memory, uses=0, last_used_at=None)) for hit in both(found)
    ]


async def test_answers_with_the_same_as_postgres(backend: Backend, firm: FirmOfTest, asked: Asked) -> None:
    now = backend.database.now()
    await save(
        backend,
        firm.a,
        [
            personal("Bill by the hour."),
            personal("Bill in Swiss francs.", MemoryType.INSTRUCTION),
            Draft("Bill monthly.", MemoryType.FACT, captured_at=now - timedelta(days=400)),
            Draft("Bill late.", MemoryType.PREFERENCE, confidence=Confidence.LOW, evidence="He said so.\x85"),
            on_matter("The client pays in thirty days."),
            Draft(
                "The client pays by wire – “Üxküll & Søn”.", MemoryType.FACT, Scope.MATTER, "HV-1001", source_label="m1"
            ),
        ],
    )
    await save(backend, firm.b, [on_matter("The client never pays in cash.")])
    await seen_before(backend, firm.a, "HV-1001")
    asked.taken()
    at_once = await recall(backend, firm.a, QUESTION, "HV-1001")
    assert asked.taken() == ["whole"]
    by_postgres = await recall(replace(backend, sizes=Sizes(small=0)), firm.a, QUESTION, "HV-1001")
    assert asked.taken() == ["best", "best"]
    assert len(at_once.memories) == 7
    assert scoreless(at_once) == scoreless(by_postgres)
    for one, other in zip(at_once.memories, by_postgres.memories, strict=True):
        assert other.uses == one.uses + 1
    for hit, same in zip(both(at_once), both(by_postgres), strict=True):
        assert hit.score == pytest.approx(same.score) and hit.cosine == pytest.approx(same.cosine, abs=1e-3)


async def test_counts_the_uses_of_each(backend: Backend, firm: FirmOfTest) -> None:
    await remember(backend, firm.a, personal("I cite in Bluebook form."))
    await seen_before(backend, firm.a)
    await remember(backend, firm.a, personal("I take my coffee black."))
    await seen_before(backend, firm.a)
    found = (await recall(backend, firm.a, "How do I quote?")).memories
    assert {memory.content: memory.uses for memory in found} == {
        "I cite in Bluebook form.": 2,
        "I take my coffee black.": 1,
    }
    assert all(memory.last_used_at for memory in found)


async def test_a_long_memory_is_read_by_itself(backend: Backend, firm: FirmOfTest, asked: Asked) -> None:
    long = "The client pays " + "slowly and " * 170 + "in May."
    evidence = "He said it." * 500
    await remember(backend, firm.a, personal("I cite in Bluebook form."))
    await remember(backend, firm.a, Draft(long, MemoryType.FACT, evidence=evidence))
    await seen_before(backend, firm.a)
    asked.taken()
    (hit,) = (await recall(backend, firm.a, QUESTION, limit=1)).personal
    assert (hit.memory.content, hit.memory.evidence) == (long, evidence)
    assert asked.taken() == ["whole", "best"]
    (hit,) = (await recall(backend, firm.a, "bluebook", limit=1)).personal
    assert hit.memory.content == "I cite in Bluebook form."
    assert asked.taken() == ["whole"], "it is not among the best"


async def test_one_that_was_deleted_between_the_list_and_the_reading_is_left_to_postgres(
    backend: Backend, firm: FirmOfTest
) -> None:
    memory = await remember(backend, firm.a, personal("I cite in Bluebook form."))
    sizes, question = Sizes(), make_question("bluebook", "no model", WEIGHTS, 12)
    sizes.note(own_bucket(firm.a), 1)
    async with backend.database.tenant(firm.a) as transaction:
        looking = await look(transaction, sizes, [own_bucket(firm.a)], question)
    (seen,) = await looking.seen(None, sizes)
    whole = seen.at_hand
    assert whole is not None

    async def best(*ids: UUID) -> Sequence[UUID] | None:
        listed = np.frombuffer(b"".join(each.bytes for each in ids), ID)
        rows = await whole.best(Likely(listed, np.ones(len(ids)), np.ones(len(ids))), 12)
        return None if rows is None else [row["id"] for row in rows]

    assert await best(memory.id) == [memory.id]
    assert await best(memory.id, new_id()) is None


async def test_one_that_has_grown_meanwhile_is_read_no_further_than_a_small_one(
    backend: Backend, firm: FirmOfTest, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at_hand, "MOST", 1)
    await remember(backend, firm.a, personal("I cite in Bluebook form."))
    await seen_before(backend, firm.a)
    await save(backend, firm.a, [personal("I take my coffee black."), personal("I write in short words.")])
    await backend.backlog.settled(firm.a.organization_id, seconds=60)
    asked.taken()
    for _ in range(2):
        assert len((await recall(backend, firm.a, QUESTION)).personal) == 3
    assert asked.taken() == ["whole", "best", "whole", "best"]


async def test_a_bucket_is_not_read_whole_beside_one_that_is_asked_anyway(
    backend: Backend, firm: FirmOfTest, asked: Asked
) -> None:
    three = replace(backend, sizes=Sizes(small=3))
    for text in ("I cite in Bluebook form.", "I take my coffee black."):
        await remember(backend, firm.a, personal(text))
        await remember(backend, firm.a, on_matter(text))
    await seen_before(three, firm.a, "HV-1001")
    asked.taken()
    assert len((await recall(three, firm.a, QUESTION, "HV-1001")).memories) == 4
    assert asked.taken() == ["best", "best"]
    assert len((await recall(three, firm.a, QUESTION)).memories) == 2
    assert asked.taken() == ["whole"]


async def test_an_empty_bucket_is_small_too(backend: Backend, firm: FirmOfTest, asked: Asked) -> None:
    await remember(backend, firm.a, on_matter("The client pays in thirty days."))
    await seen_before(backend, firm.a, "HV-1001")
    asked.taken()
    assert len((await recall(backend, firm.a, QUESTION, "HV-1001")).memories) == 1
    assert asked.taken() == ["whole"]


async def test_what_was_saved_edited_or_deleted_since_the_last_answer_is_in_the_next(
    backend: Backend, firm: FirmOfTest
) -> None:
    async def texts(caller: Caller) -> set[str]:
        return {memory.content for memory in (await recall(backend, caller, QUESTION, "HV-1001")).memories}

    first = await remember(backend, firm.a, on_matter("The client pays in thirty days."))
    for caller in (firm.a, firm.b):
        assert await texts(caller) == {"The client pays in thirty days."}
    second = await remember(backend, firm.b, on_matter("The client pays by wire."))
    for caller in (firm.a, firm.b):
        assert await texts(caller) == {"The client pays in thirty days.", "The client pays by wire."}
    await edit(backend, firm.a, first.id, "The client pays at once.")
    for caller in (firm.a, firm.b):
        assert await texts(caller) == {"The client pays at once.", "The client pays by wire."}
    await archive(backend, firm.b, second.id)
    for caller in (firm.a, firm.b):
        assert await texts(caller) == {"The client pays at once."}


async def test_shows_nothing_past_the_walls(backend: Backend, firm: FirmOfTest, rival: FirmOfTest) -> None:
    everyone = [(firm.a, "Ana's"), (firm.b, "Ben's"), (rival.a, "the rival's")]
    for caller, whose in everyone:
        await remember(backend, caller, personal(f"The secret is {whose}."))
    for caller, whose in everyone * 3:
        found = await recall(backend, caller, "What is the secret?", "HV-1001")
        assert [memory.content for memory in found.memories] == [f"The secret is {whose}."]
