from __future__ import annotations

import httpx2
import pytest
from fastapi import FastAPI
from starlette.datastructures import Headers

from north.memory.backend import Backend
from north.memory.rules import list_rules
from north.web.assets import asset_address
from north.web.security import is_cross_site, is_page
from north.web.site import add_web
from tests.conftest import FirmOfTest
from tests.web.conftest import client_of, page_of

OWN = "http://127.0.0.1:8400"


class TestWritesFromOtherSites:
    @pytest.mark.parametrize(
        "headers",
        [
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Sec-Fetch-Site": "cross-site", "Origin": OWN},
            {"Origin": "https://evil.test"},
            {"Origin": "http://127.0.0.1:9999"},
            {"Origin": "null"},
        ],
    )
    async def test_are_refused_and_change_nothing(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest, headers: dict[str, str]
    ) -> None:
        response = await ana.post("/settings/memory/rules", data={"phrase": "salary"}, headers=headers)
        assert response.status_code == 403
        assert "This request came from another site" in page_of(response).text
        assert await list_rules(backend, firm.a) == []

    @pytest.mark.parametrize("path", ["/login", "/logout", "/chat", "/settings/theme", "/settings/memory"])
    async def test_are_refused_on_every_form(self, ana: httpx2.AsyncClient, path: str) -> None:
        response = await ana.post(path, headers={"Sec-Fetch-Site": "cross-site"})
        assert response.status_code == 403

    @pytest.mark.parametrize(
        "headers",
        [{"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {"Origin": OWN}, {}],
    )
    async def test_are_told_from_our_own(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest, headers: dict[str, str]
    ) -> None:
        response = await ana.post("/settings/memory/rules", data={"phrase": "salary"}, headers=headers)
        assert response.status_code == 303
        assert len(await list_rules(backend, firm.a)) == 1

    def test_are_judged_by_the_public_address_behind_a_proxy(self) -> None:
        behind = Headers({"origin": "https://north.firm.test", "host": "10.0.0.7:8400"})
        assert not is_cross_site(behind, "https://north.firm.test")
        assert is_cross_site(behind, "https://other.test")


class TestHeaders:
    @pytest.mark.parametrize("path", ["/login", "/chat", "/settings/memory", "/nowhere", "/settings/theme"])
    async def test_forbid_inline_script_framing_and_storing(self, ana: httpx2.AsyncClient, path: str) -> None:
        headers = (await ana.get(path)).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Cache-Control"] == "no-store"

    async def test_leave_the_other_surfaces_alone(self, app: FastAPI) -> None:
        assert not is_page("/api/v1/memories")
        assert not is_page("/mcp")
        assert not is_page("/healthz")
        assert is_page("/apiary")
        assert is_page("/")


class TestStaticFiles:
    @pytest.mark.parametrize("name", ["north.css", "chat.js", "htmx-2.min.js", "north.svg"])
    async def test_are_held_by_the_browser_for_good(self, stranger: httpx2.AsyncClient, name: str) -> None:
        response = await stranger.get(asset_address(name))
        assert response.status_code == 200
        assert response.headers["Cache-Control"] == "public, max-age=31536000, immutable"

    @pytest.mark.parametrize("path", ["/static/0000000000000000/north.css", "/static/x/../../pages.py"])
    async def test_have_no_other_address(self, stranger: httpx2.AsyncClient, path: str) -> None:
        assert (await stranger.get(path)).status_code == 404


class TestErrorPages:
    async def test_say_what_is_wrong_in_the_same_design(self, ana: httpx2.AsyncClient) -> None:
        page = page_of(await ana.get("/nowhere"))
        assert page.status == 404
        assert "There is nothing at this address" in page.text
        assert "Go to chat" in page.text

    async def test_tell_nothing_of_a_fault_of_ours(self, app: FastAPI, backend: Backend) -> None:
        broken = FastAPI()
        broken.state.backend = backend
        add_web(broken)

        @broken.get("/settings/broken")
        async def fail() -> None:
            raise RuntimeError("the secret text of a memory")

        async with client_of(broken) as client:
            response = await client.get("/settings/broken")
        assert response.status_code == 500
        assert "Something went wrong on our side." in page_of(response).text
        assert "secret" not in response.text
        assert "Traceback" not in response.text
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]


class TestTheTheme:
    async def test_is_chosen_by_a_plain_form_and_shown_from_the_first_paint(self, ana: httpx2.AsyncClient) -> None:
        response = await ana.post("/settings/theme", data={"theme": "dark", "next": "/settings/memory"})
        assert response.headers["Location"] == "/settings/memory"
        assert '<html lang="en" data-theme="dark">' in (await ana.get("/settings/memory")).text

    async def test_is_no_way_to_write_into_the_page(self, ana: httpx2.AsyncClient) -> None:
        ana.cookies.set("north_theme", 'dark" onload="alert(1)')
        assert '<html lang="en" data-theme="system">' in (await ana.get("/settings/memory")).text
