"""Connecting NetDocuments in a real browser, whose security policy has a say in where a form may lead."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import expect
from pydantic import SecretStr

from north.app import make_app
from north.settings import Settings
from tests.browser.conftest import Visit, served
from tests.conftest import FirmOfTest, TestDatabase
from tests.netdocuments import CLIENT_ID, CLIENT_SECRET, netdocuments_server


@pytest.fixture
async def registered_site(database: TestDatabase) -> AsyncIterator[str]:
    """The whole application, registered at a NetDocuments server."""
    async with netdocuments_server() as server:

        def settings(address: str) -> Settings:
            return Settings(
                model="offline",
                embedder="none",
                public_url=address,
                netdocuments_client_id=CLIENT_ID,
                netdocuments_client_secret=SecretStr(CLIENT_SECRET),
                netdocuments_region=server.url,
            )

        async with served(lambda address: make_app(settings(address), database.place)) as address:
            yield address


async def test_a_lawyer_connects_and_disconnects(visit: Visit, registered_site: str, firm: FirmOfTest) -> None:
    page = await visit(firm.ana, at=registered_site)
    await page.goto("/settings/connections")
    await page.get_by_role("button", name="Connect NetDocuments").click()
    await page.wait_for_url(re.compile("/settings/connections$"))
    await expect(page.get_by_text("Ana Ruiz", exact=True).last).to_be_visible()
    await page.get_by_role("button", name="Disconnect NetDocuments").click()
    await expect(page.get_by_role("button", name="Connect NetDocuments")).to_be_visible()


async def test_a_lawyer_connects_without_javascript(visit: Visit, registered_site: str, firm: FirmOfTest) -> None:
    page = await visit(firm.ana, at=registered_site, java_script_enabled=False)
    await page.goto("/settings/connections")
    await page.get_by_role("button", name="Connect NetDocuments").click()
    await page.wait_for_url(re.compile("/settings/connections$"))
    await expect(page.get_by_role("button", name="Disconnect NetDocuments")).to_be_visible()
