"""A token is checked by the very transaction that it opens: revoked elsewhere, it opens nothing from that moment on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import psycopg
import pytest
from fastapi import FastAPI

from north.access.tokens import create_token, token_caller
from north.assembly import make_backend, opened
from north.chat.models import make_model
from north.db.statements import statement
from north.memory.backend import Backend
from north.memory.edit import archive
from north.memory.rules import create_rule
from north.model import MemoryType, Origin
from north.settings import Settings
from tests.access.stored import dump
from tests.api.conftest import Client, api_app, assert_problem, client_of
from tests.conftest import FirmOfTest, TestDatabase, make_firm
from tests.isolation.machine.routes import routes_of
from tests.memory.remembering import remember

FACT = {"content": "The client is a Delaware LLC.", "type": "fact", "scope": "user_private"}
KEY = {"Idempotency-Key": "the first"}
ENDS = {
    "revoked": "delete from lookup_key where kind = 'token' and firm_id = %s",
    "expired": "update lookup_key set expires_at = now() where kind = 'token' and firm_id = %s",
    "its lawyer disabled": "update app_user set disabled_at = now() where organization_id = %s",
}
"""What another process does to every token of a firm."""
UNKNOWN = "north_unknown"
ON_THEIR_WAY = {
    "POST /v1/recall",
    "GET /v1/briefing",
    "GET /v1/memories",
    "POST /v1/memories",
    "GET /v1/memories/{id}",
    "PATCH /v1/memories/{id}",
    "DELETE /v1/memories/{id}",
    "POST /v1/memories/{id}/restore",
}
"""The calls that sign in on their way."""


@dataclass(frozen=True)
class Call:
    """A request that is answered to whoever may come in."""

    route: str
    id: str = ""
    sent: dict[str, Any] | None = None

    async def send(self, client: Client, secret: str) -> httpx2.Response:
        method, path = self.route.split()
        return await self._to(client, method, path.replace("{id}", self.id), secret, self.sent or {})

    async def send_nonsense(self, client: Client, secret: str) -> httpx2.Response:
        """The same with what no call takes."""
        method, path = self.route.split()
        nonsense = {"params": {"limit": "many", "matter": "\0"}} if method == "GET" else {"json": {"nonsense": 1}}
        return await self._to(client, method, path.replace("{id}", "zzz"), secret, nonsense)

    async def _to(self, client: Client, method: str, path: str, secret: str, sent: dict[str, Any]) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {secret}", **sent.get("headers", {})}
        return await client.request(method, path.removeprefix("/v1"), **{**sent, "headers": headers})


@pytest.fixture(scope="module")
def own_database(make_database: Callable[[], TestDatabase]) -> TestDatabase:
    """One in which nobody else changes anything."""
    return make_database()


@pytest.fixture(scope="module")
async def north(own_database: TestDatabase) -> AsyncIterator[Backend]:
    async with opened(make_backend(Settings(model="offline", embedder="none"), own_database.place)) as backend:
        yield backend


@pytest.fixture(scope="module")
def served(north: Backend) -> FastAPI:
    return api_app(north, make_model("offline", north.settings))


@pytest.fixture
async def client(served: FastAPI) -> AsyncIterator[Client]:
    async with client_of(served) as client:
        yield client


@pytest.fixture
async def firm(north: Backend, password_hash: str) -> FirmOfTest:
    return await make_firm(north, password_hash)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the statements that are run."""
    names: list[str] = []

    def named(name: str) -> str:
        names.append(name)
        return statement(name)

    monkeypatch.setattr("north.db.connect.statement", named)
    yield names


async def calls_in(north: Backend, firm: FirmOfTest, client: Client, secret: str) -> list[Call]:
    """One of each call, about things that there are."""
    memory, other = [await remember(north, firm.a, text) for text in ("Prefers short letters.", "Bills in tenths.")]
    await archive(north, firm.a, other.id)
    rule = await create_rule(north, firm.a, "never_remember", None, MemoryType.PARTY, None)
    headers = {"Authorization": f"Bearer {secret}"}
    thread = (await client.post("/threads", headers=headers)).json()["id"]
    file = {"file": ("list.txt", b"[2026-03-02] - Prefers short letters without Latin.\n")}
    sent = (await client.post("/imports", headers=headers, files=file)).json()["id"]
    first = await client.post("/memories", json=FACT, headers=headers | KEY)
    assert first.status_code == 201
    token, _ = await create_token(north, firm.a, "old")
    live, archived, rule_id, token_id = str(memory.id), str(other.id), str(rule.id), str(token.id)
    return [
        Call("POST /v1/recall", sent={"json": {"query": "letters", "matter": "HV-1001"}}),
        Call("GET /v1/briefing", sent={"params": {"matter": "HV-1001"}}),
        Call("GET /v1/memories"),
        Call("POST /v1/memories", sent={"json": FACT, "headers": KEY}),
        Call("POST /v1/memories", sent={"json": {**FACT, "content": "The hearing is on Monday."}}),
        Call("POST /v1/memories", sent={"json": {**FACT, "session": "forged"}}),
        Call("POST /v1/memories", sent={"json": {**FACT, "scope": "matter", "matter": "HV-1001"}}),
        Call("GET /v1/memories/{id}", live),
        Call("GET /v1/memories/{id}/history", live),
        Call("PATCH /v1/memories/{id}", live, {"json": {"content": "Prefers long letters."}}),
        Call("DELETE /v1/memories/{id}", live),
        Call("POST /v1/memories/{id}/restore", archived),
        Call("GET /v1/rules"),
        Call("POST /v1/rules", sent={"json": {"action": "never_remember", "type": "fact"}}),
        Call("DELETE /v1/rules/{id}", rule_id),
        Call("GET /v1/matters"),
        Call("POST /v1/matters", sent={"json": {"number": "HV-2000", "name": "New"}}),
        Call("GET /v1/threads"),
        Call("POST /v1/threads"),
        Call("GET /v1/threads/{id}", thread),
        Call("POST /v1/threads/{id}/messages", thread, {"json": {"text": "Remember that I bill in tenths."}}),
        Call("POST /v1/threads/{id}/resume", thread, {"json": {}}),
        Call("GET /v1/imports"),
        Call("POST /v1/imports", sent={"files": file}),
        Call("GET /v1/imports/{id}", sent),
        Call("POST /v1/imports/{id}/cancel", sent),
        Call("POST /v1/imports/{id}/undo", sent),
        Call("GET /v1/tokens"),
        Call("POST /v1/tokens", sent={"json": {"name": "another"}}),
        Call("DELETE /v1/tokens/{id}", token_id),
        Call("POST /v1/wall/consultations", sent={"json": {"source": "netdocuments"}}),
    ]


