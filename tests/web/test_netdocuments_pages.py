from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from starlette.responses import JSONResponse, Response

from north.chat.models import make_model
from north.documents.connection import connection_of
from north.documents.consulting import read_document
from north.errors import NetDocumentsNotConnected
from north.memory.backend import Backend
from tests.conftest import FirmOfTest
from tests.netdocuments import LEASE, NetDocumentsServer, connect, netdocuments_server, set_up
from tests.web.conftest import client_of, enter, page_of, web_app

CONNECTIONS = "/settings/connections"
START, BACK, LEAVE = (f"{CONNECTIONS}/netdocuments/{word}" for word in ("connect", "callback", "disconnect"))


@pytest.fixture
async def server() -> AsyncIterator[NetDocumentsServer]:
    async with netdocuments_server() as running:
        yield running


@pytest.fixture
def north(backend: Backend, server: NetDocumentsServer) -> Backend:
    return set_up(backend, server)


@pytest.fixture
async def browser(north: Backend, firm: FirmOfTest) -> AsyncIterator[httpx2.AsyncClient]:
    """Ana's browser at a North that is registered with NetDocuments."""
    async with client_of(web_app(north, make_model("offline", north.settings))) as client:
        await enter(client, north, firm.ana)
        yield client


async def way_out(browser: httpx2.AsyncClient) -> str:
    """The address to which the page leads on."""
    page = await browser.post(START)
    assert page.status_code == 200
    links = {html.unescape(link) for link in re.findall(r'href="(http[^"]+)"', page.text)}
    onward = {html.unescape(link) for link in re.findall(r'content="0;url=(http[^"]+)"', page.text)}
    assert links == onward
    [address] = links
    return address


async def way_back(address: str) -> str:
    """The address to which NetDocuments sends the lawyer back once they agreed."""
    async with httpx2.AsyncClient() as elsewhere:
        return str((await elsewhere.get(address)).headers["Location"])


