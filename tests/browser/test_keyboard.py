"""The whole of Settings by keyboard alone."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, expect

from north.chat.threads import list_threads
from north.memory.backend import Backend
from north.memory.rules import list_rules
from tests.browser.conftest import Visit
from tests.browser.pages import open_memory, row
from tests.browser.test_accessibility import furnish
from tests.conftest import FirmOfTest
from tests.web.conftest import live

CONTROLS = "a[href], button, input:not([type=hidden]), select, textarea, summary, pre[tabindex]"
UNREACHED = f"""
    () => [...document.querySelectorAll("{CONTROLS}")]
      .filter((each) => each.checkVisibility() && each.tabIndex >= 0 && !each.dataset.reached)
      .map((each) => each.outerHTML.slice(0, 120))
"""
NOTE_FOCUS = """
    () => {
      const at = document.activeElement;
      const again = at.dataset.reached === "yes";
      at.dataset.reached = "yes";
      const style = getComputedStyle(at);
      const box = at.getBoundingClientRect();
      return {
        again,
        seen: at === document.body || style.outlineStyle !== "none" || at.closest(".composer-box") !== null,
        inside: box.bottom > 0 && box.top < innerHeight,
        html: at.outerHTML.slice(0, 120),
      };
    }
"""


async def press(page: Page, *keys: str) -> None:
    for key in keys:
        await page.keyboard.press(key)


async def tab_to(page: Page, name: str | re.Pattern[str], role: str = "link") -> None:
    """Press Tab until the control with this name has the keyboard."""
    wanted = page.get_by_role(role, name=name).first  # type: ignore[arg-type]  # one of Playwright's many words
    for _ in range(80):
        if await wanted.evaluate("(each) => each === document.activeElement"):
            return
        await page.keyboard.press("Tab")
    raise AssertionError(f"{name} was not reached by Tab")


@pytest.mark.parametrize(
    "page_name", ["memories", "rules", "connections", "import", "history", "edit", "nothing found"]
)
async def test_tab_reaches_every_control_of_a_page_and_one_sees_where_it_is(
    visit: Visit, backend: Backend, firm: FirmOfTest, page_name: str
) -> None:
    page = await visit(firm.ana)
    await page.goto((await furnish(backend, firm))[page_name])
    await page.evaluate(NOTE_FOCUS)
    for _ in range(120):
        await page.keyboard.press("Tab")
        at = await page.evaluate(NOTE_FOCUS)
        if at["again"]:
            break
        assert at["seen"], f"no outline: {at['html']}"
        assert at["inside"], f"out of sight: {at['html']}"
    assert await page.evaluate(UNREACHED) == []


async def test_everything_is_done_by_keyboard_alone(visit: Visit, backend: Backend, firm: FirmOfTest) -> None:
    page = await visit(firm.ana)
    await open_memory(page)
    await press(page, "Tab", "Enter")  # skip to the content
    await tab_to(page, "Rules")
    await press(page, "Enter")
    await expect(page.get_by_role("heading", name="New rule")).to_be_visible()
    await tab_to(page, "What to never remember", "combobox")
    await page.keyboard.type("any pref")
    await tab_to(page, "Words that it mentions", "textbox")
    await page.keyboard.type("salary")
    await press(page, "Enter")
    await expect(page.locator("#rule-list")).to_contain_text("Never remember any preference that mentions “salary”.")
    [rule] = await list_rules(backend, firm.a)
    assert rule.phrase == "salary"
    await tab_to(page, "Delete the rule", "button")
    await press(page, "Enter")
    await expect(page.get_by_role("button", name="Undo")).to_be_focused()

    await open_memory(page)
    add = page.locator(".add summary")
    while not await add.evaluate("(each) => each === document.activeElement"):
        await press(page, "Tab")
    await press(page, "Enter", "Tab")
    await page.keyboard.type("The judge is Abara.")
    await tab_to(page, "Belongs to", "combobox")
    await page.keyboard.type("Matter HV-1001")
    await tab_to(page, "Save", "button")
    await press(page, "Enter")
    await expect(row(page, "The judge is Abara.")).to_contain_text("Matter HV-1001 · shared with the firm")
    await tab_to(page, "Search", "searchbox")
    await page.keyboard.type("judge")
    await expect(page).to_have_url("/settings/memory?q=judge")
    await tab_to(page, "JSON")
    async with page.expect_download() as downloading:
        await press(page, "Enter")
    assert (await downloading.value).suggested_filename.endswith(".json")
    await tab_to(page, "History of")
    await press(page, "Enter")
    await expect(page.locator(".versions li")).to_have_count(1)
    await tab_to(page, re.compile("^Delete"), "button")
    await press(page, "Enter")
    await expect(page.get_by_role("button", name="Undo")).to_be_focused()
    assert await live(backend, firm.a) == []
    await press(page, "Enter")
    await expect(row(page, "The judge is Abara.")).to_be_visible()

    await page.goto("/settings/connections")
    await tab_to(page, "Name of the program", "textbox")
    await page.keyboard.type("Claude")
    await press(page, "Enter")
    await expect(page.locator(".secret")).to_be_visible()
    await tab_to(page, "Delete the token Claude", "button")
    await press(page, "Enter")
    await expect(page.locator("#token-list li")).to_have_count(0)
    account = page.locator(".account summary")
    while not await account.evaluate("(each) => each === document.activeElement"):
        await press(page, "Tab")
    await press(page, "Enter")
    await tab_to(page, "Dark", "button")
    await press(page, "Enter")
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert await list_threads(backend, firm.a) == []
