"""Every page there is, filled with text that would like to run, in a real browser: none of it does."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any
from uuid import UUID

import httpx2
import psycopg
from fastapi import APIRouter
from playwright.async_api import Page, Request

from north import web
from north.access.firms import insert_user
from north.access.oauth_clients import describe_client, register_client
from north.access.tokens import create_token
from north.chat.threads import create_thread, rename_thread
from north.errors import InvalidInput
from north.memory.backend import Backend
from north.memory.edit import edit
from north.memory.imports import receive
from north.memory.matters import create_matter
from north.memory.rules import create_rule
from north.memory.save import save
from north.model import Caller, Draft, MemoryType, Origin, Saved, Scope, User, new_id
from tests.browser.conftest import Visit
from tests.conftest import FirmOfTest, TestDatabase
from tests.oauth import CALLBACK, Program

RUN = "window.pwned=(window.pwned||0)+1"
EVIL = "http://evil.test"
ATTACKS = [
    f"<script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f'"><svg onload={RUN}>',
    f"'\"--></style></script></textarea></title></select></option><script>{RUN}</script>",
    f"<img src={EVIL}/i.png><link rel=stylesheet href={EVIL}/s.css><iframe src={EVIL}></iframe>",
    f"<style>@import url({EVIL}/c.css);*{{background:url({EVIL}/b.png)}}</style>",
    f'<div style="background:url({EVIL}/d.png)" hx-get="{EVIL}/h" hx-trigger="load" hx-on::load="{RUN}">x</div>',
    f'<meta http-equiv=refresh content="0;url={EVIL}"><base href={EVIL}/>',
    f'<form action={EVIL}><button autofocus onfocus="{RUN}">x</button></form>',
    f"![seal]({EVIL}/m.png) [x](javascript:{RUN}) <javascript:{RUN}> [y](data:text/html,<script>{RUN}</script>)",
    f"[a]: {EVIL}/r\n![b][a] `<script>{RUN}</script>`\n\n<details open ontoggle={RUN}>",
    f"javascript:{RUN}",
    f"data:text/html;base64,PHNjcmlwdD4{RUN}",
    f"{{{{7*191}}}} ${{7*191}} {{% print(7*191) %}} <%= 7*191 %> #{{7*191}} {{{{constructor.constructor('{RUN}')()}}}}",
    f"\u202e\u2066<script>{RUN}</script>\u2069\ufeff\u200b",
    f"\uff1cscript\uff1e{RUN}\uff1c/script\uff1e &lt;script&gt;{RUN}&lt;/script&gt; \\u003cscript>{RUN}</script>",
]
LINE = f"\"'><img src=x onerror={RUN}>{{{{7*191}}}}<b>"
"""For names, which are short and one line."""


async def filled(backend: Backend, database: TestDatabase, firm: FirmOfTest) -> tuple[User, dict[str, str]]:
    """Somebody whose every field is hostile, and what stands in the addresses of the pages."""
    email = f"o'{new_id().hex[:8]}\"onfocus={RUN[:20]}@{firm.slug}.test"
    user = await insert_user(backend, firm.ana.organization_id, email, LINE, "lawyer", _hash_of(database, firm.ana))
    caller = Caller(user.organization_id, user.id, Origin.SETTINGS)
    matter = await create_matter(backend, caller, f"X<b>{new_id().hex[:6]}'\"", f"{LINE} {LINE}")
    place = await save(backend, caller, [Draft(text, MemoryType.FACT, source_label=LINE) for text in ATTACKS])
    await save(backend, caller, [Draft(text, MemoryType.PARTY, Scope.MATTER, str(matter.id)) for text in ATTACKS])
    first = next(outcome.memory for outcome in place if isinstance(outcome, Saved))
    await edit(backend, caller, first.id, f"Edited: {ATTACKS[0]}")
    thread = await create_thread(backend, caller, str(matter.id))
    await rename_thread(backend, caller, thread.id, LINE[:120])
    for text in (LINE, *ATTACKS):
        with suppress(InvalidInput):
            await create_rule(backend, caller, "never_remember", None, None, f"{text[:190]}")
    await create_token(backend, caller, LINE[:100])
    brought = await receive(backend, caller, f"{LINE[:80]}.zip", _once(ATTACKS[0].encode()))
    client = describe_client(new_id().hex, LINE, [CALLBACK], has_secret=False)
    await register_client(backend, client)
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute(
            "update import_batch set status = 'failed', report = %s where id = %s",
            (_report(), brought.id),
        )
    ids = {"{memory_id:uuid}": str(first.id), "{thread_id:uuid}": str(thread.id), "{import_id:uuid}": str(brought.id)}
    return user, ids | {"{client}": client.id, "{matter}": str(matter.id)}


def _report() -> Any:
    return psycopg.types.json.Jsonb({"seen": 1, "failed": [{"conversation": LINE, "reason": ATTACKS[1]}]})


def _hash_of(database: TestDatabase, user: User) -> str:
    with psycopg.connect(database.superuser_url) as connection:
        row = connection.execute("select password_hash from user_password where user_id = %s", (user.id,)).fetchone()
    assert row is not None
    return str(row[0])


async def _once(chunk: bytes) -> AsyncIterator[bytes]:
    yield chunk


NO_PAGES = {
    "/static/{digest}/{name}",
    "/settings/memory/export/{format}",
    "/settings/connections/netdocuments/callback",
}
"""What a browser is not shown: files, downloads, and an address that only leads on."""


def page_addresses() -> set[str]:
    """The template of every page that there is."""
    routers = [module.router for module in vars(web).values() if isinstance(getattr(module, "router", None), APIRouter)]
    return {
        route.path
        for router in routers
        for route in router.routes
        if "GET" in (getattr(route, "methods", None) or ()) and getattr(route, "path", "") not in NO_PAGES
    }


def placed(address: str, ids: dict[str, str], message: UUID | None) -> str:
    for name, value in ids.items():
        address = address.replace(name, value)
    return address.replace("{message_id:uuid}", str(message or new_id()))


async def assert_nothing_ran(page: Page, deeds: list[str]) -> None:
    assert deeds == []
    assert await page.evaluate("window.pwned") is None, page.url
    text = await page.evaluate("document.documentElement.textContent")
    assert "1337" not in text, f"a template was computed on {page.url}"
    for tag in (
        "iframe",
        "base",
        "object",
        "embed",
        "meta[http-equiv=refresh]",
        "svg[onload]",
        "[onerror]",
        "[onload]",
    ):
        assert await page.locator(tag).count() == 0, (tag, page.url)
    addresses = await page.eval_on_selector_all(
        "[href],[src],[action],[formaction],[hx-get],[hx-post]",
        """(found) => found.flatMap((each) => ['href', 'src', 'action', 'formaction', 'hx-get', 'hx-post']
            .map((name) => each.getAttribute(name))).filter(Boolean)""",
    )
    assert not [each for each in addresses if re.match(r"\s*(javascript|data|vbscript):", each, re.IGNORECASE)]


async def test_nothing_on_any_page_runs_leaves_or_computes(
    visit: Visit, site: str, backend: Backend, database: TestDatabase, firm: FirmOfTest
) -> None:
    user, ids = await filled(backend, database, firm)
    page, deeds = await visit(user), list[str]()

    def note(request: Request) -> None:
        if not request.url.startswith(site):
            deeds.append(request.url)

    page.context.on("request", note)
    page.context.on("page", lambda opened: deeds.append(f"a window: {opened.url}"))
    page.on("dialog", lambda dialog: deeds.append(dialog.message))
    page.on("framenavigated", lambda frame: deeds.append(frame.url) if not frame.url.startswith(site) else None)

    message = await _conversation(page, ids)
    asked = str(httpx2.URL("/authorize", params=Program(ids["{client}"]).asks(state=LINE)))
    visited = set[str]()
    for template in sorted(page_addresses()):
        address = asked if template == "/authorize" else placed(template, ids, message)
        await page.goto(address)
        await page.wait_for_load_state()
        await assert_nothing_ran(page, deeds)
        visited.add(template)
    for address in _with_queries():
        await page.goto(address)
        await assert_nothing_ran(page, deeds)
    assert visited == page_addresses()
    await page.goto("/settings/memory")
    await page.locator(".memory-text").first.click()
    await page.keyboard.press("Escape")
    await assert_nothing_ran(page, deeds)


async def _conversation(page: Page, ids: dict[str, str]) -> UUID | None:
    """Say hostile things to the assistant, which repeats them, and look at what it used."""
    await page.goto(f"/chat/{ids['{thread_id:uuid}']}")
    answers = page.locator(".from-north")
    for text in (f"Remember that my name is {ATTACKS[1]}", f"What is {ATTACKS[9]}?", "\n".join(ATTACKS)):
        before = await answers.count()
        await page.get_by_label("Message").fill(text)
        await page.get_by_label("Message").press("Enter")
        await answers.nth(before).wait_for()
        await page.get_by_role("button", name="Send").wait_for()
    found = await page.evaluate("document.documentElement.innerHTML.match(/messages\\/([0-9a-f-]{36})\\/used/)?.[1]")
    return UUID(found) if found else None


def _with_queries() -> list[str]:
    hostile = [LINE, *ATTACKS[:4], "\x00", "\u2028", "%", "'"]
    pages = (("/settings/memory", "q"), ("/settings/memory", "matter"), ("/chat/threads", "find"), ("/chat", "matter"))
    return [_query(page, text) for page in pages for text in hostile]


def _query(page: tuple[str, str], text: str) -> str:
    path, name = page
    return f"{path}?{httpx2.QueryParams({name: text})}"
