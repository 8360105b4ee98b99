"""Settings → Memory in a real browser: in place, by keyboard, with two lawyers at once."""

from __future__ import annotations

from playwright.async_api import expect

from north.memory.backend import Backend
from north.memory.edit import history
from north.memory.listing import MemoryFilter, list_memories
from north.model import Scope
from tests.browser.conftest import Visit
from tests.browser.pages import open_memory, row
from tests.conftest import FirmOfTest
from tests.web.conftest import remember, remember_all


async def test_a_row_is_edited_deleted_and_restored_by_keyboard_alone(
    visit: Visit, backend: Backend, firm: FirmOfTest
) -> None:
    memory = await remember(backend, firm.a, "Due 12 June.")
    page = await visit(firm.ana)
    await open_memory(page)
    await page.locator(".memory-text").focus()
    await page.keyboard.press("Enter")
    field = page.get_by_label("Text of this memory")
    await expect(field).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.locator(".memory-text")).to_be_focused()

    await page.keyboard.press("Enter")
    await expect(field).to_be_focused()
    await page.keyboard.press("ControlOrMeta+A")
    await page.keyboard.type("Due 14 June.")
    await page.keyboard.press("Enter")
    await expect(row(page, "Due 14 June.").locator(".memory-text")).to_be_focused()
    assert [version.content for version in await history(backend, firm.a, memory.id)] == [
        "Due 14 June.",
        "Due 12 June.",
    ]

    for _ in range(2):  # past History, to Delete
        await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Undo")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator(".memory-text")).to_be_focused()
    [restored] = (await list_memories(backend, firm.a, MemoryFilter())).memories
    assert restored.content == "Due 14 June."


async def test_shift_and_enter_start_a_line_in_a_memory(visit: Visit, backend: Backend, firm: FirmOfTest) -> None:
    await remember(backend, firm.a, "First line.")
    page = await visit(firm.ana)
    await open_memory(page)
    await page.locator(".memory-text").click()
    await page.get_by_label("Text of this memory").press("End")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("Second line.")
    await page.keyboard.press("Enter")
    await expect(row(page, "First line.\nSecond line.")).to_be_visible()


async def test_of_two_editors_at_once_the_second_sees_both_texts_and_loses_nothing(
    visit: Visit, backend: Backend, firm: FirmOfTest
) -> None:
    await remember(backend, firm.a, "Due 12 June.", scope=Scope.MATTER, matter="HV-1001")
    ana, ben = await visit(firm.ana), await visit(firm.ben)
    for page in (ana, ben):
        await open_memory(page)
        await page.locator(".memory-text").click()
        await expect(page.get_by_label("Text of this memory")).to_be_focused()
    await ana.get_by_label("Text of this memory").fill("Due 13 June, says Ana.")
    await ana.keyboard.press("Enter")
    await expect(row(ana, "Due 13 June, says Ana.")).to_be_visible()
    await ben.get_by_label("Text of this memory").fill("Due 14 June, says Ben.")
    await ben.keyboard.press("Enter")
    await expect(ben.locator(".other-text")).to_contain_text("Due 13 June, says Ana.")
    await expect(ben.get_by_label("Your text")).to_have_value("Due 14 June, says Ben.")
    await ben.get_by_label("Your text").press("Enter")
    await expect(row(ben, "Due 14 June, says Ben.")).to_be_visible()
    await open_memory(ana)
    await expect(row(ana, "Due 14 June, says Ben.")).to_be_visible()


async def test_a_memory_is_added_in_place_and_stands_on_top(visit: Visit, backend: Backend, firm: FirmOfTest) -> None:
    await remember(backend, firm.a, "An older one.")
    page = await visit(firm.ana)
    await open_memory(page)
    await page.get_by_text("Add a memory").click()
    field = page.get_by_label("What should North remember?")
    await field.fill("The judge is Abara.")
    await page.locator("#add").get_by_label("Belongs to").select_option(str(firm.matter.id))
    await field.press("Enter")
    await expect(page.get_by_text("Saved, and used from the next answer on.")).to_be_visible()
    await expect(field).to_have_value("")
    await expect(field).to_be_focused()
    await expect(page.locator(".memory-text")).to_contain_text(["The judge is Abara.", "An older one."])
    await expect(row(page, "The judge is Abara.")).to_contain_text("Matter HV-1001 · shared with the firm")


async def test_filters_act_at_once_and_live_in_the_address(visit: Visit, backend: Backend, firm: FirmOfTest) -> None:
    await remember_all(backend, firm.a, ["Bluebook is the form.", "Noor is the assistant."])
    page = await visit(firm.ana)
    await open_memory(page)
    await page.get_by_label("Search").fill("noor")
    await expect(page.locator(".memory-text")).to_contain_text(["Noor is the assistant."])
    await expect(page).to_have_url("/settings/memory?q=noor")
    await page.locator(".filters [name=type]").select_option("Deadline")
    await expect(page.get_by_text("Nothing matches")).to_be_visible()
    await expect(page).to_have_url("/settings/memory?q=noor&type=deadline")
    await page.go_back()
    await expect(page.locator(".memory-text")).to_contain_text(["Noor is the assistant."])
    await expect(page.get_by_label("Search")).to_have_value("noor")


