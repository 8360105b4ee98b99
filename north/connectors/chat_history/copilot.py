"""Copilot: `copilot-activity-history.csv`, one message a row, newest first.

A row names its conversation by title alone, and a title may come back. Rows of one title are one conversation as long
as no more than `LONGEST_PAUSE` lies between two of them: two talks under one title are told apart, and a later export,
in which a conversation has gone on, still begins with the same message, from which its key is made.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Literal

from north.connectors.chat_history.document import Document
from north.connectors.chat_history.gathering import Gathered, Gathering
from north.connectors.chat_history.shapes import Broken, Conversation, Item, Skipped, Turn
from north.connectors.chat_history.values import clean, fingerprint, moment, title_of

SOURCE = "copilot"
LONGEST_PAUSE = timedelta(hours=12)
_COLUMNS = ("conversation", "time", "author", "message")
_ROLES: dict[str, Literal["user", "assistant"]] = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "copilot": "assistant",
}
_TOO_LONG = "a line that is too long to be held\n"
"""In the place of such a line: one column, so it is reported like any damaged row."""
_LONGEST_FIELD = 4 * 1024 * 1024
"""Characters; a quote that is never closed would make one field of the rest of the file."""


def is_header(line: str) -> bool:
    """Whether a first line names the columns of Copilot's history."""
    return set(_COLUMNS) <= set(_names(line[:1000]))


def read(document: Document) -> Iterator[Item]:
    """Each conversation once its rows are over; see `gathering` for files larger than memory."""
    gathering = Gathering()
    for row in _rows(document):
        if isinstance(row, Broken):
            yield row
            continue
        title, turn = row
        thread = gathering.of(title)
        if thread.turns and _is_another(thread.turns[-1].at, turn.at):
            yield _conversation(gathering.close(title))
            thread = gathering.of(title)
        gathering.add(thread, turn)
        for full in gathering.overflow():
            yield _conversation(full)
    for thread in gathering.rest():
        yield _conversation(thread)


def _names(line: str) -> list[str]:
    try:
        return [name.strip().lower() for name in next(csv.reader([line]), [])]
    except csv.Error:
        return []


def _rows(document: Document) -> Iterator[tuple[str, Turn] | Broken]:
    """The messages; damaged rows that follow one another are one problem."""
    csv.field_size_limit(_LONGEST_FIELD)
    lines = (line if line is not None else _TOO_LONG for line in document.lines())
    names = _names(next((line for line in lines if line.strip()), ""))
    rows = csv.reader(lines)
    damaged_from = 0
    for row in _undamaged(rows):
        if row is not None and len(row) == len(names):
            if damaged_from:
                yield _damage(damaged_from, rows.line_num - 1)
            damaged_from = 0
            fields = dict(zip(names, row, strict=True))
            yield _message(*(fields[name] for name in _COLUMNS), number=rows.line_num)
        elif row != []:
            damaged_from = damaged_from or rows.line_num
    if damaged_from:
        yield _damage(damaged_from, rows.line_num)


def _undamaged(rows: Iterator[list[str]]) -> Iterator[list[str] | None]:
    """The rows, and None for one that is not ended by a quote."""
    while True:
        try:
            yield next(rows)
        except StopIteration:
            return
        except csv.Error:
            yield None


def _damage(first: int, last: int) -> Broken:
    return Broken(SOURCE, f"Lines {first + 1} to {last + 1}", "They are damaged: a quote or a column is missing.")


def _message(title: str, time: str, author: str, message: str, *, number: int) -> tuple[str, Turn] | Broken:
    role = _ROLES.get(author.strip().lower())
    if role is None:
        return Broken(SOURCE, title_of(title), f"Line {number + 1} is neither from a human nor from an AI.")
    text, at = clean(message), moment(time)
    return title_of(title), Turn(fingerprint(role, str(at), text), role, text, at)


def _is_another(newer: datetime | None, older: datetime | None) -> bool:
    return newer is not None and older is not None and abs(newer - older) > LONGEST_PAUSE


def _conversation(thread: Gathered) -> Item:
    turns = tuple(turn for turn in _oldest_first(thread.turns) if turn.text)
    key = fingerprint(SOURCE, thread.name, *(turn.key for turn in turns[:1]))
    if not any(turn.role == "user" for turn in turns):
        return Skipped(SOURCE, key, thread.name, "empty")
    at = next((turn.at for turn in turns if turn.at), None)
    return Conversation(SOURCE, key, thread.name, f"Copilot · {thread.name}", at, turns)


def _oldest_first(turns: list[Turn]) -> list[Turn]:
    """By time; of equal times, as the file's own direction tells. Without times the file's direction decides alone."""
    times = [turn.at for turn in turns if turn.at]
    ascending = len(times) > 1 and times[0] < times[-1]
    ordered = turns if ascending else turns[::-1]
    if len(times) < len(turns):
        return ordered
    return sorted(ordered, key=lambda turn: turn.at.timestamp() if turn.at else 0.0)
