"""Signing in by OAuth, over HTTP and from end to end; the browser's part is played with a logged-in session."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher
from pydantic import AnyUrl
from pytest_httpserver import HTTPServer

from north.access.login import log_in
from north.access.oauth_clients import ALL_REGISTRATIONS_PER_HOUR, REGISTRATIONS_PER_HOUR, RegistrationLimit
from north.access.oauth_tokens import connected_programs, disconnect_program
from north.access.tokens import create_token
from north.app import make_app
from north.connectors.client_documents import ClientDocuments
from north.errors import ClientUnknown, TooManyAttempts
from north.memory.backend import Backend
from north.model import User
from north.settings import Settings
from north.web.sessions import SESSION_COOKIE
from tests.commands import free_port
from tests.conftest import PASSWORD, FirmOfTest, TestDatabase
from tests.mcp.conftest import mcp_app
from tests.oauth import CALLBACK, Program, answer_in, code_for, press, register, tokens_for
from tests.serving import serving

LIST_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
MCP_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
DOCUMENT = "https://claude.ai/oauth/metadata.json"


@asynccontextmanager
async def running(
    database: TestDatabase, documents: ClientDocuments | None = None, port: int | None = None
) -> AsyncIterator[str]:
    """The whole of North, for the block; `documents` stand in for those of the internet."""
    port = port or free_port()
    settings = Settings(model="offline", embedder="none", public_url=f"http://127.0.0.1:{port}")
    app = make_app(settings, database.place)
    if documents:
        app.state.client_documents = documents
    async with serving(app, port) as address:
        yield address


@pytest.fixture(scope="session")
def password_hash() -> str:
    """A hash that is quick to verify: nothing here is about passwords."""
    return PasswordHash((Argon2Hasher(time_cost=1, memory_cost=64, parallelism=1),)).hash(PASSWORD)


@pytest.fixture(scope="module")
async def address(database: TestDatabase) -> AsyncIterator[str]:
    async with running(database) as url:
        yield url


@asynccontextmanager
async def browsing(backend: Backend, address: str, user: User) -> AsyncIterator[httpx2.AsyncClient]:
    """The browser of a lawyer who is logged in."""
    _, secret = await log_in(backend, user.email, PASSWORD)
    async with httpx2.AsyncClient(base_url=address, cookies={SESSION_COOKIE: secret}) as client:
        yield client


@pytest.fixture
async def browser(backend: Backend, address: str, firm: FirmOfTest) -> AsyncIterator[httpx2.AsyncClient]:
    async with browsing(backend, address, firm.ana) as client:
        yield client


@pytest.fixture
async def http(address: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A program without a cookie."""
    async with httpx2.AsyncClient(base_url=address) as client:
        yield client


_program_of_tests: dict[str, str] = {}


@pytest.fixture
async def program(http: httpx2.AsyncClient, address: str) -> Program:
    """A registered program, with new secrets."""
    if address not in _program_of_tests:
        _program_of_tests[address] = (await register(http))["client_id"]
    return Program(_program_of_tests[address])


async def knock(http: httpx2.AsyncClient, access: str | None, path: str = "/mcp") -> httpx2.Response:
    bearer = {"Authorization": f"Bearer {access}"} if access else {}
    return await http.post(path, json=LIST_TOOLS, headers=MCP_HEADERS | bearer)


async def error_of(http: httpx2.AsyncClient, path: str, form: dict[str, str]) -> tuple[int, str]:
    reply = await http.post(path, data=form)
    return reply.status_code, reply.json()["error"]


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