class TestConnecting:
    async def test_leads_there_and_back_and_shows_the_account(
        self, browser: httpx2.AsyncClient, north: Backend, firm: FirmOfTest, server: NetDocumentsServer
    ) -> None:
        assert "Connect NetDocuments" in page_of(await browser.get(CONNECTIONS)).text
        out = await way_out(browser)
        asked = {name: values[0] for name, values in parse_qs(urlsplit(out).query).items()}
        assert out.startswith(f"{server.url}/neWeb2/OAuth.aspx?")
        assert (asked["scope"], asked["response_type"]) == ("read", "code")
        assert asked["redirect_uri"] == f"{north.settings.address}{BACK}"

        arrived = await browser.get(await way_back(out))
        assert (arrived.status_code, arrived.headers["Location"]) == (303, CONNECTIONS)
        text = page_of(await browser.get(CONNECTIONS)).text
        assert "Ana Ruiz connected" in text
        assert "never used" in text

        await read_document(north, firm.a, LEASE)
        assert "last used" in page_of(await browser.get(CONNECTIONS)).text

    async def test_needs_no_name_of_the_account(self, browser: httpx2.AsyncClient, server: NetDocumentsServer) -> None:
        server.answers["/v1/User/info"] = Response(status_code=500)
        await browser.get(await way_back(await way_out(browser)))
        assert "Your NetDocuments account connected" in page_of(await browser.get(CONNECTIONS)).text

    async def test_shows_a_hostile_account_name_as_text(
        self, browser: httpx2.AsyncClient, server: NetDocumentsServer
    ) -> None:
        server.answers["/v1/User/info"] = JSONResponse({"displayName": "<script>alert(1)</script>"})
        await browser.get(await way_back(await way_out(browser)))
        page = await browser.get(CONNECTIONS)
        assert "<script>alert" not in page.text
        assert "&lt;script&gt;alert(1)" in page.text

    async def test_is_bound_to_the_lawyer_who_began_it(
        self, browser: httpx2.AsyncClient, north: Backend, firm: FirmOfTest, server: NetDocumentsServer
    ) -> None:
        """Else a colleague could make Ana's browser connect North to an account of theirs."""
        async with client_of(web_app(north, make_model("offline", north.settings))) as bens:
            await enter(bens, north, firm.ben)
            of_ben = await way_back(await way_out(bens))
        refused = await browser.get(of_ben)
        assert refused.status_code == 403
        assert "This link from NetDocuments is not valid" in page_of(refused).text
        assert server.grants == []
        assert await connection_of(north, firm.a) is None

    @pytest.mark.parametrize("state", ["", "forged", "é", "A" * 75, "=", "A" * 10_000])
    async def test_refuses_a_forged_state_before_the_code_is_used(
        self, browser: httpx2.AsyncClient, server: NetDocumentsServer, state: str
    ) -> None:
        assert (await browser.get(BACK, params={"state": state, "code": "code"})).status_code == 403
        assert server.grants == []

    async def test_refuses_a_state_of_long_ago(
        self, browser: httpx2.AsyncClient, server: NetDocumentsServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        back = await way_back(await way_out(browser))
        monkeypatch.setattr("north.documents.authorization.STATE_SECONDS", -1)
        assert (await browser.get(back)).status_code == 403
        assert server.grants == []

    async def test_refuses_a_code_that_is_spent(self, browser: httpx2.AsyncClient) -> None:
        back = await way_back(await way_out(browser))
        assert (await browser.get(back)).status_code == 303
        assert (await browser.get(back)).status_code == 403
        assert "Ana Ruiz connected" in page_of(await browser.get(CONNECTIONS)).text

    async def test_that_was_declined_says_so(self, browser: httpx2.AsyncClient) -> None:
        page = page_of(await browser.get(BACK, params={"error": "access_denied", "state": "x"}))
        assert page.status == 403
        assert "access was not given" in page.text

    async def test_at_a_netdocuments_that_is_away_says_so(
        self, browser: httpx2.AsyncClient, server: NetDocumentsServer
    ) -> None:
        back = await way_back(await way_out(browser))
        server.answers["/v1/OAuth"] = Response(status_code=502)
        page = page_of(await browser.get(back))
        assert (page.status, "answered with status 502" in page.text) == (503, True)

    async def test_needs_a_login_and_a_form_of_our_own(
        self, browser: httpx2.AsyncClient, stranger: httpx2.AsyncClient
    ) -> None:
        assert (await stranger.post(START)).headers["Location"].startswith("/login")
        for path in (START, LEAVE):
            assert (await browser.post(path, headers={"Sec-Fetch-Site": "cross-site"})).status_code == 403


class TestDisconnecting:
    async def test_works_at_once(
        self, browser: httpx2.AsyncClient, north: Backend, firm: FirmOfTest, server: NetDocumentsServer
    ) -> None:
        await connect(north, firm.a, server)
        assert (await browser.post(LEAVE)).headers["Location"] == CONNECTIONS
        assert "Connect NetDocuments" in page_of(await browser.get(CONNECTIONS)).text
        with pytest.raises(NetDocumentsNotConnected):
            await read_document(north, firm.a, LEASE)

    async def test_leaves_a_colleagues_connection(
        self, browser: httpx2.AsyncClient, north: Backend, firm: FirmOfTest, server: NetDocumentsServer
    ) -> None:
        await connect(north, firm.b, server)
        await browser.post(LEAVE)
        assert await connection_of(north, firm.b) is not None


class TestWithoutNetDocuments:
    async def test_nothing_of_it_is_shown_or_answered(self, ana: httpx2.AsyncClient) -> None:
        assert "NetDocuments" not in page_of(await ana.get(CONNECTIONS)).text
        assert (await ana.post(START)).status_code == 404
        assert (await ana.get(BACK, params={"state": "x", "code": "y"})).status_code == 404
