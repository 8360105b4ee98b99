"""The one page that asks anybody to approve anything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import urlencode, urlsplit

import httpx2
import pytest
from fastapi import FastAPI

from north.access.oauth_clients import describe_client, register_client
from north.access.oauth_tokens import connected_programs, grant_of_code, redeem
from north.chat.models import make_model
from north.connectors.client_documents import ClientDocument, ClientDocuments
from north.errors import ClientUnknown
from north.memory.backend import Backend
from north.model import OAuthClient, new_id
from tests.conftest import PASSWORD, FirmOfTest
from tests.oauth import CALLBACK, LOOPBACK, Program, answer_in, code_for, form_of, press
from tests.web.conftest import client_of, enter, page_of, web_app

DOCUMENT = "https://claude.ai/oauth/metadata.json"


class KnownDocuments(ClientDocuments):
    """Documents that need no fetching."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    async def find(self, address: str) -> ClientDocument:
        self.asked += 1
        if address != DOCUMENT:
            raise ClientUnknown(reason="the document that describes it cannot be fetched")
        return ClientDocument("Claude", (CALLBACK, LOOPBACK))


@pytest.fixture
def documents() -> KnownDocuments:
    return KnownDocuments()


@pytest.fixture
def app(backend: Backend, documents: KnownDocuments) -> FastAPI:
    app = web_app(backend, make_model("offline", backend.settings))
    app.state.client_documents = documents
    return app


@pytest.fixture
async def browser(app: FastAPI, backend: Backend, firm: FirmOfTest) -> AsyncIterator[httpx2.AsyncClient]:
    """Ana's browser."""
    async with client_of(app) as client:
        await enter(client, backend, firm.ana)
        yield client


@pytest.fixture
def claude() -> Program:
    return Program(DOCUMENT)


async def registered(backend: Backend, name: str, *redirects: str) -> OAuthClient:
    client = describe_client(str(new_id()), name, redirects or (CALLBACK,), has_secret=False)
    await register_client(backend, client)
    return client


class TestAsking:
    async def test_names_the_program_where_the_answer_goes_and_what_it_may_do(
        self, browser: httpx2.AsyncClient, claude: Program
    ) -> None:
        page = page_of(await browser.get("/authorize", params=claude.asks()))
        assert page.status == 200
        assert "Connect Claude?" in page.text
        assert "It will be able to save, recall, edit and delete memory as you." in page.text
        assert "It is described at claude.ai" in page.text
        assert "The answer goes to claude.ai" in page.text
        assert "You are Ana Ruiz" in page.text

    async def test_says_that_a_program_is_on_this_computer(self, browser: httpx2.AsyncClient) -> None:
        program = Program(DOCUMENT, redirect_uri="http://127.0.0.1:51234/callback")
        page = page_of(await browser.get("/authorize", params=program.asks()))
        assert "The answer goes to this computer" in page.text

    async def test_shows_a_programs_name_as_words_and_nothing_else(
        self, browser: httpx2.AsyncClient, backend: Backend
    ) -> None:
        client = await registered(backend, "<script>x</script>\u202eedualC\n\n" + "a" * 200)
        page = await browser.get("/authorize", params=Program(client.id).asks())
        assert "&lt;script&gt;x&lt;/script&gt;edualC aaa" in page.text
        assert "<script>x" not in page.text and "\u202e" not in page.text
        assert "a" * 80 not in page.text

    async def test_lets_the_answer_leave_for_that_one_address(
        self, browser: httpx2.AsyncClient, claude: Program
    ) -> None:
        policy = (await browser.get("/authorize", params=claude.asks())).headers["Content-Security-Policy"]
        assert "form-action 'self' https://claude.ai;" in policy
        assert "frame-ancestors 'none'" in policy and "default-src 'none'" in policy
        other = (await browser.get("/settings/connections")).headers["Content-Security-Policy"]
        assert "form-action 'self';" in other

    async def test_keeps_the_window_that_opened_it_in_reach(
        self, browser: httpx2.AsyncClient, stranger: httpx2.AsyncClient, claude: Program
    ) -> None:
        for reply in (
            await browser.get("/authorize", params=claude.asks()),
            await stranger.get("/authorize", params=claude.asks()),
            await stranger.get("/login"),
        ):
            assert reply.headers["Cross-Origin-Opener-Policy"] == "unsafe-none"
        assert (await browser.get("/chat")).headers["Cross-Origin-Opener-Policy"] == "same-origin"

    async def test_asks_nobody_who_is_not_logged_in_and_fetches_nothing_for_them(
        self, stranger: httpx2.AsyncClient, documents: KnownDocuments, firm: FirmOfTest, claude: Program
    ) -> None:
        reply = await stranger.get("/authorize", params=claude.asks())
        assert reply.status_code == 303
        login = reply.headers["location"]
        assert urlsplit(login).path == "/login" and not urlsplit(login).netloc
        assert documents.asked == 0

        form = form_of((await stranger.get(login)).text)
        after = await stranger.post("/login", data={**form, "email": firm.ana.email, "password": PASSWORD})
        page = await stranger.get(after.headers["location"])
        assert "Connect Claude?" in page.text
        assert form_of(page.text) == claude.asks()

    @pytest.mark.parametrize("elsewhere", ["https://evil.test/", "//evil.test/", "/\\evil.test/", "http:evil.test"])
    async def test_the_login_before_it_leads_nowhere_else(
        self, stranger: httpx2.AsyncClient, firm: FirmOfTest, elsewhere: str
    ) -> None:
        data = {"next": elsewhere, "email": firm.ana.email, "password": PASSWORD}
        assert (await stranger.post("/login", data=data)).headers["location"] == "/chat"