class TestDiscovery:
    async def test_begins_at_the_refusal(self, http: httpx2.AsyncClient, address: str) -> None:
        for access in (None, "northaccess_wrong", "north_wrong"):
            refusal = await knock(http, access)
            assert refusal.status_code == 401
            pointer = f'resource_metadata="{address}/.well-known/oauth-protected-resource/mcp"'
            assert pointer in refusal.headers["www-authenticate"]

    @pytest.mark.parametrize("path", ["", "/mcp"])
    async def test_leads_from_the_resource_to_its_server(
        self, http: httpx2.AsyncClient, address: str, path: str
    ) -> None:
        told = (await http.get(f"/.well-known/oauth-protected-resource{path}")).json()
        assert told["resource"] == f"{address}/mcp"
        assert told["authorization_servers"] == [address]

    async def test_says_what_the_server_can_do(self, http: httpx2.AsyncClient, address: str) -> None:
        reply = await http.get("/.well-known/oauth-authorization-server", headers={"Origin": "https://inspector.test"})
        told = reply.json()
        assert reply.headers["Access-Control-Allow-Origin"] == "*"
        assert told["issuer"] == address
        assert told["code_challenge_methods_supported"] == ["S256"]
        assert told["client_id_metadata_document_supported"] is True
        assert told["authorization_response_iss_parameter_supported"] is True
        assert "none" in told["token_endpoint_auth_methods_supported"]
        assert {told[f"{name}_endpoint"] for name in ("authorization", "token", "registration", "revocation")} == {
            f"{address}/{path}" for path in ("authorize", "token", "register", "revoke")
        }

    async def test_puts_the_path_of_a_public_address_where_the_standards_want_it(self, backend: Backend) -> None:
        told = backend.settings.model_copy(update={"public_url": "https://north.example.com/firm"})
        app = mcp_app(replace(backend, settings=told), told)
        async with serving(app) as url, httpx2.AsyncClient(base_url=url, headers={"Host": "north.example.com"}) as http:
            refusal = await knock(http, None)
            resource = await http.get("/.well-known/oauth-protected-resource/firm/mcp")
            server = await http.get("/.well-known/oauth-authorization-server/firm")
        pointer = "https://north.example.com/.well-known/oauth-protected-resource/firm/mcp"
        assert f'resource_metadata="{pointer}"' in refusal.headers["www-authenticate"]
        assert resource.json()["resource"] == "https://north.example.com/firm/mcp"
        assert server.json()["issuer"] == "https://north.example.com/firm"


class TestTokens:
    async def test_open_mcp_and_nothing_else(
        self, http: httpx2.AsyncClient, browser: httpx2.AsyncClient, program: Program
    ) -> None:
        tokens = await tokens_for(browser, http, program)
        assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 3600, "memory")
        assert (await knock(http, tokens["access_token"])).status_code == 200
        assert (await knock(http, tokens["refresh_token"])).status_code == 401
        rest = await http.get("/api/v1/rules", headers={"Authorization": f"Bearer {tokens['access_token']}"})
        assert rest.status_code == 401

    async def test_of_a_lawyers_own_open_both(
        self, http: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        _, secret = await create_token(backend, firm.a, "Script")
        assert (await knock(http, secret)).status_code == 200
        rest = await http.get("/api/v1/rules", headers={"Authorization": f"Bearer {secret}"})
        assert rest.status_code == 200

    async def test_are_not_kept_by_anybody_between(
        self, http: httpx2.AsyncClient, browser: httpx2.AsyncClient, program: Program
    ) -> None:
        reply = await http.post("/token", data=program.redeems(await code_for(browser, program)))
        assert reply.headers["Cache-Control"] == "no-store"

    async def test_of_another_server_on_the_same_database_are_refused(
        self, database: TestDatabase, http: httpx2.AsyncClient, browser: httpx2.AsyncClient, program: Program
    ) -> None:
        tokens = await tokens_for(browser, http, program)
        async with running(database) as other, httpx2.AsyncClient(base_url=other) as elsewhere:
            assert (await knock(elsewhere, tokens["access_token"])).status_code == 401
            renewal = await error_of(elsewhere, "/token", program.renews(tokens["refresh_token"]))
        assert renewal == (400, "invalid_grant")

    async def test_are_refused_from_the_next_request_on_when_disconnected(
        self,
        http: httpx2.AsyncClient,
        browser: httpx2.AsyncClient,
        program: Program,
        backend: Backend,
        firm: FirmOfTest,
    ) -> None:
        tokens = await tokens_for(browser, http, program)
        assert (await knock(http, tokens["access_token"])).status_code == 200
        [connected] = await connected_programs(backend, firm.a)
        await disconnect_program(backend, firm.a, connected.id)
        assert (await knock(http, tokens["access_token"])).status_code == 401
        renewal = await error_of(http, "/token", program.renews(tokens["refresh_token"]))
        assert renewal == (400, "invalid_grant")


class TestCodes:
    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"code_verifier": "x" * 43}, "invalid_grant"),
            ({"code_verifier": None}, "invalid_request"),
            ({"redirect_uri": CALLBACK + "/more"}, "invalid_request"),
            ({"redirect_uri": None}, "invalid_request"),
            ({"resource": "https://other.test/mcp"}, "invalid_target"),
            ({"grant_type": "password"}, "invalid_request"),
            ({"client_id": "https://evil.test/metadata.json"}, "invalid_grant"),
        ],
    )
    async def test_are_worth_nothing_but_to_who_asked_for_them(
        self,
        http: httpx2.AsyncClient,
        browser: httpx2.AsyncClient,
        program: Program,
        changes: dict[str, str | None],
        error: str,
    ) -> None:
        code = await code_for(browser, program)
        assert await error_of(http, "/token", program.redeems(code, **changes)) == (400, error)
        assert (await http.post("/token", data=program.redeems(code))).status_code == 200

    async def test_that_nobody_gave_out_are_refused(self, http: httpx2.AsyncClient, program: Program) -> None:
        for code in ("northcode_wrong", "", "\x00", "x" * 10_000):
            assert await error_of(http, "/token", program.redeems(code)) == (400, "invalid_grant")

    async def test_of_a_program_that_nobody_knows_are_refused(self, http: httpx2.AsyncClient, program: Program) -> None:
        for unknown in ("nobody", "\x00"):
            form = program.redeems("northcode_x", client_id=unknown)
            assert await error_of(http, "/token", form) == (401, "invalid_client")

    async def test_replayed_take_the_tokens_back(
        self, http: httpx2.AsyncClient, browser: httpx2.AsyncClient, program: Program
    ) -> None:
        code = await code_for(browser, program)
        tokens = (await http.post("/token", data=program.redeems(code))).json()
        assert await error_of(http, "/token", program.redeems(code)) == (400, "invalid_grant")
        assert (await knock(http, tokens["access_token"])).status_code == 401

    async def test_sent_in_a_form_that_says_a_thing_twice_are_refused(
        self, http: httpx2.AsyncClient, browser: httpx2.AsyncClient, program: Program
    ) -> None:
        code = await code_for(browser, program)
        twice = [*program.redeems(code).items(), ("client_id", "nobody")]
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        reply = await http.post("/token", content=urlencode(twice), headers=form)
        assert (reply.status_code, reply.json()["error"]) == (400, "invalid_request")
        json_reply = await http.post("/token", json=program.redeems(code))
        assert (json_reply.status_code, json_reply.json()["error"]) == (400, "invalid_request")


