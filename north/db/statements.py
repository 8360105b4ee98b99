"""Named SQL: every statement that North runs, by the name it has in `queries/<file>.sql`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import aiosql

QUERIES = Path(__file__).parent / "queries"
_PLACEHOLDER = re.compile(r"%\((\w+)\)s")
_WRITES = re.compile(r"^(insert|update|delete)\b", re.MULTILINE)
_ROW = re.compile(r"\bvalues\s*(\(.*?\))\s*(?:on\s+conflict\b|;|$)", re.IGNORECASE | re.DOTALL)


@cache
def _file(stem: str) -> Any:
    return aiosql.from_path(QUERIES / f"{stem}.sql", "psycopg", mandatory_parameters=False)


@cache
def statement(name: str) -> str:
    """The text of `file.statement`, with `%(name)s` placeholders.

    Raises:
        LookupError: there is no such statement; a mistake in the code.
    """
    stem, _, short = name.partition(".")
    try:
        text: str = getattr(_file(stem), short).sql
    except (AttributeError, OSError) as error:
        raise LookupError(f"no statement named {name}") from error
    lines = (line.strip() for line in text.splitlines())
    return "\n".join(line for line in lines if not line.startswith("--"))  # the driver remembers texts of up to 4 kB


@cache
def writes(name: str) -> bool:
    """Whether a statement changes rows, and does not only look at them or lock them."""
    return _WRITES.search(statement(name)) is not None


@cache
def _rows_template(name: str, count: int, shared: frozenset[str]) -> str:
    text = statement(name)
    row = _ROW.search(text)
    if row is None:
        raise LookupError(f"the statement {name} has no VALUES row to repeat")

    def numbered(index: int) -> str:
        return _PLACEHOLDER.sub(lambda found: found[0] if found[1] in shared else f"%({found[1]}_{index})s", row[1])

    return text[: row.start(1)] + ", ".join(map(numbered, range(count))) + text[row.end(1) :]


def multi_row(name: str, rows: Sequence[Mapping[str, Any]], shared: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """An INSERT with its one VALUES row repeated for each of `rows`, and the parameters to match.

    What is the same in every row goes into `shared` and is sent once: parameters cost more than rows do.
    """
    parameters = {f"{key}_{index}": value for index, row in enumerate(rows) for key, value in row.items()}
    return _rows_template(name, len(rows), frozenset(shared)), {**parameters, **shared}
