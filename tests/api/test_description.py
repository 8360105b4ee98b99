"""The API's description, for programs, for people and in the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from north import errors
from north.errors import NorthError
from tests.api.conftest import Client, assert_problem

REST_PAGE = Path(__file__).parents[2] / "docs" / "developers" / "rest.md"

CALLS = {
    ("post", "/memories"),
    ("get", "/memories"),
    ("get", "/memories/{id}"),
    ("get", "/memories/{id}/history"),
    ("patch", "/memories/{id}"),
    ("delete", "/memories/{id}"),
    ("post", "/memories/{id}/restore"),
    ("post", "/recall"),
    ("get", "/briefing"),
    ("get", "/rules"),
    ("post", "/rules"),
    ("delete", "/rules/{id}"),
    ("get", "/matters"),
    ("post", "/matters"),
    ("get", "/threads"),
    ("post", "/threads"),
    ("get", "/threads/{id}"),
    ("post", "/threads/{id}/messages"),
    ("post", "/threads/{id}/resume"),
    ("post", "/imports"),
    ("get", "/imports"),
    ("get", "/imports/{id}"),
    ("post", "/imports/{id}/cancel"),
    ("post", "/imports/{id}/undo"),
    ("get", "/tokens"),
    ("post", "/tokens"),
    ("delete", "/tokens/{id}"),
    ("post", "/wall/consultations"),
}

# What stands for others in the tree, or cannot happen to a caller of the API.
NEVER_OVER_REST = {
    NorthError,
    errors.Refused,
    errors.Unavailable,
    errors.FirmNotFound,
    errors.UserNotFound,
    errors.LoginFailed,
    errors.TooManyAttempts,
    errors.TooManyLogins,
    errors.CrossSiteRequest,
    errors.EmbedderUnavailable,
    errors.DocumentNotFound,
    errors.NetDocumentsNotConnected,
    errors.NetDocumentsDenied,
    errors.NetDocumentsDeclined,
    errors.NetDocumentsLinkInvalid,
    errors.NetDocumentsUnavailable,
    errors.NetDocumentsBusy,
    errors.NetDocumentsRejected,
    errors.CabinetNotFound,
    errors.ProgramNotFound,
    errors.ClientUnknown,
    errors.AuthorizationInvalid,
    errors.JobNotFound,
    # No reply of its own: an import ends with it, as its `error`.
    errors.ExportNotRecognised,
    errors.ExportRefused,
}
OF_EVERY_ADDRESS = {errors.NotFound, errors.CallNotFound, errors.MethodNotAllowed}


def tree(kind: type[NorthError] = NorthError) -> Iterator[type[NorthError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from tree(child)


def reaching_rest() -> set[type[NorthError]]:
    of_the_operator = set(tree(errors.Misconfigured))
    return {kind for kind in tree() if kind.__module__ == errors.__name__} - NEVER_OVER_REST - of_the_operator


@pytest.fixture
async def description(anybody: Client) -> dict[str, Any]:
    document: dict[str, Any] = (await anybody.get("http://north.test/api/openapi.json")).json()
    return document


def described_calls(description: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, calls in description["paths"].items():
        for method, call in calls.items():
            yield method, path.removeprefix("/api/v1"), call


async def test_a_rule_can_only_be_described_as_never_remember(description: dict[str, Any]) -> None:
    action = description["components"]["schemas"]["NewRule"]["properties"]["action"]
    assert action["enum"] == ["never_remember"]


async def test_every_call_is_described_with_its_summary_and_its_security(description: dict[str, Any]) -> None:
    assert {(method, path) for method, path, _ in described_calls(description)} == CALLS
    for _, _, call in described_calls(description):
        assert call["summary"] and call["description"]
        assert call["security"] == [{"bearerAuth": []}]
    assert description["components"]["securitySchemes"]["bearerAuth"]["scheme"] == "bearer"


async def test_every_code_that_can_reach_a_caller_is_described(description: dict[str, Any]) -> None:
    described = {
        code
        for _, _, call in described_calls(description)
        for reply in call["responses"].values()
        for code in reply.get("content", {}).get("application/problem+json", {}).get("examples", {})
    }
    assert described == {kind.code for kind in reaching_rest() - OF_EVERY_ADDRESS}


async def test_the_description_knows_no_other_shape_of_a_failure(description: dict[str, Any]) -> None:
    assert "ValidationError" not in str(description)


def test_the_documentation_lists_every_call_and_every_code() -> None:
    page = REST_PAGE.read_text()
    listed = re.findall(r"^\| `(GET|POST|PATCH|DELETE) (\S+)`", page, re.MULTILINE)
    assert {(method.lower(), path) for method, path in listed} == CALLS
    table = page[page.index("| status | code |") :]
    of_rows = {code for row in table.splitlines() for code in re.findall("`([a-z_]+)`", row.split("|")[2])}
    assert of_rows - {"code"} == {kind.code for kind in reaching_rest()}


@pytest.mark.parametrize("kind", sorted(reaching_rest(), key=str))
async def test_the_type_of_a_problem_leads_to_its_description(anybody: Client, kind: type[NorthError]) -> None:
    reply = await anybody.get(f"http://north.test/api/problems/{kind.code}")
    assert reply.status_code == 200
    assert " ".join((kind.__doc__ or "").split()) in reply.text


async def test_the_page_loads_nothing_from_elsewhere_and_runs_no_inline_script(anybody: Client) -> None:
    page = await anybody.get("http://north.test/api/docs")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self';" in policy and "unsafe" not in policy
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|style=|https?:", page.text)
    for name in re.findall(r'(?:src|href)="(docs/[^"]+)"', page.text):
        part = await anybody.get(f"http://north.test/api/{name}")
        assert part.status_code == 200
        assert part.headers["content-type"].split(";")[0] in {"text/css", "text/javascript"}


async def test_nothing_else_is_served_beside_the_page(anybody: Client) -> None:
    for name in ("docs.html", "..%2fsite.py", "swagger-ui-bundle.js.map", "nothing"):
        assert_problem(await anybody.get(f"http://north.test/api/docs/{name}"), 404, "not_found")
    assert_problem(await anybody.get("http://north.test/api/problems/nothing"), 404, "not_found")
