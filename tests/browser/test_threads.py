"""The list of conversations: found, renamed, deleted, and one that is not remembered."""

from __future__ import annotations

from playwright.async_api import expect

from north.chat.threads import create_thread, list_threads, rename_thread
from north.memory.backend import Backend
from north.memory.matters import create_matter
from tests.browser.conftest import Visit
from tests.browser.pages import new_chat, say
from tests.conftest import FirmOfTest
from tests.web.conftest import live, remember


async def named(backend: Backend, firm: FirmOfTest, *titles: str) -> None:
    for title in titles:
        await rename_thread(backend, firm.a, (await create_thread(backend, firm.a, None)).id, title)


async def test_a_conversation_is_found_by_words_of_its_name(visit: Visit, backend: Backend, firm: FirmOfTest) -> None:
    await named(backend, firm, "Harbor yard lease", "Vance deposition")
    page = await visit(firm.ana)
    await page.goto("/chat")
    links = page.get_by_role("navigation", name="Conversations").get_by_role("link")
    await expect(links).to_have_count(2)
    await page.get_by_label("Search conversations").fill("lease")
    await expect(links).to_contain_text(["Harbor yard lease"])
    await page.get_by_label("Search conversations").fill("zzz")
    await expect(page.get_by_text("No conversation has these words")).to_be_visible()
    await page.get_by_label("Search conversations").fill("")
    await expect(links).to_have_count(2)


async def test_a_conversation_is_renamed_deleted_and_brought_back_by_keyboard(
    visit: Visit, backend: Backend, firm: FirmOfTest
) -> None:
    page = await visit(firm.ana)
    await new_chat(page)
    await say(page, "Who is on the other side?")
    menu = page.locator(".thread-menu summary")
    await menu.press("Enter")
    await page.get_by_label("Name", exact=True).fill("Other side")
    await page.keyboard.press("Enter")
    await expect(menu).to_be_focused()
    await expect(page).to_have_title("Other side · North")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Other side")
    listed = page.get_by_role("navigation", name="Conversations").locator("[aria-current]")
    await expect(listed).to_have_text("Other side")
    await menu.press("Enter")
    await page.get_by_label("Name", exact=True).press("Escape")
    await expect(menu).to_be_focused()
    await expect(page.get_by_label("Name", exact=True)).to_be_hidden()
    await menu.press("Enter")
    await page.get_by_role("button", name="Delete this conversation").press("Enter")
    await expect(page.get_by_text("The conversation is deleted.")).to_be_visible()
    await expect(page.get_by_role("button", name="Undo")).to_be_focused()
    assert await list_threads(backend, firm.a) == []
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Other side")
    await expect(page.locator(".from-you")).to_have_count(1)


async def test_a_chat_that_is_not_remembered_says_so_and_uses_what_is_known(
    visit: Visit, backend: Backend, firm: FirmOfTest
) -> None:
    await remember(backend, firm.a, "The lawyer wants citations in Bluebook form.")
    page = await visit(firm.ana)
    await new_chat(page, "HV-1001", incognito=True)
    answer = await say(page, "The client is a Delaware LLC.")
    await expect(page.locator(".is-incognito")).to_have_text("Not remembered")
    await expect(page.locator(".matter-label").first).to_have_text("Matter HV-1001 · Harbor v. Vance")
    await expect(answer.locator(".note.saved")).to_have_count(0)
    await expect(page.get_by_label("Don’t remember this chat")).to_have_count(0)
    await expect(await say(page, "In which form do I want citations?")).to_contain_text("Bluebook")
    await page.reload()
    await expect(page.locator(".is-incognito")).to_be_visible()
    assert await live(backend, firm.a) == ["The lawyer wants citations in Bluebook form."]


async def test_in_a_firm_with_many_matters_one_is_typed_with_proposals(
    visit: Visit, backend: Backend, firm: FirmOfTest
) -> None:
    for number in range(101):
        await create_matter(backend, firm.a, f"M-{number:03}", f"Matter of {number}")
    page = await visit(firm.ana)
    await page.goto("/chat")
    await page.get_by_label("Matter").press_sequentially("vance")
    await expect(page.locator("#matters-to-choose option")).to_have_count(1)
    await page.get_by_label("Message").fill("Hello.")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("There is no such matter.")
    await expect(page.get_by_label("Matter")).to_have_value("vance")
    await page.get_by_label("Matter").fill("HV-1001")
    await page.get_by_role("button", name="Try again").click()
    await expect(page.locator(".matter-label")).to_have_text("Matter HV-1001 · Harbor v. Vance")


async def test_without_javascript_a_conversation_is_found_renamed_and_deleted(
    visit: Visit, backend: Backend, firm: FirmOfTest
) -> None:
    await named(backend, firm, "Harbor yard lease", "Vance deposition")
    page = await visit(firm.ana, java_script_enabled=False)
    await page.goto("/chat")
    await page.get_by_label("Search conversations").fill("lease")
    await page.keyboard.press("Enter")
    links = page.get_by_role("navigation", name="Conversations").get_by_role("link")
    await expect(links).to_contain_text(["Harbor yard lease"])
    await links.click()
    await page.locator(".thread-menu summary").click()
    await page.get_by_label("Name", exact=True).fill("The yard")
    await page.get_by_role("button", name="Rename").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("The yard")
    await page.locator(".thread-menu summary").click()
    await page.get_by_role("button", name="Delete this conversation").click()
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("The yard")