async def test_a_row_that_was_searched_for_is_opened_and_stays_open(
    visit: Visit, backend: Backend, firm: FirmOfTest
) -> None:
    await remember_all(backend, firm.a, ["Bluebook is the form.", "Noor is the assistant."])
    page = await visit(firm.ana)
    await open_memory(page)
    await page.get_by_label("Search").fill("noor")
    await expect(page).to_have_url("/settings/memory?q=noor")
    searches: list[str] = []
    page.on("request", lambda request: searches.append(request.url) if "?q=" in request.url else None)
    await page.locator(".memory-text").click()  # which takes the keyboard from the search
    await page.get_by_label("Text of this memory").fill("Noor is no longer the assistant.")
    await page.keyboard.press("Enter")
    await expect(row(page, "no longer")).to_be_visible()
    assert searches == []


async def test_what_is_close_in_meaning_stands_below_a_line_that_says_so(
    visit: Visit, backend: Backend, firm: FirmOfTest
) -> None:
    await remember_all(backend, firm.a, ["The lawyer wants citations in Bluebook form.", "Noor is the assistant."])
    await backend.backlog.settled(firm.a.organization_id, 30)
    page = await visit(firm.ana)
    await open_memory(page)
    await page.get_by_label("Search").fill("how to cite a case")
    await expect(page.locator(".memory-part")).to_have_text("Nothing has exactly these words. Close in meaning:")
    await expect(page.locator(".memory-text")).to_contain_text(["citations in Bluebook form"])


async def test_more_rows_are_loaded_below_and_the_keyboard_goes_on_there(
    visit: Visit, backend: Backend, firm: FirmOfTest
) -> None:
    await remember_all(backend, firm.a, [f"Fact number {number}." for number in range(60)])
    page = await visit(firm.ana)
    await open_memory(page)
    await page.get_by_role("link", name="Load more").press("Enter")
    await expect(page.locator(".memory")).to_have_count(60)
    await expect(row(page, "Fact number 9.").locator(".memory-text")).to_be_focused()
    await expect(page.get_by_role("link", name="Load more")).to_have_count(0)


async def test_history_opens_and_closes_in_place(visit: Visit, backend: Backend, firm: FirmOfTest) -> None:
    await remember(backend, firm.a, "Due 12 June.")
    page = await visit(firm.ana)
    await open_memory(page)
    toggle = page.get_by_role("link", name="History of: Due 12 June.")
    await toggle.press("Enter")
    await expect(page.locator(".versions")).to_contain_text("In use")
    await expect(toggle).to_have_attribute("aria-expanded", "true")
    await toggle.press("Enter")
    await expect(page.locator(".versions")).to_have_count(0)
    await expect(toggle).to_have_attribute("aria-expanded", "false")


async def test_a_rule_is_written_as_a_sentence_deleted_and_written_again(visit: Visit, firm: FirmOfTest) -> None:
    page = await visit(firm.ana)
    await page.goto("/settings/memory/rules")
    await page.get_by_role("button", name="Add the rule").click()
    await expect(page.get_by_role("alert")).to_contain_text("Choose what, where or which words first")
    await page.get_by_label("What to never remember").select_option("any preference")
    await page.get_by_label("Words that it mentions").fill("salary")
    await page.keyboard.press("Enter")
    rule = "Never remember any preference that mentions “salary”."
    await expect(page.locator("#rule-list")).to_contain_text(rule)
    await page.get_by_role("button", name=f"Delete the rule: {rule}").press("Enter")
    await expect(page.get_by_role("button", name="Undo")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("#rule-list .rule-text")).to_be_focused()
    await page.reload()
    await expect(page.locator("#rule-list")).to_contain_text(rule)


async def test_a_new_token_can_be_copied(visit: Visit, firm: FirmOfTest) -> None:
    page = await visit(firm.ana, permissions=["clipboard-read", "clipboard-write"])
    await page.goto("/settings/connections")
    await page.get_by_label("Name of the program").fill("Claude")
    await page.keyboard.press("Enter")
    secret = await page.locator(".secret code").inner_text()
    await page.get_by_role("button", name="Copy the token").click()
    await expect(page.get_by_text("Copied.")).to_be_visible()
    assert await page.evaluate("navigator.clipboard.readText()") == secret


async def test_the_theme_changes_without_a_reload_and_is_remembered(visit: Visit, firm: FirmOfTest) -> None:
    page = await visit(firm.ana, color_scheme="light")
    await page.goto("/chat")
    await page.get_by_label("Message").fill("Half a sent")
    light = await page.evaluate("getComputedStyle(document.body).color")
    await page.locator(".account summary").click()
    async with page.expect_response("**/settings/theme"):
        await page.get_by_role("button", name="Dark").click()
    assert await page.evaluate("getComputedStyle(document.body).color") != light
    await expect(page.get_by_label("Message")).to_have_value("Half a sent")
    await page.reload()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
