"""How a program finds North, and how North comes to know a program."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from pytest_httpserver import HTTPServer

from north.access.oauth_clients import ALL_REGISTRATIONS_PER_HOUR, REGISTRATIONS_PER_HOUR, RegistrationLimit
from north.connectors.client_documents import ClientDocuments
from north.errors import ClientUnknown, TooManyAttempts
from north.memory.backend import Backend
from tests.mcp.conftest import mcp_app
from tests.mcp.oauth.conftest import DOCUMENT, error_of, knock
from tests.oauth import CALLBACK, Program, code_for, register
from tests.serving import serving


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
