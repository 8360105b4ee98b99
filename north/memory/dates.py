"""The dates that a question names: words that every memory has which was captured then.

What is asked about March 2025 is found among what was captured in that month, whether or not its text says so. A date
is as many words as it is written with: "11 December 2023" stands for a year, a month of it, and a day, and what was
captured the day before has two of the three. In a text each of them is a word like any other.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice

import numpy as np

from north.db.connect import Row
from north.memory.scoring import COUNTS, ids_in, places
from north.memory.terms import QUERY_CHARACTERS, terms

MOST = 8
"""How many of a question's dates count: a pasted contract is no question about each of its own."""
FIRST_YEAR = 1990
"""The first of the years in which a month is looked for that is named without one."""
EAST, WEST = timedelta(hours=14), timedelta(hours=12)
"""How long before midnight in UTC a day begins somewhere, and how long after it the day ends somewhere else."""

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTH = rf"(?P<name>{'|'.join(_MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?"
_YEAR = r"(?P<year>(?:19|20)\d\d)\b"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?\b"
_DATES = [
    re.compile(rf"\b{pattern}", re.IGNORECASE | re.ASCII)
    for pattern in (
        rf"{_YEAR}-(?P<month>\d\d)(?:-(?P<day>\d\d))?\b",
        rf"(?P<day>\d{{1,2}})\.\s?(?P<month>\d{{1,2}})\.\s?{_YEAR}",
        rf"{_YEAR}/(?P<month>\d{{1,2}})/(?P<day>\d{{1,2}})\b",
        rf"\b(?P<one>\d{{1,2}})/(?P<other>\d{{1,2}})/{_YEAR}",
        rf"{_DAY}(?:\s+of)?\s+{_MONTH}(?:,?\s+{_YEAR})?",
        rf"{_MONTH}\s+{_DAY}(?:,?\s+{_YEAR})?",
        rf"{_MONTH}(?:,?(?:\s+of)?\s+{_YEAR})?",
        _YEAR,
        r"(?P<which>this|last)\s+(?P<unit>week|month|year)\b",
        rf"(?:(?:on|since|last|this)\s+(?P<weekday>{'|'.join(_WEEKDAYS)})|(?P<near>today|yesterday))\b",
    )
]
_HINT = re.compile(rf"[12]\d\d\d|{'|'.join(name[:3] for name in _MONTHS)}|day\b|(?:this|last)\s", re.IGNORECASE)
"""Without one of these there is no date: most questions have none, and are read once."""
_ALSO_OTHER_WORDS = ("may", "march", "mar", "jan", "dec")
_BEFORE_A_MONTH = re.compile(
    r"\b(?:in|since|until|till|during|of|by|from|to|through|before|after|last|this|early|mid|late)\s+\Z", re.IGNORECASE
)

Named = tuple[str, date, date]
"""A word, the first day of what it names, and the first day after that."""


def dates_in(query: str, today: date) -> Mapping[str, str]:
    """The terms of a question that name a time, in English or in figures, and when that was.

    A month without a year is that of every year; a weekday is the last one, which may be today.

    Args:
        query: the question.
        today: the day on which it is asked.

    Returns:
        For each term its times, as Postgres reads a `tstzmultirange`.
    """
    query = query[:QUERY_CHARACTERS]
    if not _HINT.search(query):
        return {}
    times: defaultdict[str, list[str]] = defaultdict(list)
    for found in islice(_dates(query), MOST):
        for word, first, after in _named(found, today):
            (term, *_) = terms(word)
            times[term].append(f"[{_midnight(first) - EAST},{_midnight(after) + WEST})")
    return {term: f"{{{','.join(spans)}}}" for term, spans in times.items()}


def with_dated(postings: Sequence[Row], dated: Sequence[Row]) -> Sequence[Row]:
    """Where the terms of a question stand, with the memories that were captured when they name.

    Args:
        postings: the rows of `recall.postings` for a bucket.
        dated: those of `recall.dated`.
    """
    found = {row["term"]: row for row in postings}
    for row in dated:
        ids, counts = ids_in(row["ids"]), np.frombuffer(row["counts"], COUNTS)
        said = found.get(row["term"], {"df": 0, "ids": b"", "counts": b""})
        if said["ids"] is None:
            continue  # so common that it says nothing
        others = places(ids_in(said["ids"]), ids) < 0
        found[row["term"]] = {
            **said,
            "df": said["df"] + int(others.sum()),
            "ids": said["ids"] + ids[others].tobytes(),
            "counts": said["counts"] + counts[others].tobytes(),
        }
    return list(found.values())


def _dates(query: str) -> Iterator[re.Match[str]]:
    for pattern in _DATES:
        yield from pattern.finditer(query)
        query = pattern.sub(lambda found: " " * len(found[0]), query)  # its parts are no dates of their own


def _named(found: re.Match[str], today: date) -> Iterator[Named]:
    parts = found.groupdict()
    if "unit" in parts:
        yield _unit(parts["unit"].lower(), int(parts["which"].lower() == "last"), today)
        return
    if "near" in parts:
        yield _near((parts["near"] or parts["weekday"]).lower(), today)
        return
    if parts["year"]:
        yield parts["year"], date(int(parts["year"]), 1, 1), date(int(parts["year"]) + 1, 1, 1)
    if parts["year"] is None and parts.get("day") is None and _is_another_word(found):
        return
    years = [int(parts["year"])] if parts["year"] else range(FIRST_YEAR, today.year + 1)
    for word, day in _months(parts):
        for first in (date(year, _month_of(word), 1) for year in years if _month_of(word)):
            yield word, first, _next_month(first)
            if day:
                with suppress(ValueError):  # the 30th of February
                    that = first.replace(day=int(day))
                    yield day, that, that + timedelta(days=1)


def _months(parts: Mapping[str, str | None]) -> Iterator[tuple[str, str | None]]:
    """The word for a month, and that for a day of it; 12/3/2025 is both 3 December and 12 March."""
    one, other = parts.get("one"), parts.get("other")
    if one and other:
        yield one, other
        if one != other:
            yield other, one
    elif word := parts.get("name") or parts.get("month"):
        yield word, parts.get("day")


def _month_of(word: str) -> int:
    """Its number; 0 for what is none."""
    if word.isdecimal():
        return int(word) if 1 <= int(word) <= len(_MONTHS) else 0
    return next(number for number, name in enumerate(_MONTHS, 1) if name.startswith(word[:3].lower()))


def _is_another_word(found: re.Match[str]) -> bool:
    return found["name"].lower() in _ALSO_OTHER_WORDS and not _BEFORE_A_MONTH.search(found.string[: found.start()])


def _unit(word: str, back: int, today: date) -> Named:
    """This week, month or year, or the one so many before it."""
    if word == "week":
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return word, monday, monday + timedelta(days=7)
    if word == "month":
        first = (today.replace(day=1) - timedelta(days=back)).replace(day=1)
        return word, first, _next_month(first)
    return word, date(today.year - back, 1, 1), date(today.year - back + 1, 1, 1)


def _near(word: str, today: date) -> Named:
    """Today, yesterday, or the last day of this name, which may be today."""
    days = (today.weekday() - _WEEKDAYS.index(word)) % 7 if word in _WEEKDAYS else int(word == "yesterday")
    that = today - timedelta(days=days)
    return word, that, that + timedelta(days=1)


def _next_month(first: date) -> date:
    return (first + timedelta(days=31)).replace(day=1)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
