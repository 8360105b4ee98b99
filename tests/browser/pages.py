"""What a lawyer does on the pages, for tests to read as sentences."""

from __future__ import annotations

from playwright.async_api import Locator, Page, expect

from tests.conftest import PASSWORD


async def log_in(page: Page, email: str) -> None:
    await page.goto("/login")
    await page.get_by_label("E-mail address").fill(email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Log in").click()
    await page.wait_for_load_state()
    await expect(page).to_have_title("New chat · North")


async def new_chat(page: Page, matter: str | None = None, *, incognito: bool = False) -> None:
    await page.goto("/chat")
    if incognito:
        await page.get_by_label("Don’t remember this chat").check()
    if matter:
        options = page.get_by_label("Matter").locator("option")
        label = await options.filter(has_text=matter).inner_text()
        await page.get_by_label("Matter").select_option(label=label)


async def say(page: Page, text: str) -> Locator:
    """Send a message and wait for the whole answer, which is returned."""
    answers = page.locator(".from-north")
    before = await answers.count()
    await page.get_by_label("Message").fill(text)
    await page.get_by_label("Message").press("Enter")
    await expect(answers).to_have_count(before + 1)
    await expect(page.get_by_role("button", name="Send")).to_be_visible()
    return answers.nth(before)


def row(page: Page, text: str) -> Locator:
    """The row of a memory in Settings, unless it is being edited."""
    rows = page.locator("#memory-list .memory:not(.is-edited)")
    return rows.filter(has=page.locator(".memory-text").filter(has_text=text))


async def open_memory(page: Page) -> None:
    await page.goto("/settings/memory")
    await expect(page.get_by_role("heading", name="Memory", exact=True)).to_be_visible()
