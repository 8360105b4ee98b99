from __future__ import annotations

from dataclasses import replace

import httpx2
import pytest
from starlette.responses import Response

from north.access.login import log_in
from north.access.throttle import OF_ACCOUNT
from north.memory.backend import Backend
from north.settings import Settings
from north.web.sessions import SESSION_COOKIE, set_session
from tests.conftest import PASSWORD, FirmOfTest
from tests.web.conftest import HTMX, STREAM, page_of

PAGES = [
    "/chat",
    "/chat/00000000-0000-7000-8000-000000000000",
    "/settings/memory",
    "/settings/memory/rules",
    "/settings/memory/00000000-0000-7000-8000-000000000000",
    "/settings/memory/00000000-0000-7000-8000-000000000000/edit",
    "/settings/memory/00000000-0000-7000-8000-000000000000/history",
    "/settings/connections",
    "/settings/import",
]
FORMS = [
    "/chat",
    "/chat/00000000-0000-7000-8000-000000000000/messages",
    "/settings/memory",
    "/settings/memory/00000000-0000-7000-8000-000000000000/edit",
    "/settings/memory/00000000-0000-7000-8000-000000000000/delete",
    "/settings/memory/00000000-0000-7000-8000-000000000000/restore",
    "/settings/memory/rules",
    "/settings/memory/rules/00000000-0000-7000-8000-000000000000/delete",
    "/settings/connections",
    "/settings/connections/00000000-0000-7000-8000-000000000000/delete",
]


async def log_in_by_form(client: httpx2.AsyncClient, email: str, **fields: str) -> httpx2.Response:
    return await client.post("/login", data={"email": email, "password": PASSWORD, **fields})


class TestLogin:
    async def test_opens_the_chat_and_knows_the_lawyer_from_then_on(
        self, stranger: httpx2.AsyncClient, firm: FirmOfTest
    ) -> None:
        response = await log_in_by_form(stranger, firm.ana.email)
        assert (response.status_code, response.headers["Location"]) == (303, "/chat")
        assert firm.ana.name in (await stranger.get("/chat")).text

    async def test_leads_back_to_the_page_that_was_asked_for(
        self, stranger: httpx2.AsyncClient, firm: FirmOfTest
    ) -> None:
        asked = await stranger.get("/settings/memory?q=form&type=fact")
        assert asked.headers["Location"] == "/login?next=%2Fsettings%2Fmemory%3Fq%3Dform%26type%3Dfact"
        form = await stranger.get(asked.headers["Location"])
        assert 'value="/settings/memory?q=form&amp;type=fact"' in form.text
        response = await log_in_by_form(stranger, firm.ana.email, next="/settings/memory?q=form&type=fact")
        assert response.headers["Location"] == "/settings/memory?q=form&type=fact"

    @pytest.mark.parametrize(
        "elsewhere",
        [
            "https://evil.test/",
            "//evil.test/",
            "/\\evil.test/",
            "\\\\evil.test",
            "/\t/evil.test",
            "/\n//evil.test",
            "javascript:alert(1)",
            "evil.test",
            "",
        ],
    )
    async def test_never_leads_to_another_server(
        self, stranger: httpx2.AsyncClient, firm: FirmOfTest, elsewhere: str
    ) -> None:
        response = await log_in_by_form(stranger, firm.ana.email, next=elsewhere)
        assert response.headers["Location"] == "/chat"

    async def test_says_that_the_password_is_wrong_and_leaves_the_address_in_the_form(
        self, stranger: httpx2.AsyncClient, firm: FirmOfTest
    ) -> None:
        response = await stranger.post("/login", data={"email": firm.ana.email, "password": "wrong"})
        assert response.status_code == 401
        assert "The e-mail address or the password is not right." in page_of(response).text
        assert f'value="{firm.ana.email}"' in response.text
        assert SESSION_COOKIE not in response.cookies

    async def test_asks_to_wait_after_many_wrong_passwords(
        self, stranger: httpx2.AsyncClient, firm: FirmOfTest
    ) -> None:
        for _ in range(OF_ACCOUNT):
            await stranger.post("/login", data={"email": firm.ben.email, "password": "wrong"})
        response = await log_in_by_form(stranger, firm.ben.email)
        assert response.status_code == 429
        assert "Too many logins have failed" in page_of(response).text
        assert 0 < int(response.headers["Retry-After"]) <= 30

    async def test_opens_a_new_session_and_ends_the_one_that_the_browser_had(
        self, stranger: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        _, planted = await log_in(backend, firm.ben.email, PASSWORD)
        stranger.cookies.set(SESSION_COOKIE, planted, domain="127.0.0.1")
        response = await log_in_by_form(stranger, firm.ana.email)
        assert response.cookies[SESSION_COOKIE] != planted
        stranger.cookies.clear()
        replayed = await stranger.get("/chat", headers={"Cookie": f"{SESSION_COOKIE}={planted}"})
        assert replayed.headers["Location"].startswith("/login")


class TestLogout:
    async def test_ends_the_session_on_the_server_too(self, ana: httpx2.AsyncClient) -> None:
        cookie = {"Cookie": f"{SESSION_COOKIE}={ana.cookies[SESSION_COOKIE]}"}
        response = await ana.post("/logout")
        assert (response.status_code, response.headers["Location"]) == (303, "/login")
        ana.cookies.clear()
        assert (await ana.get("/chat", headers=cookie)).status_code == 303


class TestTheSessionCookie:
    async def test_is_out_of_reach_of_scripts_and_other_sites(
        self, stranger: httpx2.AsyncClient, firm: FirmOfTest
    ) -> None:
        cookie = (await log_in_by_form(stranger, firm.ana.email)).headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert "Path=/" in cookie
        assert "Secure" not in cookie

    def test_travels_over_https_alone_where_the_firm_serves_https(self, backend: Backend) -> None:
        response = Response()
        set_session(response, "secret", replace(backend, settings=Settings(public_url="https://north.test")))
        assert "Secure" in response.headers["Set-Cookie"]


class TestWithoutASession:
    @pytest.mark.parametrize("path", PAGES)
    async def test_every_page_leads_to_the_login(self, stranger: httpx2.AsyncClient, path: str) -> None:
        response = await stranger.get(path)
        assert response.status_code == 303
        assert response.headers["Location"].startswith("/login")

    @pytest.mark.parametrize("path", FORMS)
    async def test_every_form_leads_to_the_login(self, stranger: httpx2.AsyncClient, path: str) -> None:
        response = await stranger.post(path, data={"content": "x", "text": "x", "name": "x", "phrase": "x"})
        assert response.status_code == 303
        assert response.headers["Location"].startswith("/login")

    async def test_a_piece_of_a_page_sends_the_whole_browser_to_the_login(self, stranger: httpx2.AsyncClient) -> None:
        current = {"HX-Current-URL": "http://127.0.0.1:8400/settings/memory?q=x"}
        response = await stranger.get("/settings/memory", headers={**HTMX, **current})
        assert response.status_code == 401
        assert response.headers["HX-Redirect"] == "/login?next=%2Fsettings%2Fmemory%3Fq%3Dx"

    async def test_a_message_being_sent_is_told_so_in_words(self, stranger: httpx2.AsyncClient) -> None:
        response = await stranger.post("/chat", data={"text": "Hello"}, headers=STREAM)
        assert response.status_code == 401
        assert "You have been logged out." in response.text
