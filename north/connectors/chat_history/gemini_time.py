"""Times as Takeout's pages write them for people."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from north.connectors.chat_history.values import within_reason

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_HOURS = {
    **dict.fromkeys(("UTC", "GMT", "WET", "Z"), 0.0),
    **dict.fromkeys(("BST", "WEST", "CET", "MEZ"), 1.0),
    **dict.fromkeys(("CEST", "MESZ", "EET", "SAST"), 2.0),
    "EEST": 3.0,
    "MSK": 3.0,
    "IST": 5.5,
    "SGT": 8.0,
    "HKT": 8.0,
    "AWST": 8.0,
    "JST": 9.0,
    "KST": 9.0,
    "ACST": 9.5,
    "AEST": 10.0,
    "AEDT": 11.0,
    "NZST": 12.0,
    "NZDT": 13.0,
    "NST": -3.5,
    "AST": -4.0,
    "ADT": -3.0,
    "EDT": -4.0,
    "EST": -5.0,
    "CDT": -5.0,
    "CST": -6.0,
    "MDT": -6.0,
    "MST": -7.0,
    "PDT": -7.0,
    "PST": -8.0,
    "AKDT": -8.0,
    "AKST": -9.0,
    "HST": -10.0,
    "BRT": -3.0,
    "ART": -3.0,
}
"""Hours ahead of UTC; of names that several countries use, the one with more people."""
_TOLD = re.compile(
    r"""\s*(?:(?P<month>[A-Z][a-z]{2,8})\.?\ (?P<day>\d{1,2}),\ (?P<year>\d{4})       # Jan 5, 2025
    |(?P<day2>\d{1,2})\.?\ (?P<month2>[A-Z][a-z]{2,8})\.?\ (?P<year2>\d{4})           # 5 Jan 2025
    |(?P<day3>\d{1,2})[./](?P<month3>\d{1,2})[./](?P<year3>\d{4})                     # 05.01.2025
    |(?P<year4>\d{4})-(?P<month4>\d{2})-(?P<day4>\d{2}))                              # 2025-01-05
    ,?\ (?:at\ )?(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?\ ?(?P<half>[AaPp]\.?[Mm]\.?)?
    (?:\ (?P<zone>[A-Z]{1,5})?(?P<shift>[+-]\d{1,2}(?::?\d{2})?)?)?\s*""",
    re.VERBOSE,
)
_SPACES = re.compile("[\u00a0\u2007\u2009\u202f]")


def told_time(line: str) -> datetime | None:
    """The time that a whole line tells, such as `Jan 5, 2025, 3:04:05 PM CET`; None when it tells something else.

    A zone that is not known counts as UTC.
    """
    found = _TOLD.fullmatch(_SPACES.sub(" ", line)) if len(line) < 80 else None
    if not found:
        return None
    hour = int(found["hour"])
    if half := found["half"]:
        hour = hour % 12 + (12 if half[0] in "Pp" else 0)
    try:
        day, month, year = int(_first(found, "day")), _month(_first(found, "month")), int(_first(found, "year"))
        zone = timezone(timedelta(hours=_zone(found["zone"], found["shift"])))
        return within_reason(
            datetime(year, month, day, hour, int(found["minute"]), int(found["second"] or 0), tzinfo=zone)
        )
    except ValueError:
        return None


def _first(found: re.Match[str], name: str) -> str:
    return next(found[group] for group in (name, f"{name}2", f"{name}3", f"{name}4") if found[group])


def _month(name: str) -> int:
    return int(name) if name.isdigit() else _MONTHS.index(name[:3].lower()) + 1


def _zone(name: str | None, shift: str | None) -> float:
    if not shift:
        return _HOURS.get(name or "UTC", 0.0)
    digits = shift[1:].replace(":", "")
    hours = int(digits[:-2]) + int(digits[-2:]) / 60 if len(digits) > 2 else int(digits)
    return -hours if shift.startswith("-") else hours
