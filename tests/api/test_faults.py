"""Faults of North's own, and what it depends on being away: a problem for the caller, nothing private in the log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import httpx2
from structlog.testing import capture_logs

from north.access.tokens import create_token
from north.api.problems import problem_response
from north.assembly import Place, make_backend
from north.chat.models import make_model
from north.connectors.embeddings import LocalEmbedder, Vector
from north.db.connect import LostRace
from north.errors import InvalidInput
from north.memory.backend import Backend
from north.settings import Settings
from tests.api.conftest import api_app, assert_problem, client_of
from tests.conftest import FirmOfTest

SECRET = "What is the settlement offer?"


class Broken(LocalEmbedder):
    """An embedder with a fault, which says too much."""

    def __init__(self, fault: Exception) -> None:
        super().__init__()
        self.fault = fault

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        raise self.fault from ValueError(f"cannot embed {texts}")


async def recall_with(fault: Exception, backend: Backend, firm: FirmOfTest, settings: Settings) -> httpx2.Response:
    """The reply to a recall that meets the fault."""
    _, secret = await create_token(backend, firm.a, "test")
    broken = api_app(replace(backend, embedder=Broken(fault)), make_model("offline", settings))
    async with client_of(broken, secret) as client:
        return await client.post("/recall", json={"query": SECRET})


async def test_a_fault_is_a_problem_that_names_its_entry_in_the_log(
    backend: Backend, firm: FirmOfTest, settings: Settings
) -> None:
    with capture_logs() as logs:
        reply = await recall_with(RuntimeError(f"no vector for {SECRET}"), backend, firm, settings)
    problem = assert_problem(reply, 500, "internal_error")
    (entry,) = [entry for entry in logs if entry["event"] == "call_crashed"]
    assert entry["request_id"] in problem["detail"]
    assert entry["route"] == "/v1/recall"
    assert entry["error"] == "RuntimeError < ValueError"
    assert any("recall.py" in frame for frame in entry["frames"])
    assert "settlement" not in reply.text
    assert "settlement" not in str(logs)


async def test_a_race_that_was_lost_for_good_can_be_tried_again(
    backend: Backend, firm: FirmOfTest, settings: Settings
) -> None:
    reply = await recall_with(LostRace(None), backend, firm, settings)
    assert_problem(reply, 503, "database_busy")
    assert int(reply.headers["retry-after"]) > 0


async def test_a_database_that_is_away_is_said(settings: Settings) -> None:
    unreachable = make_backend(settings, Place("postgresql://north_app@127.0.0.1:9/north", "x" * 32))
    async with client_of(api_app(unreachable, make_model("offline", settings)), "north_token") as client:
        reply = await client.get("/memories")
    assert_problem(reply, 503, "database_unavailable")
    assert int(reply.headers["retry-after"]) > 0


def test_a_problem_can_be_sent_whatever_it_quotes() -> None:
    body = bytes(problem_response(InvalidInput(reason="“\ud800”")).body)
    assert "“".encode() in body
    assert json.loads(body)["detail"] == "The request is not valid: “\ud800”"
