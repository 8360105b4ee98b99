"""North's whole API as its own description has it, asked with values from the description and with hostile ones.

A served North answers in a thread of its own, since the client here waits for each answer.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import schemathesis
from anyio.from_thread import start_blocking_portal
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from north.app import make_app
from north.assembly import Place
from north.errors import NorthError
from north.settings import Settings
from tests.serving import serving_on

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
ANOTHER_PATH = {*"/\\?#%."}
NO_TEXT = [None, True, -1, 10**30, 0.5, [], {}, ["a"], {"a": "b"}]
ODD = [
    "",
    " ",
    "\u200b",
    "\0",
    "\ud800",
    "\u2028",
    "HV-1001",
    "x" * 5000,
    "%00",
    "{{7*7}}",
    "' or 1=1--",
    "a & !b | c:*",
]


@dataclass(frozen=True)
class Target:
    """A served North, with a lawyer's token and ids of what the lawyer has."""

    url: str
    secret: str
    ids: Sequence[str]
    naughty: Sequence[str]


@contextmanager
def served(place: Place) -> Iterator[str]:
    """The address of the whole application, served in a thread until the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as listener, start_blocking_portal() as thread:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        app = make_app(Settings(model="offline", embedder="none", public_url=address), place)
        with thread.wrap_async_context_manager(serving_on(listener, app)):
            yield address


def codes() -> set[str]:
    """Every code that there is; that each is documented is a test of its own."""

    def of(kind: type[NorthError]) -> Iterator[str]:
        yield kind.code
        for child in kind.__subclasses__():
            yield from of(child)

    return set(of(NorthError))


def operations(url: str) -> dict[str, Any]:
    """Every call of the description, by method and path."""
    schema = schemathesis.openapi.from_url(f"{url}/api/openapi.json")
    found = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
    return {f"{operation.method.upper()} {operation.path}": operation for operation in found}


def ask(target: Target, operation: Any, examples: int, seeded: int) -> int:
    """Make a number of hostile requests of one call.

    Returns:
        How many were made.

    Raises:
        Exception: schemathesis' failures, and AssertionError for a refusal that is no documented problem.
    """
    asked = 0
    known = codes()
    headers = {"Authorization": f"Bearer {target.secret}"}

    @seed(seeded)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(_cases(target, operation))
    def one(case: Any) -> None:
        nonlocal asked
        asked += 1
        response = case.call(base_url=target.url, headers=headers)
        case.validate_response(response, checks=CHECKS, headers=headers)
        if response.status_code >= 400:
            problem = response.json()
            assert response.headers["content-type"] == ["application/problem+json"]
            assert problem["code"] in known and len(problem["detail"]) > 10, problem

    one()
    return asked


@st.composite
def _cases(draw: st.DrawFn, target: Target, operation: Any) -> Any:
    """A request as the description has it; in most, one value is another one: naughty, odd, no text, or a real id."""
    case = draw(operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
    texts = st.sampled_from([*target.naughty, *ODD]) | st.text(st.characters(), max_size=30)
    if "id" in case.path_parameters:
        safe = st.just("0") | texts.filter(lambda text: text and text.isprintable() and not ANOTHER_PATH & {*text})
        case.path_parameters["id"] = draw(st.sampled_from(target.ids) | safe)
    if isinstance(case.body, dict) and case.body and draw(st.integers(0, 3)):
        name = draw(st.sampled_from(sorted(case.body)))
        case.body[name] = draw(texts | st.sampled_from(NO_TEXT))
        if draw(st.integers(0, 5)) == 0:
            case.body[draw(texts)] = 1
    if case.query and draw(st.integers(0, 3)):
        name = draw(st.sampled_from(sorted(case.query)))
        case.query[name] = draw(texts.filter(_is_utf8))
    return case


def _is_utf8(text: str) -> bool:
    return json.dumps(text, ensure_ascii=False).isprintable() and not any("\ud800" <= each <= "\udfff" for each in text)
