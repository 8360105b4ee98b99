"""North's main job in a real browser: what is said in one chat is known in the next."""

from __future__ import annotations

from playwright.async_api import expect

from tests.browser.conftest import Visit
from tests.browser.pages import log_in, new_chat, open_memory, row, say
from tests.conftest import FirmOfTest

BLUEBOOK = "I always want citations in Bluebook form."
QUESTION = "How should I cite a case?"


async def test_what_is_said_in_one_chat_is_known_in_the_next(visit: Visit, firm: FirmOfTest) -> None:
    page = await visit()
    await log_in(page, firm.ana.email)
    answer = await say(page, BLUEBOOK)
    note = answer.locator(".note.saved")
    await expect(note).to_contain_text("Saved to memory")
    await expect(note).to_contain_text("Bluebook")
    await expect(note.get_by_role("link", name="Edit")).to_be_visible()

    await new_chat(page)
    answer = await say(page, QUESTION)
    await expect(answer.locator(".prose")).to_contain_text("Bluebook")
    used = answer.locator(".note.used")
    await expect(used).to_contain_text("Used 1 memory")
    await used.locator("summary").click()
    await expect(used.locator(".memory")).to_contain_text("Bluebook")


async def test_a_matters_facts_reach_a_colleague_and_nobody_elses_firm(
    visit: Visit, firm: FirmOfTest, rival: FirmOfTest
) -> None:
    ana, ben, rhea = await visit(firm.ana), await visit(firm.ben), await visit(rival.ana)
    await new_chat(ana)
    await say(ana, BLUEBOOK)
    await new_chat(ana, "HV-1001")
    await expect(ana.get_by_label("Matter")).to_contain_text("HV-1001")
    await say(ana, "The client is a Delaware LLC.")
    await expect(ana.get_by_text("Matter HV-1001 · Harbor v. Vance")).to_be_visible()

    await new_chat(ben, "HV-1001")
    answer = await say(ben, "What kind of company is the client?")
    await expect(answer.locator(".prose")).to_contain_text("Delaware LLC")
    answer = await say(ben, QUESTION)
    await expect(answer).not_to_contain_text("Bluebook")
    await open_memory(ben)
    await expect(row(ben, "Delaware LLC")).to_contain_text("Matter HV-1001 · shared with the firm")
    await expect(row(ben, "Bluebook")).to_have_count(0)

    await new_chat(rhea, "HV-1001")
    answer = await say(rhea, "What kind of company is the client?")
    await expect(answer).not_to_contain_text("Delaware")
    await open_memory(rhea)
    await expect(rhea.get_by_text("Nothing here yet")).to_be_visible()


async def test_what_is_changed_in_settings_is_what_the_next_turn_sees(visit: Visit, firm: FirmOfTest) -> None:
    page = await visit(firm.ana)
    await new_chat(page)
    await say(page, BLUEBOOK)
    await say(page, "My assistant is called Noor.")
    await open_memory(page)
    await expect(page.locator("#memory-list .memory-text")).to_contain_text(["Noor", "Bluebook"])

    await row(page, "Bluebook").locator(".memory-text").click()
    field = page.get_by_label("Text of this memory")
    await expect(field).to_be_focused()
    await field.fill("Ana wants citations in ALWD form.")
    await field.press("Enter")
    await expect(row(page, "ALWD")).to_be_visible()
    await row(page, "ALWD").get_by_role("link", name="History").click()
    await expect(row(page, "ALWD").locator(".versions li")).to_contain_text(["ALWD", "Bluebook"])
    await new_chat(page)
    answer = await say(page, "In which form do I want citations?")
    await expect(answer).to_contain_text("ALWD")
    await expect(answer).not_to_contain_text("Bluebook")

    await open_memory(page)
    await row(page, "ALWD").get_by_role("button", name="Delete").click()
    await expect(page.get_by_role("button", name="Undo")).to_be_focused()
    other = await page.context.new_page()
    await new_chat(other)
    await expect(await say(other, "In which form do I want citations?")).not_to_contain_text("ALWD")
    await page.get_by_role("button", name="Undo").press("Enter")
    await expect(row(page, "ALWD").get_by_role("button", name="Delete")).to_be_visible()
    await new_chat(other)
    await expect(await say(other, "In which form do I want citations?")).to_contain_text("ALWD")