class TestRefreshTokens:
    async def test_give_new_tokens_once(
        self, http: httpx2.AsyncClient, browser: httpx2.AsyncClient, program: Program, address: str
    ) -> None:
        first = await tokens_for(browser, http, program)
        renewal = await http.post("/token", data=program.renews(first["refresh_token"], resource=f"{address}/mcp"))
        second = renewal.json()
        assert (await knock(http, second["access_token"])).status_code == 200
        assert second["refresh_token"] != first["refresh_token"]

        assert await error_of(http, "/token", program.renews(first["refresh_token"])) == (400, "invalid_grant")
        assert (await knock(http, second["access_token"])).status_code == 401
        assert await error_of(http, "/token", program.renews(second["refresh_token"])) == (400, "invalid_grant")

    @pytest.mark.parametrize(
        ("changes", "error"),
        [({"resource": "https://other.test/mcp"}, "invalid_target"), ({"scope": "memory admin"}, "invalid_scope")],
    )
    async def test_give_nothing_beyond_what_was_allowed(
        self,
        http: httpx2.AsyncClient,
        browser: httpx2.AsyncClient,
        program: Program,
        changes: dict[str, str],
        error: str,
    ) -> None:
        tokens = await tokens_for(browser, http, program)
        assert await error_of(http, "/token", program.renews(tokens["refresh_token"], **changes)) == (400, error)
        assert (await knock(http, tokens["access_token"])).status_code == 200


class TestGivingBack:
    @pytest.mark.parametrize("which", ["access_token", "refresh_token"])
    async def test_ends_the_connection(
        self, http: httpx2.AsyncClient, browser: httpx2.AsyncClient, program: Program, which: str
    ) -> None:
        tokens = await tokens_for(browser, http, program)
        form = {"token": tokens[which], "client_id": program.client_id}
        assert (await http.post("/revoke", data=form)).status_code == 200
        assert (await knock(http, tokens["access_token"])).status_code == 401

    async def test_of_what_is_not_the_programs_changes_nothing(
        self, http: httpx2.AsyncClient, browser: httpx2.AsyncClient, program: Program
    ) -> None:
        tokens = await tokens_for(browser, http, program)
        for form in (
            {"token": tokens["access_token"], "client_id": "https://evil.test/metadata.json"},
            {"token": "northaccess_wrong", "client_id": program.client_id},
        ):
            assert (await http.post("/revoke", data=form)).status_code == 200
        unknown = await error_of(http, "/revoke", {"token": tokens["access_token"], "client_id": "nobody"})
        assert unknown == (401, "invalid_client")
        assert (await knock(http, tokens["access_token"])).status_code == 200


