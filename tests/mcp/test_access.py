"""Who may come in at `/mcp`, from where, and how the door answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client

from north.access.tokens import delete_token, list_tokens
from north.app import make_app
from north.assembly import make_backend, opened
from north.memory.backend import Backend
from north.settings import Settings
from tests.conftest import FirmOfTest, TestDatabase
from tests.mcp.conftest import Host, done, mcp_app, secret_of
from tests.serving import serving

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
async def secret(backend: Backend, firm: FirmOfTest) -> str:
    return await secret_of(backend, firm.a)


@pytest.fixture
async def http(address: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=address, headers=ACCEPT) as client:
        yield client


def bearing(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


async def knock(http: httpx2.AsyncClient, secret: str, path: str = "/mcp", **headers: str) -> httpx2.Response:
    return await http.post(path, json=INITIALIZE, headers=bearing(secret) | headers)


class TestTokens:
    @pytest.mark.parametrize(
        "headers", [{}, bearing("north_wrong"), {"Authorization": "Bearer"}, {"Authorization": "Basic YTpi"}]
    )
    async def test_nobody_comes_in_without_a_valid_one(self, http: httpx2.AsyncClient, headers: dict[str, str]) -> None:
        reply = await http.post("/mcp", json=INITIALIZE, headers=headers)
        assert reply.status_code == 401
        assert reply.headers["www-authenticate"].startswith("Bearer")

    async def test_a_valid_one_opens_the_door(self, http: httpx2.AsyncClient, secret: str) -> None:
        reply = await knock(http, secret)
        assert reply.status_code == 200
        assert reply.json()["result"]["serverInfo"]["name"] == "North"

    async def test_a_revoked_one_is_refused_on_the_next_call(
        self, host: Host, http: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest, secret: str
    ) -> None:
        client = await host(firm.a, secret=secret)
        await done(client, "matter_find", query="vance")
        (token,) = await list_tokens(backend, firm.a)
        await delete_token(backend, firm.a, token.id)
        assert (await knock(http, secret)).status_code == 401

    async def test_the_use_of_one_is_noted(self, ana: Client, backend: Backend, firm: FirmOfTest) -> None:
        await done(ana, "matter_find", query="vance")
        (token,) = await list_tokens(backend, firm.a)
        assert token.last_used_at is not None


class TestTheAddress:
    async def test_is_exactly_mcp_without_a_redirect(self, http: httpx2.AsyncClient, secret: str) -> None:
        assert (await knock(http, secret)).history == []
        assert (await knock(http, secret, "/mcp/other")).status_code == 404

    async def test_gives_no_session_away(self, http: httpx2.AsyncClient, secret: str) -> None:
        assert "mcp-session-id" not in (await knock(http, secret)).headers

    async def test_takes_no_get_since_nothing_is_ever_pushed(self, http: httpx2.AsyncClient, secret: str) -> None:
        assert (await http.get("/mcp", headers=bearing(secret))).status_code == 405

    async def test_says_when_the_database_is_away(self, settings: Settings, fresh_database: TestDatabase) -> None:
        async with (
            opened(make_backend(settings, fresh_database.place)) as backend,
            serving(mcp_app(backend, settings)) as address,
            httpx2.AsyncClient(headers=ACCEPT) as http,
        ):
            await backend.database.close()
            reply = await knock(http, "north_any", f"{address}/mcp")
        assert reply.status_code == 503
        assert reply.headers["retry-after"]

    async def test_belongs_to_the_whole_application(self, settings: Settings, fresh_database: TestDatabase) -> None:
        async with serving(make_app(settings, fresh_database.place)) as address, httpx2.AsyncClient() as http:
            assert (await http.post(f"{address}/mcp", json=INITIALIZE)).status_code == 401
            assert (await http.get(f"{address}/healthz")).status_code == 200


class TestOtherSites:
    @pytest.fixture(params=[None, "https://north.example.com", "https://north.example.com:8443/prefix"])
    async def public(
        self, request: pytest.FixtureRequest, backend: Backend, settings: Settings
    ) -> AsyncIterator[tuple[str, str | None]]:
        """A server's address, and the public one that it was told."""
        told = settings.model_copy(update={"public_url": request.param})
        async with serving(mcp_app(backend, told)) as address:
            yield address, request.param

    @pytest.mark.parametrize(
        "origin",
        ["https://evil.example", "http://docs.north.example.com", "null", "https://north.example.com.evil.example"],
    )
    async def test_a_page_of_another_site_is_refused(
        self, public: tuple[str, str | None], secret: str, origin: str
    ) -> None:
        address, told = public
        host = urlsplit(told or address).netloc
        async with httpx2.AsyncClient(headers=ACCEPT) as http:
            reply = await knock(http, secret, f"{address}/mcp", Origin=origin, Host=host)
        assert reply.status_code == 403

    @pytest.mark.parametrize("host", ["evil.example", "north.example.com.evil.example", "10.0.0.1"])
    async def test_a_request_by_another_name_is_refused(
        self, public: tuple[str, str | None], secret: str, host: str
    ) -> None:
        async with httpx2.AsyncClient(headers=ACCEPT) as http:
            reply = await knock(http, secret, f"{public[0]}/mcp", Host=host)
        assert reply.status_code == 421  # Misdirected Request

    async def test_its_own_name_and_pages_are_welcome(self, public: tuple[str, str | None], secret: str) -> None:
        address, told = public
        parts = urlsplit(told or address)
        own: dict[str, Any] = {"Host": parts.netloc, "Origin": f"{parts.scheme}://{parts.netloc}"}
        async with httpx2.AsyncClient(headers=ACCEPT) as http:
            assert (await knock(http, secret, f"{address}/mcp", **own)).status_code == 200
            assert (await knock(http, secret, f"{address}/mcp", Host=parts.netloc)).status_code == 200
