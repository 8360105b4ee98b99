"""A question that names a date finds what was captured then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from north.memory.backend import Backend
from north.memory.both_buckets import rank_buckets
from north.memory.dates import EAST, MOST, WEST, dates_in
from north.memory.ranking import WEIGHTS
from north.memory.save import save
from north.memory.sizes import Sizes
from north.model import Draft, MemoryType, Scope
from tests.conftest import FirmOfTest

TODAY = date(2026, 12, 1)  # a Tuesday


def days(*spans: tuple[date, date]) -> str:
    """From the first of each to the last of each, wherever somebody lives through them."""
    midnights = ([datetime(day.year, day.month, day.day, tzinfo=UTC) for day in span] for span in spans)
    return f"{{{','.join(f'[{first - EAST},{last + timedelta(days=1) + WEST})' for first, last in midnights)}}}"


def year(of: int) -> str:
    return days((date(of, 1, 1), date(of, 12, 31)))


def day(*numbers: int) -> str:
    return days((date(*numbers), date(*numbers)))


DECEMBER = days((date(2023, 12, 1), date(2023, 12, 31)))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What was said on 11 December 2023?", {"2023": year(2023), "decemb": DECEMBER, "11": day(2023, 12, 11)}),
        (
            "what was said on the 11th of december, 2023",
            {"2023": year(2023), "decemb": DECEMBER, "11": day(2023, 12, 11)},
        ),
        ("December 11, 2023", {"2023": year(2023), "decemb": DECEMBER, "11": day(2023, 12, 11)}),
        ("2023-12-11", {"2023": year(2023), "12": DECEMBER, "11": day(2023, 12, 11)}),
        ("am 11.12.2023", {"2023": year(2023), "12": DECEMBER, "11": day(2023, 12, 11)}),
        ("2023/12/11", {"2023": year(2023), "12": DECEMBER, "11": day(2023, 12, 11)}),
        ("12/31/2023", {"2023": year(2023), "12": DECEMBER, "31": day(2023, 12, 31)}),
        ("31/12/2023", {"2023": year(2023), "12": DECEMBER, "31": day(2023, 12, 31)}),
        ("12/12/2023", {"2023": year(2023), "12": f"{DECEMBER[:-1]},{day(2023, 12, 12)[1:]}"}),
        ("30/31/2023", {"2023": year(2023)}),
        ("since Dec. 2023", {"2023": year(2023), "dec": DECEMBER}),
        ("in 2023", {"2023": year(2023)}),
        ("yesterday", {"yesterday": day(2026, 11, 30)}),
        ("today", {"today": day(2026, 12, 1)}),
        ("on Tuesday", {"tuesday": day(2026, 12, 1)}),
        ("on Wednesday", {"wednesday": day(2026, 11, 25)}),
        ("Last week?", {"week": days((date(2026, 11, 23), date(2026, 11, 29)))}),
        ("this month", {"month": days((date(2026, 12, 1), date(2026, 12, 31)))}),
        ("last month", {"month": days((date(2026, 11, 1), date(2026, 11, 30)))}),
        ("last year", {"year": year(2025)}),
    ],
)
def test_dates_are_read_as_they_are_written(query: str, expected: dict[str, str]) -> None:
    assert dates_in(query, TODAY) == expected


@pytest.mark.parametrize(
    "query",
    [
        *("Send it by Friday.", "The Monday meeting is next Tuesday."),
        *("What may the client do?", "He will march to court.", "May we settle?", "Call Jan about the bond."),
        *("Section 20 of the lease, 45 days", "30 people", "1,990 pages", "2099", "the last clause of this deed", ""),
    ],
)
def test_what_is_no_date_is_none(query: str) -> None:
    assert not set(dates_in(query, TODAY)) - {"2099"}


def test_a_month_without_a_year_is_that_of_every_year() -> None:
    found = dates_in("What did we agree in March?", TODAY)["march"]
    assert days((date(2026, 3, 1), date(2026, 3, 31)))[1:-1] in found
    assert days((date(1999, 3, 1), date(1999, 3, 31)))[1:-1] in found


def test_a_day_that_does_not_exist_is_left_out() -> None:
    assert set(dates_in("on 30 February 2024, or 2024-13-01", TODAY)) == {"2024", "februari"}


def test_the_first_dates_of_a_long_text_count() -> None:
    assert set(dates_in(" ".join(map(str, range(1990, 2020))), TODAY)) == {str(1990 + n) for n in range(MOST)}


CAPTURED = {
    "Round one of the settlement talks was long.": datetime(2024, 3, 12, tzinfo=UTC),
    "Round two of the settlement talks was long.": datetime(2025, 3, 31, 23, tzinfo=UTC),
    "Round six of the settlement talks was long.": datetime(2025, 4, 9, tzinfo=UTC),
    "Round ten of the settlement talks was long.": datetime(2025, 11, 9, tzinfo=UTC),
}
ONE, TWO, SIX, TEN = CAPTURED
WAYS = {"at hand": Sizes(), "listed": Sizes(small=0), "large": Sizes(large=0)}


BY_WORDS = replace(WEIGHTS, meaning=0.0)
"""Among four memories that mean much the same, the nearest meaning would decide."""


async def asked(backend: Backend, firm: FirmOfTest, query: str) -> Sequence[str]:
    found = await rank_buckets(backend, firm.a, query, "HV-1001", 10, BY_WORDS)
    return [hit.memory.content for hit in found.matter]


@pytest.fixture
async def of_years(backend: Backend, firm: FirmOfTest) -> Backend:
    """Talks of two years, each from a source of its own."""
    drafts = [
        Draft(content, MemoryType.FACT, Scope.MATTER, "HV-1001", source_label=content, captured_at=at)
        for content, at in CAPTURED.items()
    ]
    await save(backend, firm.a, drafts)
    await backend.backlog.settled(firm.a.organization_id, seconds=60)
    return backend


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("when", "first"),
    [
        ("in April 2025", [SIX, TWO]),
        ("in March 2024", [ONE]),
        ("on 31 March 2025", [TWO]),
        ("on 1 April 2025", [TWO]),  # in Tokyo it was when round two was captured
        ("in 2024", [ONE]),
        ("2025-11-09", [TEN]),
        ("in November", [TEN]),
        ("on 4/9/2025", [SIX]),
        ("on 9/4/2025", [SIX]),
    ],
)
async def test_what_was_captured_then_comes_first(
    of_years: Backend, firm: FirmOfTest, way: str, when: str, first: list[str]
) -> None:
    of_years = replace(of_years, sizes=WAYS[way])
    query = f"How long were the settlement talks {when}?"
    await asked(of_years, firm, query)  # from here on, its vectors are kept and its size is known
    found = await asked(of_years, firm, query)
    assert set(found[: len(first)]) == set(first)
    assert set(found) == set(CAPTURED)


async def test_a_text_that_says_so_is_found_as_well(of_years: Backend, firm: FirmOfTest) -> None:
    said = "Settlement talks are to go on in April 2025."
    await save(of_years, firm.a, [Draft(said, MemoryType.FACT, Scope.MATTER, "HV-1001", source_label=said)])
    found = await asked(of_years, firm, "What of the settlement talks in April 2025?")
    assert set(found[:2]) == {said, SIX}


async def test_what_a_colleague_captured_for_himself_is_not(of_years: Backend, firm: FirmOfTest) -> None:
    april = CAPTURED[SIX]
    await save(of_years, firm.b, [Draft("Bring flowers.", MemoryType.FACT, Scope.USER_PRIVATE, captured_at=april)])
    found = await rank_buckets(of_years, firm.a, "What happened in April 2025?", None, 10)
    assert found.personal == ()