async def used_once(north: Backend, firm: FirmOfTest) -> str:
    """A token that this process knows."""
    _, secret = await create_token(north, firm.a, "test")
    await token_caller(north, secret, Origin.API)
    return secret


def end(database: TestDatabase, how: str, firm: FirmOfTest) -> None:
    with psycopg.connect(database.superuser_url) as connection:
        assert connection.execute(ENDS[how].encode(), (firm.ana.organization_id,)).rowcount > 0


@pytest.mark.parametrize("how", ENDS)
async def test_a_known_token_that_ended_elsewhere_is_refused_by_every_call_and_changes_nothing(
    north: Backend, served: FastAPI, client: Client, firm: FirmOfTest, own_database: TestDatabase, how: str
) -> None:
    calls = await calls_in(north, firm, client, await used_once(north, firm))
    known = {call.route.replace(" ", " /api") for call in calls}
    assert known == {route for route in routes_of(served) if " /api/v1/" in route}, "a new call stands in no test"
    secrets = [(await used_once(north, firm), await used_once(north, firm)) for _ in calls]
    end(own_database, how, firm)
    before = dump(own_database)
    for call, (secret, other) in zip(calls, secrets, strict=True):
        unknown = await call.send(client, UNKNOWN)
        assert_problem(unknown, 401, "not_signed_in")
        for reply in (
            await call.send(client, secret),
            await call.send(client, secret),
            await call.send_nonsense(client, other),
        ):
            assert (reply.status_code, reply.content, reply.headers) == (401, unknown.content, unknown.headers), call
    assert dump(own_database) == before


@pytest.mark.parametrize("route", sorted(ON_THEIR_WAY))
async def test_a_known_token_costs_no_transaction_of_its_own(
    north: Backend, client: Client, firm: FirmOfTest, asked: list[str], route: str
) -> None:
    _, secret = await create_token(north, firm.b, "test")  # who has no memory, so that no use is noted
    calls = await calls_in(north, firm, client, await used_once(north, firm))
    call = next(each for each in calls if each.route == route)
    transactions = []
    for _ in range(3):
        asked.clear()
        reply = await call.send(client, secret)
        assert reply.status_code in (200, 201, 404), reply.text
        transactions.append([name for name in asked if name in ("access.bind_by_key", "tenant.bind", "tenant.admit")])
    of_its_own = 2 if route == "POST /v1/memories" else 1  # hints are looked for beside the save
    to_note_its_use = "tenant.bind"
    at_first = ["access.bind_by_key", to_note_its_use, *["tenant.bind"] * of_its_own]
    assert transactions == [at_first, *[["tenant.admit"] * of_its_own] * 2]


@pytest.mark.parametrize("path", ["/memories/zzz", "/memories?limit=many", "/memories?cursor=zzz"])
async def test_a_call_that_fails_before_it_asks_anything_signs_in_all_the_same(
    north: Backend, client: Client, firm: FirmOfTest, asked: list[str], path: str
) -> None:
    secret = await used_once(north, firm)
    asked.clear()
    reply = await client.get(path, headers={"Authorization": f"Bearer {secret}"})
    assert reply.status_code in (404, 422)
    assert asked.count("tenant.admit") == 1


async def test_a_lawyer_who_may_come_in_again_does(
    north: Backend, client: Client, firm: FirmOfTest, own_database: TestDatabase, asked: list[str]
) -> None:
    headers = {"Authorization": f"Bearer {await used_once(north, firm)}"}
    end(own_database, "its lawyer disabled", firm)
    asked.clear()
    assert_problem(await client.get("/memories", headers=headers), 401, "not_signed_in")
    assert "access.bind_by_key" not in asked
    assert_problem(await client.get("/memories", headers=headers), 401, "not_signed_in")
    assert "access.bind_by_key" in asked, "what was refused is known no more"
    with psycopg.connect(own_database.superuser_url) as connection:
        connection.execute("update app_user set disabled_at = null where id = %s", (firm.ana.id,))
    assert (await client.get("/memories", headers=headers)).status_code == 200
