"""A hot standby under the same roles: recall and briefing answer, saves say what is the matter, and the walls stand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import psycopg
import pytest
from structlog.testing import capture_logs

from north.access.login import log_in
from north.access.tokens import create_token
from north.app import make_app
from north.assembly import make_backend, opened
from north.db.embedded import EmbeddedServer
from north.memory.save import save
from north.model import Caller, Draft, MemoryType, Origin, Scope
from north.settings import Settings
from north.web.sessions import SESSION_COOKIE
from tests.conftest import PASSWORD, TestDatabase, make_firm
from tests.isolation.machine.stage import quick_hash
from tests.isolation.machine.tool_calls import ACCEPT, EARLIER_VERSION
from tests.isolation.rows import TABLES, World, bind, filled, owner_column
from tests.isolation.standby import Standby, standby_of
from tests.mcp.conftest import held

ADDRESS = "http://127.0.0.1:8400"
SETTINGS = Settings(model="offline", embedder="none")
PRIVATE, SHARED = "The vault opens with 4711.", "The client is a Delaware LLC."


@pytest.fixture(scope="module")
def databases(make_database: Callable[[], TestDatabase]) -> tuple[World, TestDatabase]:
    """One with rows in every table, and one for an application; both are there before they are copied."""
    return filled(make_database()), make_database()


@pytest.fixture(scope="module")
def standby(embedded_server: EmbeddedServer, databases: tuple[World, TestDatabase]) -> Iterator[Standby]:
    with standby_of(embedded_server) as standby:
        yield standby


@dataclass(frozen=True)
class Reader:
    """A North that serves from the standby, and what its lawyers come in with."""

    http: httpx2.AsyncClient
    ana: dict[str, str]
    ben: dict[str, str]
    cookie: str

    async def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        headers = {**self.ana, **ACCEPT, "MCP-Protocol-Version": EARLIER_VERSION}
        reply = await self.http.post("/mcp", json=asked, headers=headers)
        result: dict[str, Any] = reply.json()["result"]
        return result


@pytest.fixture(scope="module")
async def reader(standby: Standby, databases: tuple[World, TestDatabase]) -> AsyncIterator[Reader]:
    async with held(reading(standby, databases[1])) as reader:
        yield reader


@asynccontextmanager
async def reading(standby: Standby, database: TestDatabase) -> AsyncIterator[Reader]:
    """What was written on the primary, after the standby was made, read from the standby."""
    secrets = []
    async with opened(make_backend(SETTINGS, database.place)) as backend:
        firm = await make_firm(backend, quick_hash())
        matter = Draft(SHARED, MemoryType.FACT, Scope.MATTER, "HV-1001")
        await save(backend, firm.a, [Draft(PRIVATE, MemoryType.FACT), matter])
        for user in (firm.ana, firm.ben):
            caller = Caller(user.organization_id, user.id, Origin.SETTINGS)
            secrets.append({"Authorization": f"Bearer {(await create_token(backend, caller, 'test'))[1]}"})
        _, cookie = await log_in(backend, firm.ana.email, PASSWORD)
    standby.wait(database)
    app = make_app(SETTINGS, standby.of(database).place)
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url=ADDRESS) as http:
            yield Reader(http, secrets[0], secrets[1], cookie)


def contents(memories: list[dict[str, Any]]) -> list[str]:
    return [memory["content"] for memory in memories]


async def test_recall_answers_each_with_their_own(reader: Reader) -> None:
    asked = {"query": "vault client", "matter": "HV-1001"}
    for headers, personal in ((reader.ana, [PRIVATE]), (reader.ben, [])):
        reply = await reader.http.post("/api/v1/recall", json=asked, headers=headers)
        assert reply.status_code == 200, reply.text
        assert contents(reply.json()["personal"]) == personal
        assert contents(reply.json()["matter"]) == [SHARED]


async def test_briefing_and_lists_and_pages_answer(reader: Reader) -> None:
    briefing = await reader.http.get("/api/v1/briefing", params={"matter": "HV-1001"}, headers=reader.ana)
    assert briefing.status_code == 200 and PRIVATE in briefing.json()["text"]
    listed = await reader.http.get("/api/v1/memories", headers=reader.ana)
    assert sorted(contents(listed.json()["memories"])) == sorted((PRIVATE, SHARED))
    page = await reader.http.get("/settings/memory", headers={"Cookie": f"{SESSION_COOKIE}={reader.cookie}"})
    assert page.status_code == 200 and PRIVATE in page.text


async def test_hosts_recall_too(reader: Reader) -> None:
    for name, arguments in (("north__memory_recall", {"query": "vault"}), ("north__briefing", {})):
        result = await reader.tool(name, **arguments)
        assert not result.get("isError") and PRIVATE in result["content"][0]["text"]


async def test_that_uses_are_not_noted_is_said_once_and_not_for_every_recall(reader: Reader) -> None:
    with capture_logs() as logs:
        for _ in range(3):
            await reader.http.post("/api/v1/recall", json={"query": "vault"}, headers=reader.ana)
    assert sum(line["event"] == "uses_not_noted" for line in logs) <= 1
    assert not any(line["log_level"] == "error" for line in logs)


async def test_a_save_says_that_nothing_can_be_changed(reader: Reader) -> None:
    new = {"content": "The hearing is on Monday.", "type": "fact", "scope": "user_private"}
    reply = await reader.http.post("/api/v1/memories", json=new, headers=reader.ana)
    assert (reply.status_code, reply.json()["code"]) == (503, "database_read_only")
    result = await reader.tool("north__memory_save", content="The hearing is on Monday.", type="fact")
    assert result["isError"] and "takes no changes" in result["content"][0]["text"]


@pytest.mark.parametrize("table", TABLES)
def test_the_walls_stand_as_on_the_primary(standby: Standby, databases: tuple[World, TestDatabase], table: str) -> None:
    world = databases[0]
    column = owner_column(table) or "organization_id"
    with psycopg.connect(standby.of(world.database).application_url, autocommit=False) as connection:
        query = f"select organization_id, {column} from {table}".encode()
        assert connection.execute(query).fetchall() == []
        for who in (world.ana, world.rita):
            connection.rollback()
            bind(connection, who.organization_id, who.user_id)
            mine = who.user_id if owner_column(table) else who.organization_id
            assert set(connection.execute(query)) == {(who.organization_id, mine)}
        connection.rollback()
        assert connection.execute(query).fetchall() == []