class TestAllowing:
    async def test_gives_the_program_a_code_its_state_and_who_answers(
        self, browser: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest, claude: Program
    ) -> None:
        reply = await press(browser, claude.asks())
        assert reply.headers["location"].startswith(f"{CALLBACK}?code=")
        answer = answer_in(reply)
        assert answer.keys() == {"code", "state", "iss"}
        assert (answer["state"], answer["iss"]) == (claude.state, backend.settings.address)
        grant = await grant_of_code(backend, DOCUMENT, answer["code"])
        assert grant is not None and grant.user_id == firm.ana.id
        await redeem(backend, grant)
        [program] = await connected_programs(backend, firm.a)
        assert (program.name, program.host) == ("Claude", "claude.ai")

    async def test_goes_without_a_state_that_was_not_sent(self, browser: httpx2.AsyncClient, claude: Program) -> None:
        assert answer_in(await press(browser, claude.asks(state=None))).keys() == {"code", "iss"}

    async def test_answers_on_the_port_that_a_program_on_this_computer_chose(self, browser: httpx2.AsyncClient) -> None:
        program = Program(DOCUMENT, redirect_uri="http://127.0.0.1:51234/callback")
        assert (await press(browser, program.asks())).headers["location"].startswith(program.redirect_uri + "?")

    async def test_is_the_logged_in_lawyers_alone(
        self, stranger: httpx2.AsyncClient, browser: httpx2.AsyncClient, claude: Program
    ) -> None:
        form = form_of((await browser.get("/authorize", params=claude.asks())).text)
        reply = await stranger.post("/authorize", data={**form, "decision": "allow"})
        assert urlsplit(reply.headers["location"]).path == "/login"

    @pytest.mark.parametrize(
        "headers",
        [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.test"}],
    )
    async def test_is_not_done_by_another_site(
        self, browser: httpx2.AsyncClient, claude: Program, headers: dict[str, str]
    ) -> None:
        form = form_of((await browser.get("/authorize", params=claude.asks())).text)
        reply = await browser.post("/authorize", data={**form, "decision": "allow"}, headers=headers)
        assert reply.status_code == 403
        assert "location" not in reply.headers

    async def test_is_not_done_by_opening_an_address(self, browser: httpx2.AsyncClient, claude: Program) -> None:
        reply = await browser.get("/authorize", params=claude.asks(decision="allow"))
        assert reply.status_code == 200

    async def test_checks_again_what_the_form_says(
        self, browser: httpx2.AsyncClient, backend: Backend, claude: Program
    ) -> None:
        form = form_of((await browser.get("/authorize", params=claude.asks())).text)
        moved = {**form, "redirect_uri": "https://evil.test/", "decision": "allow"}
        assert (await browser.post("/authorize", data=moved)).status_code == 404
        plain = {**form, "code_challenge_method": "plain", "decision": "allow"}
        assert (await browser.post("/authorize", data=plain)).status_code == 400


class TestCancelling:
    @pytest.mark.parametrize("decision", ["cancel", "", "ALLOW"])
    async def test_tells_the_program_and_gives_it_nothing(
        self, browser: httpx2.AsyncClient, backend: Backend, claude: Program, decision: str
    ) -> None:
        answer = answer_in(await press(browser, claude.asks(), decision))
        assert answer["error"] == "access_denied"
        assert (answer["state"], answer["iss"]) == (claude.state, backend.settings.address)
        assert "code" not in answer


class TestRefusing:
    """What is wrong is said here, and leads nobody away by itself."""

    @pytest.mark.parametrize(
        ("changes", "error"),
        [
            ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
            ({"code_challenge_method": None}, "invalid_request"),
            ({"code_challenge_method": "plain"}, "invalid_request"),
            ({"code_challenge": None}, "invalid_request"),
            ({"code_challenge": "short"}, "invalid_request"),
            ({"response_type": None}, "unsupported_response_type"),
            ({"response_type": "token"}, "unsupported_response_type"),
            ({"response_type": "code token"}, "unsupported_response_type"),
            ({"resource": "https://other.test/mcp"}, "invalid_target"),
            ({"resource": "http://127.0.0.1:8400/api"}, "invalid_target"),
            ({"state": "s" * 5000}, "invalid_request"),
        ],
    )
    async def test_what_a_program_asked_wrongly_is_told_it_by_a_link(
        self, browser: httpx2.AsyncClient, claude: Program, changes: dict[str, str | None], error: str
    ) -> None:
        reply = await browser.get("/authorize", params=claude.asks(**changes))
        assert reply.status_code == 400
        assert "location" not in reply.headers
        assert "Claude cannot be connected" in reply.text
        assert f"{CALLBACK}?error={error}&amp;" in reply.text
        assert "Allow" not in page_of(reply).text

    @pytest.mark.parametrize(
        "redirect",
        [
            None,
            "",
            "https://evil.test/",
            CALLBACK + "/more",
            CALLBACK + "?more=1",
            CALLBACK.replace("claude.ai", "claude.ai:8443"),
            "http://127.0.0.1:1/callback/more",
            "http://localhost:1/callback",
            "javascript:alert(1)",
        ],
    )
    async def test_an_address_that_is_not_the_programs_gets_nothing_and_no_link(
        self, browser: httpx2.AsyncClient, claude: Program, redirect: str | None
    ) -> None:
        reply = await browser.get("/authorize", params=claude.asks(redirect_uri=redirect))
        assert reply.status_code == 404
        assert "is not one that it registered" in page_of(reply).text
        assert "evil.test" not in reply.text and "location" not in reply.headers

    @pytest.mark.parametrize(
        "client_id",
        [
            "",
            "nobody",
            "00000000-0000-7000-8000-000000000000",
            "\x00",
            "https://claude.ai",
            "https://claude.ai/",
            "http://claude.ai/oauth/metadata.json",
            "https://evil.test/metadata.json",
            DOCUMENT + "#fragment",
            "https://user@claude.ai/oauth/metadata.json",
            "https://claude.ai/x/../oauth/metadata.json",
        ],
    )
    async def test_a_program_that_nobody_knows(self, browser: httpx2.AsyncClient, client_id: str) -> None:
        page = page_of(await browser.get("/authorize", params=Program(client_id).asks()))
        assert page.status == 404
        assert "North does not know the program" in page.text

    async def test_a_request_that_says_a_thing_twice(self, browser: httpx2.AsyncClient, claude: Program) -> None:
        asked = urlencode([*claude.asks().items(), ("redirect_uri", "https://evil.test/")])
        assert (await browser.get(f"/authorize?{asked}")).status_code == 404

    async def test_a_slash_after_the_resource_is_forgiven(
        self, browser: httpx2.AsyncClient, backend: Backend, claude: Program
    ) -> None:
        assert await code_for(browser, claude, resource=f"{backend.settings.address}/mcp/")


class TestSettings:
    async def test_lists_programs_and_disconnects_them(
        self, browser: httpx2.AsyncClient, ben: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest, claude: Program
    ) -> None:
        grant = await grant_of_code(backend, DOCUMENT, await code_for(browser, claude))
        assert grant is not None
        await redeem(backend, grant)
        assert "Claude claude.ai connected" in page_of(await browser.get("/settings/connections")).text
        assert "Claude claude.ai" not in page_of(await ben.get("/settings/connections")).text

        address = f"/settings/connections/programs/{grant.id}/disconnect"
        assert (await ben.post(address)).status_code == 404
        assert len(await connected_programs(backend, firm.a)) == 1
        reply = await browser.post(address)
        assert reply.headers["location"] == "/settings/connections"
        assert await connected_programs(backend, firm.a) == []
