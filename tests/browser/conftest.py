"""A real Chromium against a real server. A page that logs an error or breaks the security policy fails its test."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from fastapi import FastAPI
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from north.access.login import log_in
from north.app import make_app
from north.memory.backend import Backend
from north.model import User
from north.settings import Settings
from north.web.sessions import SESSION_COOKIE
from tests.conftest import PASSWORD, TestDatabase
from tests.serving import serving_on

CHROMIUM_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
EXPECTED = ("Failed to load resource:", "htmx:afterRequest", "htmx:sendAbort")
"""Chromium's own note about a reply such as a conflict, which the page shows in words; htmx's about a request that the
reader has cancelled. Of one that failed, htmx also notes `htmx:sendError`."""

Visit = Callable[..., Awaitable[Page]]


@asynccontextmanager
async def served(make: Callable[[str], FastAPI]) -> AsyncIterator[str]:
    """Serve an application on a free port; `make` gets its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        app = make(f"http://127.0.0.1:{listener.getsockname()[1]}")
        async with serving_on(listener, app) as address:
            yield address


@pytest.fixture(scope="session")
async def site(database: TestDatabase) -> AsyncIterator[str]:
    """The whole application, with the offline assistant and the local embedder."""

    def make(address: str) -> FastAPI:
        return make_app(Settings(model="offline", embedder="local", public_url=address), database.place)

    async with served(make) as address:
        yield address


@pytest.fixture(scope="session")
async def chromium() -> AsyncIterator[Browser]:
    executable = os.environ.get("NORTH_CHROMIUM") or shutil.which("chromium")
    assert executable, "These tests need Chromium: install it, or name it in NORTH_CHROMIUM."
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable, args=CHROMIUM_OPTIONS)
        yield browser
        await browser.close()


@pytest.fixture
async def visit(chromium: Browser, site: str, backend: Backend) -> AsyncIterator[Visit]:
    """Opens a browser of its own for a lawyer, logged in, or for nobody. Options are Playwright's for a context."""
    complaints: list[str] = []
    async with AsyncExitStack() as stack:

        async def open_browser(user: User | None = None, at: str = "", **options: Any) -> Page:
            context = await chromium.new_context(base_url=at or site, **options)
            stack.push_async_callback(context.close)
            context.set_default_timeout(15_000)
            if user:
                await _enter(context, backend, user, at or site)
            page = await context.new_page()
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", lambda message: _note(complaints, message.type, message.text))
            return page

        yield open_browser
    assert complaints == []


def _note(complaints: list[str], kind: str, text: str) -> None:
    if kind in ("error", "warning") and not text.startswith(EXPECTED):
        complaints.append(text)


async def _enter(context: BrowserContext, backend: Backend, user: User, address: str) -> None:
    _, secret = await log_in(backend, user.email, PASSWORD)
    await context.add_cookies([{"name": SESSION_COOKIE, "value": secret, "url": address}])
