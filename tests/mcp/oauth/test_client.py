"""Signing in by OAuth from end to end, with the official client as the host."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl
from pytest_httpserver import HTTPServer

from north.access.oauth_tokens import connected_programs
from north.connectors.client_documents import ClientDocuments
from north.memory.backend import Backend
from tests.commands import free_port
from tests.conftest import FirmOfTest, TestDatabase
from tests.mcp.oauth.conftest import DOCUMENT, browsing, running
from tests.oauth import Program, answer_in, press


class Kept(TokenStorage):
    """What a host keeps on its disk."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Host:
    """A host by the official SDK; whoever sits before it allows everything."""

    def __init__(self, address: str, browser: httpx2.AsyncClient, kept: Kept, document: str | None = None) -> None:
        self.address, self.browser, self.kept = address, browser, kept
        self.asked = 0
        self._answers: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        redirect = "http://127.0.0.1:51999/callback"
        self.auth = OAuthClientProvider(
            f"{address}/mcp",
            OAuthClientMetadata(redirect_uris=[AnyUrl(redirect)], client_name="Test host"),
            kept,
            redirect_handler=self._open,
            callback_handler=self._answered,
            client_metadata_url=document,
        )

    async def _open(self, url: str) -> None:
        self.asked += 1
        page = httpx2.URL(url)
        assert f"{page.scheme}://{page.netloc.decode()}{page.path}" == f"{self.address}/authorize"
        await self._answers.put(answer_in(await press(self.browser, dict(page.params))))

    async def _answered(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult.model_validate(await self._answers.get())

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Client]:
        async with (
            httpx2.AsyncClient(auth=self.auth, timeout=30) as http,
            Client(streamable_http_client(f"{self.address}/mcp", http_client=http)) as client,
        ):
            yield client


async def save_and_recall(host: Host) -> str:
    async with host.connected() as client:
        fact = {"content": "The closing dinner is at eight.", "type": "fact"}
        assert not (await client.call_tool("north__memory_save", fact)).is_error
        recalled = await client.call_tool("north__memory_recall", {"query": "When is the closing dinner?"})
    return json.dumps(recalled.structured_content)


class TestTheOfficialClient:
    async def test_registers_signs_in_and_works(
        self, address: str, browser: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        host = Host(address, browser, Kept())
        assert "The closing dinner is at eight." in await save_and_recall(host)
        assert host.asked == 1
        [program] = await connected_programs(backend, firm.a)
        assert (program.name, program.host) == ("Test host", "this computer")
        assert program.last_used_at is not None

    async def test_is_known_by_its_metadata_document(
        self, database: TestDatabase, backend: Backend, firm: FirmOfTest, httpserver: HTTPServer
    ) -> None:
        told = {
            "client_id": DOCUMENT,
            "client_name": "Claude",
            "redirect_uris": ["http://127.0.0.1/callback", "http://localhost:*/callback"],
        }
        httpserver.expect_request("/oauth/metadata.json").respond_with_json(told)

        async def fetch(address: str) -> bytes:
            async with httpx2.AsyncClient() as client:
                return (await client.get(httpserver.url_for(httpx2.URL(address).path))).content

        async with running(database, ClientDocuments(fetch)) as address, browsing(backend, address, firm.ana) as ana:
            kept = Kept()
            assert "The closing dinner" in await save_and_recall(Host(address, ana, kept, DOCUMENT))
        assert kept.client is not None and kept.client.client_id == DOCUMENT
        [program] = await connected_programs(backend, firm.a)
        assert (program.name, program.host) == ("Claude", "this computer")
        assert len(httpserver.log) == 1

    async def test_renews_its_tokens_without_asking_again(self, address: str, browser: httpx2.AsyncClient) -> None:
        host = Host(address, browser, Kept())
        await save_and_recall(host)
        assert host.kept.tokens is not None
        before = host.kept.tokens
        again = Host(address, browser, host.kept)
        host.kept.tokens = before.model_copy(update={"expires_in": 0})
        await again.auth._initialize()
        again.auth.context.token_expiry_time = 1.0
        assert "The closing dinner" in await save_and_recall(again)
        assert again.asked == 0
        assert host.kept.tokens.access_token != before.access_token

    async def test_survives_a_restart_of_north(
        self, database: TestDatabase, backend: Backend, firm: FirmOfTest
    ) -> None:
        port, kept = free_port(), Kept()
        async with running(database, port=port) as address, browsing(backend, address, firm.ana) as ana:
            await save_and_recall(Host(address, ana, kept))
        async with running(database, port=port) as address, browsing(backend, address, firm.ana) as ana:
            host = Host(address, ana, kept)
            assert "The closing dinner" in await save_and_recall(host)
            assert host.asked == 0
            assert kept.tokens is not None and kept.tokens.refresh_token and kept.client is not None
            async with httpx2.AsyncClient(base_url=address) as http:
                form = Program(kept.client.client_id).renews(
                    kept.tokens.refresh_token, client_secret=kept.client.client_secret or ""
                )
                assert (await http.post("/token", data=form)).status_code == 200
