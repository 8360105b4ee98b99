"""Days in a statement: how a date reads, and days relative to the message made absolute."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t|tember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAY = f"(?:{'|'.join(_WEEKDAYS)})"
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNT = rf"(?:\d{{1,3}}|{'|'.join(_NUMBERS)})"
CALENDAR_DATE = (
    rf"(?:\d{{1,2}}(?:st|nd|rd|th|\.)?\s(?:of\s)?{MONTH}(?:,?\s\d{{4}})?|{MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s\d{{4}})?"
    rf"|{MONTH}\s\d{{4}}|\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}[/.]\d{{1,2}}(?:[/.]\d{{2,4}})?)"
)
DATE = (
    rf"(?:{CALENDAR_DATE}|\b(?:today|tonight|tomorrow)\b|\b{WEEKDAY}\b|\b(?:next|this)\s(?:week|month|quarter|year)\b"
    rf"|\bend\sof\s(?:the|this|next)?\s?(?:week|month|quarter|year|{MONTH})|\b{_COUNT}\s(?:business\s|calendar\s|working\s)?"
    r"(?:days?|weeks?|months?|years?)\b)"
)

_RELATIVE_DAY = re.compile(
    rf"\b(?P<before>on|by|until|till|before|after|from|since|for|to|than)?\s?\b"
    rf"(?:(?P<named>today|tonight|tomorrow|yesterday)|(?P<which>next|this|last)?\s?\b(?P<weekday>{WEEKDAY})"
    rf"|(?P<ahead>in\s(?P<count>{_COUNT})\s(?P<unit>days?|weeks?)))\b(?!'s|s|\s(?:morning|afternoon|evening|night)s)",
    re.IGNORECASE,
)
_NAMED_DAYS = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}


def absolute_days(text: str, now: datetime, *, weekdays: bool) -> str:
    """`text` with "tomorrow", "in ten days" and the like as dates, counted from `now`, the time of the message.

    A bare or "this" weekday is its next occurrence, "next Friday" the Friday of the following calendar
    week (weeks start on Monday). Weekdays stay when `weekdays` is false: in a habit they mean every week.
    """

    def dated(found: re.Match[str]) -> str:
        if found["weekday"] and (not weekdays or _is_habit(text[: found.start()])):
            return found.group()
        day = _day_meant(found, now.date())
        written = f"{day:%A} {day.day} {day:%B %Y}"
        before = found["before"]
        return f"{before} {written}" if before else f"{_space(found.group())}on {written}"

    return _RELATIVE_DAY.sub(dated, text)


def _space(found: str) -> str:
    return " " if found[0].isspace() else ""


def _is_habit(before: str) -> bool:
    return re.search(r"\b(?:every|each)\s*$", before, re.IGNORECASE) is not None


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
