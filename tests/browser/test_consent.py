"""Connecting a program in a real browser, which holds redirects after forms and windows' openers to its own rules."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx2
import pytest
from playwright.async_api import expect
from pytest_httpserver import HTTPServer

from tests.browser.conftest import Visit
from tests.browser.test_accessibility import LONG, PHONE, WIDE, sideways, violations
from tests.conftest import PASSWORD, FirmOfTest
from tests.oauth import Program, register


@pytest.fixture
async def program(site: str, httpserver: HTTPServer) -> AsyncIterator[Program]:
    """A program on another host than North, which waits for its answer."""
    for path in ("/start", "/back"):
        httpserver.expect_request(path).respond_with_data("<title>The program</title>", content_type="text/html")
    back = f"http://localhost:{httpserver.port}/back"
    async with httpx2.AsyncClient(base_url=site) as http:
        told = await register(http, client_name="Inspector", redirect_uris=[back])
    yield Program(told["client_id"], back)


def asking(site: str, program: Program) -> str:
    return str(httpx2.URL(f"{site}/authorize", params=program.asks()))


@pytest.mark.parametrize(("button", "answer"), [("Allow", "code"), ("Cancel", "error=access_denied")])
async def test_the_answer_reaches_the_program(
    visit: Visit, site: str, firm: FirmOfTest, program: Program, button: str, answer: str
) -> None:
    page = await visit(firm.ana)
    await page.goto(asking(site, program))
    await expect(page.get_by_role("heading", name="Connect Inspector?")).to_be_visible()
    await page.get_by_role("button", name=button).click()
    await expect(page).to_have_url(re.compile(re.escape(program.redirect_uri) + r"\?.*" + answer))


async def test_a_window_that_the_program_opened_finds_it_again_after_the_login(
    visit: Visit, site: str, firm: FirmOfTest, program: Program
) -> None:
    page = await visit()
    await page.goto(program.redirect_uri.replace("/back", "/start"))
    async with page.expect_popup() as opened:
        await page.evaluate("address => { window.open(address) }", asking(site, program))
    window = await opened.value
    await window.get_by_label("E-mail address").fill(firm.ana.email)
    await window.get_by_label("Password").fill(PASSWORD)
    await window.get_by_role("button", name="Log in").click()
    await window.get_by_role("button", name="Allow").click()
    await expect(window).to_have_title("The program")
    assert await window.evaluate("window.opener !== null")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
async def test_the_page_is_usable_by_everybody(
    visit: Visit, site: str, firm: FirmOfTest, theme: str, size: dict[str, int]
) -> None:
    async with httpx2.AsyncClient(base_url=site) as http:
        told = await register(http, client_name=LONG)
    page = await visit(firm.ana, viewport=size, color_scheme=theme)
    await page.goto(asking(site, Program(told["client_id"])))
    await expect(page.get_by_role("button", name="Allow")).to_be_visible()
    assert await violations(page) == []
    assert await sideways(page) <= 0
