"""JSON as it comes from outside, read as one thing alone by whoever reads it."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from north.errors import BodyAmbiguous, BodyNotJson


def check_json(body: bytes) -> None:
    """Refuse what is no JSON, and what two readers could take for two things (I-JSON, RFC 7493).

    Of a name that stands twice, one reader takes the first and another the last; NaN and Infinity are numbers to some
    and errors to others. Python's own reader lets both pass.

    Raises:
        BodyNotJson: it is not JSON in UTF-8, or nested deeper than anybody nests it.
        BodyAmbiguous: a name stands twice in one object, or a number is none.
    """
    try:
        json.loads(body.decode(), object_pairs_hook=_each_name_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise BodyNotJson from error


def _each_name_once(pairs: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in pairs}) < len(pairs):
        raise BodyAmbiguous


def _no_number(constant: str) -> NoReturn:
    raise BodyAmbiguous
