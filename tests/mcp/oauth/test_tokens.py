"""Codes, access tokens and refresh tokens: what each opens, for whom, and until when."""

from __future__ import annotations

from urllib.parse import urlencode

import httpx2
import pytest

from north.access.oauth_tokens import connected_programs, disconnect_program
from north.access.tokens import create_token
from north.memory.backend import Backend
from tests.conftest import FirmOfTest, TestDatabase
from tests.mcp.oauth.conftest import error_of, knock, running
from tests.oauth import CALLBACK, Program, code_for, tokens_for


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