class TestRegistration:
    async def test_gives_a_secret_to_who_wants_one_and_takes_it_in_form_or_header(
        self, http: httpx2.AsyncClient, browser: httpx2.AsyncClient
    ) -> None:
        told = await register(http, token_endpoint_auth_method="client_secret_basic")
        secret, program = told["client_secret"], Program(told["client_id"])
        code = await code_for(browser, program)
        for form in (program.redeems(code), program.redeems(code, client_secret="wrong")):
            assert await error_of(http, "/token", form) == (401, "invalid_client")
        wrong = await http.post("/token", data=program.redeems(code, client_id=None), auth=(program.client_id, "wrong"))
        assert wrong.status_code == 401

        header = await http.post("/token", data=program.redeems(code, client_id=None), auth=(program.client_id, secret))
        assert header.status_code == 200
        form = program.renews(header.json()["refresh_token"], client_secret=secret)
        assert (await http.post("/token", data=form)).status_code == 200

    @pytest.mark.parametrize(
        "redirects",
        [
            [],
            ["http://host.test/back"],
            [CALLBACK, "javascript:alert(1)"],
            ["https://host.test/back#fragment"],
            ["https://user@host.test/back"],
            [f"https://host.test/{number}" for number in range(11)],
        ],
    )
    async def test_refuses_addresses_to_which_no_answer_is_sent(
        self, http: httpx2.AsyncClient, redirects: list[str]
    ) -> None:
        reply = await http.post("/register", json={"client_name": "Evil", "redirect_uris": redirects})
        assert reply.status_code == 400
        assert reply.json()["error"] in {"invalid_redirect_uri", "invalid_client_metadata"}

    @pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'{"redirect_uris": 1}'])
    async def test_refuses_what_is_no_registration(self, http: httpx2.AsyncClient, body: bytes) -> None:
        assert (await http.post("/register", content=body)).status_code == 400

    async def test_refuses_what_is_too_large(self, http: httpx2.AsyncClient) -> None:
        assert (await http.post("/register", content=b" " * 40_000)).status_code == 413
        assert (await http.post("/token", content=b"a" * 40_000)).status_code == 413

    async def test_is_limited_by_address_and_for_all(self) -> None:
        limit = RegistrationLimit()
        for _ in range(REGISTRATIONS_PER_HOUR):
            limit.count("10.0.0.1")
        with pytest.raises(TooManyAttempts):
            limit.count("10.0.0.1")
        for number in range(ALL_REGISTRATIONS_PER_HOUR - REGISTRATIONS_PER_HOUR):
            limit.count(f"10.1.0.{number}")
        with pytest.raises(TooManyAttempts) as waiting:
            limit.count("10.0.0.2")
        assert 3500 < waiting.value.detail["seconds"] <= 3600


class TestMetadataDocuments:
    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "0.0.0.0", "2130706433"])
    async def test_on_this_machine_are_never_asked_for(self, httpserver: HTTPServer, host: str) -> None:
        with pytest.raises(ClientUnknown, match="cannot be fetched"):
            await ClientDocuments().find(f"https://{host}:{httpserver.port}/metadata.json")
        assert httpserver.log == []

    @pytest.mark.parametrize("host", ["10.0.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"])
    async def test_in_a_private_network_are_never_asked_for(self, host: str) -> None:
        with pytest.raises(ClientUnknown, match="cannot be fetched"):
            await ClientDocuments().find(f"https://{host}/metadata.json")

    @pytest.mark.parametrize(
        ("told", "reason"),
        [
            (b"<html>", "cannot be read"),
            (b"[]", "cannot be read"),
            (b"[" * 5000, "cannot be read"),
            ({"client_id": "https://evil.test/metadata.json"}, "belongs to another program"),
            ({"client_id": DOCUMENT + "/"}, "belongs to another program"),
            ({"client_id": DOCUMENT.replace("claude", "CLAUDE")}, "belongs to another program"),
            ({"redirect_uris": []}, "cannot be read"),
            ({"token_endpoint_auth_method": "client_secret_post"}, "cannot be read"),
            ({"token_endpoint_auth_method": "private_key_jwt"}, "wants to sign"),
        ],
    )
    async def test_that_say_something_else_are_refused(self, told: bytes | dict[str, Any], reason: str) -> None:
        known = {"client_id": DOCUMENT, "redirect_uris": [CALLBACK]}

        async def fetch(_: str) -> bytes:
            return told if isinstance(told, bytes) else json.dumps(known | told).encode()

        with pytest.raises(ClientUnknown, match=reason):
            await ClientDocuments(fetch).find(DOCUMENT)
