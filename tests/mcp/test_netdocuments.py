"""NetDocuments from a host: offered where it is set up, fenced, and a consultation of the host's session."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from mcp import Client
from starlette.responses import Response

from north.memory.backend import Backend
from tests.conftest import FirmOfTest
from tests.mcp.conftest import connected, done, mcp_app, refused, secret_of, text_of
from tests.netdocuments import LEASE, NetDocumentsServer, connect, netdocuments_server, set_up
from tests.serving import serving

FACT = {"content": "The client wants a shorter lease.", "type": "fact", "scope": "matter", "matter": "HV-1001"}


@pytest.fixture
async def server() -> AsyncIterator[NetDocumentsServer]:
    async with netdocuments_server() as running:
        yield running


@pytest.fixture
async def north(backend: Backend, firm: FirmOfTest, server: NetDocumentsServer) -> Backend:
    """North, registered at the server; Ana is connected."""
    configured = set_up(backend, server)
    await connect(configured, firm.a, server)
    return configured


@pytest.fixture
async def north_address(north: Backend) -> AsyncIterator[str]:
    async with serving(mcp_app(north, north.settings)) as url:
        yield url


async def test_are_listed_as_read_only_and_only_where_they_work(
    north: Backend, north_address: str, firm: FirmOfTest, ana: Client
) -> None:
    async with connected(north_address, await secret_of(north, firm.a)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    without = {tool.name for tool in (await ana.list_tools()).tools}
    assert set(tools) - without == {"north__nd_search", "north__nd_read"}
    for name, arguments in {
        "nd_search": ["query", "cabinet", "session"],
        "nd_read": ["document_id", "session"],
    }.items():
        tool = tools[f"north__{name}"]
        assert list(tool.input_schema["properties"]) == arguments
        assert tool.annotations is not None and tool.annotations.read_only_hint and not tool.annotations.open_world_hint
        assert len((tool.description or "").encode()) < 2048


async def test_find_and_read_and_taint_the_session(north: Backend, north_address: str, firm: FirmOfTest) -> None:
    async with connected(north_address, await secret_of(north, firm.a)) as client:
        session = (await done(client, "briefing"))["session"]
        other = (await done(client, "briefing"))["session"]
        [found] = (await done(client, "nd_search", query="lease", session=session))["documents"]
        assert (found["id"], found["name"], found["version"]) == (LEASE, "Lease Harbor Street.txt", "2")
        result = await client.call_tool("north__nd_read", {"document_id": LEASE, "session": session})
        structured = result.structured_content
        assert structured is not None
        assert structured["text"] == text_of(result)
        assert '<document source="NetDocuments" title="Lease Harbor Street.txt">' in structured["text"]
        assert "read from NetDocuments" in await refused(client, "memory_save", **FACT, session=session)
        assert (await done(client, "memory_save", **FACT, session=other))["outcome"] == "saved"


async def test_say_what_to_do_when_they_fail(
    north: Backend, north_address: str, firm: FirmOfTest, server: NetDocumentsServer
) -> None:
    async with connected(north_address, await secret_of(north, firm.b)) as client:
        assert "Connect it in Settings → Connections" in await refused(client, "nd_search", query="lease")
    async with connected(north_address, await secret_of(north, firm.a)) as client:
        assert "Search for it by words" in await refused(client, "nd_read", document_id="1111-1111-1111")
        assert "session handle" in await refused(client, "nd_read", document_id=LEASE, session="forged")
        server.answers["/v2/search"] = Response(status_code=429, headers={"Retry-After": "90"})
        assert "Try again in 90 seconds" in await refused(client, "nd_search", query="lease")
        assert (await done(client, "memory_save", **FACT))["outcome"] == "saved"
