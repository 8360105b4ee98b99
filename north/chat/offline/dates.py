"""Days in a statement: how a date reads, and days relative to the message made absolute."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t|tember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b(?:\.(?= \d))?"
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAY = f"(?:{'|'.join(_WEEKDAYS)})"
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNT = rf"(?:\d{{1,3}}|{'|'.join(_NUMBERS)})"
_ORDINAL = r"(?:st|nd|rd|th)?"
_WRITTEN_DATE = (
    rf"(?:\d{{1,2}}(?:{_ORDINAL}|\.) (?:of )?{MONTH}(?:,? \d{{4}})?|{MONTH} \d{{1,2}}{_ORDINAL}\b(?:,? \d{{4}})?"
    rf"|{MONTH} \d{{4}}|\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}[/.]\d{{1,2}}(?:[/.]\d{{2,4}})?)"
)
CALENDAR_DATE = rf"(?:(?:{WEEKDAY},? )?{_WRITTEN_DATE})"
"""A day that the calendar names, with or without its year and its weekday."""

DATE = (
    rf"(?:{CALENDAR_DATE}|\b(?:today|tonight|tomorrow)\b|\b{WEEKDAY}\b|\b(?:next|this) (?:week|month|quarter|year)\b"
    rf"|\bend of (?:(?:the|this|next) )?(?:week|month|quarter|year|{MONTH})|\b{_COUNT} (?:(?:business|calendar"
    rf"|working) )?(?:days?|weeks?|months?|years?)\b)"
)
"""A day or a span of time, absolute or not."""

_RELATIVE_DAY = re.compile(
    rf"\b(?P<before>on|by|until|till|before|after|from|since|for|to|than)?\s?\b(?:(?P<named>today|tonight|tomorrow"
    rf"|yesterday)|(?P<which>next|this|last)?\s?\b(?P<weekday>{WEEKDAY})"
    rf"|(?P<ahead>in\s(?P<count>{_COUNT})\s(?P<unit>days?|weeks?)))\b(?!'s|s|\s(?:morning|afternoon|evening|night)s"
    rf"|,?\s(?:the\s)?(?:\d|{MONTH}))",
    re.IGNORECASE,
)
_EVERY = re.compile(r"\b(?:every|each)\s*$", re.IGNORECASE)
_NAMED_DAYS = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}


def absolute_days(text: str, now: datetime) -> str:
    """`text` with "tomorrow", "in ten days" and the like as dates, counted from `now`, the time of the message.

    A bare or "this" weekday is its next occurrence, "next Friday" the Friday of the following calendar
    week (weeks start on Monday). After "every" or "each" a weekday stays.
    """

    def dated(found: re.Match[str]) -> str:
        if found["weekday"] and _EVERY.search(text[: found.start()]):
            return found.group()
        day = _day_meant(found, now.date())
        written = f"{day:%A} {day.day} {day:%B %Y}"
        before = found["before"]
        return f"{before} {written}" if before else f"{_space(found.group())}on {written}"

    return _RELATIVE_DAY.sub(dated, text)


def _space(found: str) -> str:
    return " " if found[0].isspace() else ""


def _day_meant(found: re.Match[str], today: date) -> date:
    if found["named"]:
        return today + timedelta(days=_NAMED_DAYS[found["named"].lower()])
    if found["ahead"]:
        count = found["count"].lower()
        number = int(count) if count.isdigit() else _NUMBERS.index(count) + 1
        return today + timedelta(days=number * (7 if found["unit"].lower().startswith("week") else 1))
    wanted, which = _WEEKDAYS.index(found["weekday"].lower()), (found["which"] or "this").lower()
    if which == "this":
        return today + timedelta(days=(wanted - today.weekday() - 1) % 7 + 1)
    monday = today - timedelta(days=today.weekday())
    return monday + timedelta(days=wanted + (7 if which == "next" else -7))
