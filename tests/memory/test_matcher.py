"""Which memory an update means."""

from __future__ import annotations

import pytest

from north.memory.backend import Backend
from north.memory.matcher import Match, match
from north.memory.save import save
from north.model import Caller, Draft, MemoryType, Saved, Scope
from tests.conftest import FirmOfTest

LEEDS = "The hearing in Leeds is on 4 May 2027."


async def known(backend: Backend, caller: Caller, *contents: str, matter: str | None = None) -> None:
    scope = Scope.MATTER if matter else Scope.USER_PRIVATE
    outcomes = await save(backend, caller, [Draft(content, MemoryType.FACT, scope, matter) for content in contents])
    assert all(isinstance(outcome, Saved) for outcome in outcomes)


def said(found: Match) -> str | None:
    return found.memory.content if found.memory else None


@pytest.mark.parametrize(
    ("about", "meant"),
    [
        ("hearing in Leeds", LEEDS),
        ("the Leeds hearing date", LEEDS),
        ("memo length", "Ana prefers short memos of two pages."),
        ("the client's state of incorporation is Delaware", "The client is a Delaware LLC."),
    ],
)
async def test_a_description_means_the_memory_that_says_it(
    backend: Backend, firm: FirmOfTest, about: str, meant: str
) -> None:
    await known(backend, firm.a, LEEDS, "Ana prefers short memos of two pages.", "The client is a Delaware LLC.")
    assert said(await match(backend, firm.a, about, None)) == meant


async def test_a_text_that_is_remembered_word_for_word_is_meant_whatever_stands_close(
    backend: Backend, firm: FirmOfTest
) -> None:
    await known(backend, firm.a, LEEDS, "The hearing in Leeds is on 11 June 2027.")
    assert said(await match(backend, firm.a, LEEDS, None)) == LEEDS


async def test_several_that_fit_are_candidates_and_none_is_chosen(backend: Backend, firm: FirmOfTest) -> None:
    await known(backend, firm.a, LEEDS, "The hearing in Leeds is before Judge Orr.", "Ana drinks tea.")
    found = await match(backend, firm.a, "hearing in Leeds", None)
    assert found.memory is None
    assert sorted(memory.content for memory in found.candidates) == [
        "The hearing in Leeds is before Judge Orr.",
        LEEDS,
    ]


async def test_one_in_each_bucket_are_candidates(backend: Backend, firm: FirmOfTest) -> None:
    await known(backend, firm.a, LEEDS)
    await known(backend, firm.a, LEEDS, matter="HV-1001")
    assert len((await match(backend, firm.a, "hearing in Leeds", "HV-1001")).candidates) == 2


async def test_nothing_that_fits_means_nothing(backend: Backend, firm: FirmOfTest) -> None:
    await known(backend, firm.a, LEEDS)
    assert await match(backend, firm.a, "seat of the arbitration", None) == Match(None)


async def test_the_meant_memory_is_found_among_many(backend: Backend, firm: FirmOfTest) -> None:
    await known(backend, firm.a, LEEDS)
    await known(backend, firm.a, *(f"Hearing number {number} of the term took place." for number in range(60)))
    assert said(await match(backend, firm.a, "hearing in Leeds", None)) == LEEDS
