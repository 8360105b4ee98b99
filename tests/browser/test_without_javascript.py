"""Every page works with JavaScript off, by plain forms."""

from __future__ import annotations

from playwright.async_api import Page, expect

from north.memory.backend import Backend
from north.model import Scope
from tests.browser.conftest import Visit
from tests.browser.pages import log_in, open_memory, row
from tests.conftest import FirmOfTest
from tests.web.conftest import remember


async def plain(visit: Visit, firm: FirmOfTest) -> Page:
    return await visit(firm.ana, java_script_enabled=False)


async def test_a_chat_can_be_had(visit: Visit, firm: FirmOfTest) -> None:
    page = await visit(java_script_enabled=False)
    await log_in(page, firm.ana.email)
    await page.get_by_label("Matter").select_option(str(firm.matter.id))
    await page.get_by_label("Message").fill("The client is a Delaware LLC.")
    await page.get_by_role("button", name="Send").click()
    await expect(page.locator(".matter-label")).to_have_text("Matter HV-1001 · Harbor v. Vance")
    await expect(page.locator(".note.saved")).to_contain_text("Saved to memory")
    await page.get_by_label("Message").fill("What kind of company is the client?")
    await page.get_by_role("button", name="Send").click()
    await expect(page.locator(".from-north .prose").nth(1)).to_contain_text("Delaware LLC")


async def test_memories_are_added_edited_deleted_and_restored(visit: Visit, firm: FirmOfTest) -> None:
    page = await plain(visit, firm)
    await open_memory(page)
    await page.get_by_text("Add a memory").click()
    await page.get_by_label("What should North remember?").fill("Due 12 June.")
    await page.locator("#add").get_by_role("button", name="Save").click()
    await row(page, "Due 12 June.").locator(".memory-text").click()
    await page.get_by_label("Text of this memory").fill("Due 14 June.")
    await page.get_by_role("button", name="Save").click()
    await expect(row(page, "Due 14 June.")).to_be_visible()
    await row(page, "Due 14 June.").get_by_role("link", name="History").click()
    await expect(page.locator(".versions li")).to_have_count(2)
    await open_memory(page)
    await row(page, "Due 14 June.").get_by_role("button", name="Delete").click()
    await expect(page.get_by_text("Deleted Due 14 June.")).to_be_visible()
    await page.get_by_role("button", name="Undo").click()
    await expect(row(page, "Due 14 June.")).to_be_visible()


async def test_the_list_is_filtered(visit: Visit, backend: Backend, firm: FirmOfTest) -> None:
    await remember(backend, firm.a, "Mine.")
    await remember(backend, firm.a, "Ours.", scope=Scope.MATTER, matter="HV-1001")
    page = await plain(visit, firm)
    await open_memory(page)
    await page.locator(".filters [name=matter]").select_option("HV-1001")
    await page.get_by_role("button", name="Show").click()
    await expect(page.locator(".memory-text")).to_contain_text(["Ours."])


async def test_rules_are_written_and_deleted(visit: Visit, firm: FirmOfTest) -> None:
    page = await plain(visit, firm)
    await page.goto("/settings/memory/rules")
    await page.get_by_label("Words that it mentions").fill("salary")
    await page.get_by_role("button", name="Add the rule").click()
    await expect(page.locator("#rule-list")).to_contain_text("that mentions “salary”")
    await page.get_by_role("button", name="Delete the rule").click()
    await expect(page.locator("#rule-list li")).to_have_count(0)


async def test_the_menu_opens_on_a_phone_and_the_lawyer_can_log_out(visit: Visit, firm: FirmOfTest) -> None:
    page = await visit(firm.ana, java_script_enabled=False, viewport={"width": 360, "height": 740})
    await page.goto("/chat")
    await expect(page.get_by_role("navigation", name="Main")).to_be_hidden()
    await page.get_by_role("button", name="Open the menu").click()
    await page.locator(".account summary").click()
    await page.get_by_role("button", name="Dark").click()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    await page.get_by_role("button", name="Open the menu").click()
    await page.locator(".account summary").click()
    await page.get_by_role("button", name="Log out").click()
    await expect(page.get_by_role("heading", name="Log in")).to_be_visible()
