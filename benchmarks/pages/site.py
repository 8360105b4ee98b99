"""A North with a firm of its own and a Chromium in front of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Browser, Page, async_playwright

from benchmarks.latency.server import served
from benchmarks.temporary import temporary_north
from north.access.firms import add_user, create_firm
from north.access.login import log_in
from north.assembly import make_backend, opened
from north.memory.backend import Backend
from north.memory.matters import create_matter
from north.model import Caller, Origin, User
from north.web.sessions import SESSION_COOKIE

PASSWORD = "a password of the benchmark's"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run", "--hide-scrollbars"]


@dataclass(frozen=True, slots=True)
class Site:
    """What runs: North at `address`, and two lawyers of one firm with two matters."""

    address: str
    backend: Backend
    browser: Browser
    ada: User
    ben: User

    async def page(self, user: User | None, **options: Any) -> Page:
        """A browser of this lawyer's own, logged in, or nobody's. Options are Playwright's for a context."""
        context = await self.browser.new_context(base_url=self.address, **options)
        if user:
            _, secret = await log_in(self.backend, user.email, PASSWORD)
            await context.add_cookies([{"name": SESSION_COOKIE, "value": secret, "url": self.address}])
        return await context.new_page()


def caller_of(user: User, origin: Origin = Origin.CHAT) -> Caller:
    """The lawyer, acting by a surface."""
    return Caller(user.organization_id, user.id, origin)


@asynccontextmanager
async def running_site(embedder: str = "local") -> AsyncIterator[Site]:
    """`north serve` on a temporary data folder, in a process of its own, and a headless Chromium."""
    executable = os.environ.get("NORTH_CHROMIUM") or shutil.which("chromium")
    async with AsyncExitStack() as stack:
        settings, place, _ = stack.enter_context(temporary_north(embedder))
        backend = await stack.enter_async_context(opened(make_backend(settings, place)))
        firm = await create_firm(backend, "holloway", "Holloway & Strand LLP")
        ada = await add_user(backend, firm, "ada@holloway.test", "Ada Marlowe", PASSWORD)
        ben = await add_user(backend, firm, "ben@holloway.test", "Ben Okafor", PASSWORD)
        await create_matter(backend, caller_of(ada), "HV-1002", "Estate of Holloway")
        await create_matter(backend, caller_of(ada), "HV-1001", "Harbor Freight v. Vance")
        port = stack.enter_context(served(settings))
        playwright = await stack.enter_async_context(async_playwright())
        browser = await playwright.chromium.launch(executable_path=executable, args=OPTIONS)
        stack.push_async_callback(browser.close)
        yield Site(f"http://127.0.0.1:{port}", backend, browser, ada, ben)
