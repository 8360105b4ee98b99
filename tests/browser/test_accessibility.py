"""Every page, in both themes and at both widths: no violation that axe finds, and nothing to scroll sideways."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe  # type: ignore[import-untyped]  # it ships no types
from playwright.async_api import Page, expect

from north.access.tokens import create_token
from north.memory.backend import Backend
from north.memory.edit import edit
from north.memory.rules import NEVER_REMEMBER, create_rule
from north.model import MemoryType, Scope
from north.web.pages import THEME_COOKIE
from tests.browser.conftest import Visit
from tests.browser.pages import log_in, new_chat, say
from tests.chat.exported import chatgpt_conversation, chatgpt_export, uploaded
from tests.conftest import FirmOfTest
from tests.exports import read
from tests.web.conftest import remember

WIDE = {"width": 1440, "height": 900}
PHONE = {"width": 360, "height": 740}
LONG = "averylongwordwithoutanybreak" * 6


async def furnish(backend: Backend, firm: FirmOfTest) -> dict[str, str]:
    """A firm with something on every page; answers with the addresses by name."""
    memory = await remember(backend, firm.a, f"The client is {LONG}.", scope=Scope.MATTER, matter="HV-1001")
    await remember(backend, firm.b, "Ben's fact on the matter.", scope=Scope.MATTER, matter="HV-1001")
    await remember(backend, firm.a, "Never name a client in a subject line.", scope=Scope.FIRM_GLOBAL)
    old = await remember(backend, firm.a, "I want short letters.", type=MemoryType.PREFERENCE)
    await edit(backend, firm.a, old.id, "I want very short letters.")
    await create_rule(backend, firm.a, NEVER_REMEMBER, Scope.USER_PRIVATE, None, f"salary {LONG}")
    await create_token(backend, firm.a, "Claude on a laptop")
    await import_in_every_state(backend, firm)
    return {
        "new chat": "/chat",
        "chat deleted": f"/chat?deleted={memory.id}",
        "chats not found": "/chat?find=zzzz",
        "memories": f"/settings/memory?highlight={memory.id}",
        "found by meaning": "/settings/memory?q=brief+correspondence",
        "nothing found": "/settings/memory?q=zzzz",
        "edit": f"/settings/memory/{memory.id}/edit",
        "history": f"/settings/memory/{old.id}/history",
        "rules": "/settings/memory/rules",
        "connections": "/settings/connections",
        "import": "/settings/import",
        "missing": "/nowhere",
    }


async def import_in_every_state(backend: Backend, firm: FirmOfTest) -> None:
    """Imports that failed, that ended with something to report, and that wait."""
    broken = {"title": LONG, "mapping": None}
    for file in (b"{}", chatgpt_export(chatgpt_conversation("1", "I prefer tea."), broken)):
        await read(backend, firm.a, (await uploaded(backend, firm.a, file, f"{LONG}.json")).id)
    await uploaded(backend, firm.a, b"{}", f"{LONG}.json")


async def violations(page: Page) -> list[str]:
    results: dict[str, Any] = (await Axe().run(page)).response
    return [f"{each['id']}: {[node['html'][:160] for node in each['nodes'][:3]]}" for each in results["violations"]]


async def sideways(page: Page) -> int:
    """How many pixels of the page lie beyond its right edge."""
    width: int = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return width


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
async def test_every_page_is_usable_by_everybody(
    visit: Visit, backend: Backend, firm: FirmOfTest, theme: str, size: dict[str, int]
) -> None:
    addresses = await furnish(backend, firm)
    page = await visit(viewport=size, color_scheme=theme)
    await page.goto("/login")
    found = {"login": await violations(page)}
    scrolls = {"login": await sideways(page)}
    await log_in(page, firm.ana.email)
    for name, address in addresses.items():
        await page.goto(address)
        await page.evaluate("document.querySelectorAll('main details').forEach((each) => { each.open = true })")
        found[name], scrolls[name] = await violations(page), await sideways(page)
    await new_chat(page, "HV-1001")
    await say(page, f"I always want citations in Bluebook form. {LONG}")
    answer = await say(page, "In which form do I want citations?")
    await answer.locator(".used summary").click()
    await answer.locator(".used").get_by_role("link", name="Edit").first.click()
    await expect(answer.get_by_label("Text of this memory")).to_be_focused()
    await page.locator(".note.saved").first.get_by_role("button", name="Delete").click()
    await page.locator(".thread-menu summary").click()
    found["conversation"], scrolls["conversation"] = await violations(page), await sideways(page)
    used = await page.goto(await _used_address(page))
    assert used and used.ok
    found["used"], scrolls["used"] = await violations(page), await sideways(page)
    await new_chat(page, "HV-1001", incognito=True)
    await say(page, "In which form do I want citations?")
    found["not remembered"], scrolls["not remembered"] = await violations(page), await sideways(page)
    assert {name: each for name, each in found.items() if each} == {}
    assert {name: each for name, each in scrolls.items() if each > 0} == {}


async def _used_address(page: Page) -> str:
    """Where a browser without JavaScript sees the memories that the first answer used."""
    await page.reload()
    address = await page.locator(".used a").filter(has_text="See them").first.get_attribute("href")
    assert address
    return address


@pytest.mark.parametrize(("chosen", "preferred"), [("dark", "light"), ("light", "dark")])
async def test_a_theme_by_choice_is_as_readable_as_one_by_preference(
    visit: Visit, site: str, backend: Backend, firm: FirmOfTest, chosen: str, preferred: str
) -> None:
    await remember(backend, firm.a, "I want short letters.")
    page = await visit(firm.ana, color_scheme=preferred)
    await page.context.add_cookies([{"name": THEME_COOKIE, "value": chosen, "url": site}])
    await page.goto("/settings/memory")
    await expect(page.locator("html")).to_have_css("color-scheme", chosen)
    assert await violations(page) == []
    await new_chat(page)
    await say(page, "I always want citations in Bluebook form.")
    assert await violations(page) == []


async def test_the_keyboard_reaches_the_content_first(visit: Visit, firm: FirmOfTest) -> None:
    page = await visit(firm.ana)
    await page.goto("/settings/memory")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Memories")).to_be_focused()


async def test_the_menu_of_a_phone_opens_and_closes_by_keyboard(visit: Visit, firm: FirmOfTest) -> None:
    page = await visit(firm.ana, viewport=PHONE)
    await page.goto("/chat")
    await page.get_by_role("button", name="Open the menu").press("Enter")
    await expect(page.get_by_role("navigation", name="Conversations")).to_be_visible()
    assert await violations(page) == []
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("navigation", name="Conversations")).to_be_hidden()
