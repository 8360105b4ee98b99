"""What an answer saved and used, put right under the answer itself."""

from __future__ import annotations

from playwright.async_api import expect

from north.memory.backend import Backend
from north.memory.edit import edit
from north.memory.listing import MemoryFilter, list_memories
from tests.browser.conftest import Visit
from tests.browser.pages import new_chat, say
from tests.conftest import FirmOfTest
from tests.web.conftest import live, remember

BLUEBOOK = "I always want citations in Bluebook form."


async def test_what_was_saved_is_edited_deleted_and_restored_in_place_by_keyboard(
    visit: Visit, backend: Backend, firm: FirmOfTest
) -> None:
    page = await visit(firm.ana)
    await new_chat(page)
    note = (await say(page, BLUEBOOK)).locator(".note.saved")
    address = page.url
    await note.get_by_role("link", name="Edit").press("Enter")
    field = note.get_by_label("Text of this memory")
    await expect(field).to_be_focused()
    await field.fill("Ana wants citations in ALWD form.")
    await field.press("Enter")
    await expect(note.locator(".memory-text")).to_be_focused()
    assert await live(backend, firm.a) == ["Ana wants citations in ALWD form."]
    await note.get_by_role("link", name="History").press("Enter")
    await expect(note.locator(".versions li")).to_have_count(2)
    await note.get_by_role("button", name="Delete").press("Enter")
    await expect(note.get_by_role("button", name="Undo")).to_be_focused()
    assert await live(backend, firm.a) == []
    await page.keyboard.press("Enter")
    await expect(note.locator(".memory-text")).to_be_focused()
    assert await live(backend, firm.a) == ["Ana wants citations in ALWD form."]
    assert page.url == address


async def test_what_was_used_opens_in_place_and_is_put_right_there(
    visit: Visit, backend: Backend, firm: FirmOfTest
) -> None:
    await remember(backend, firm.a, "The lawyer wants citations in Bluebook form.")
    page = await visit(firm.ana)
    await new_chat(page)
    answer = await say(page, "In which form do I want citations?")
    for _ in range(2):  # as the answer has just come, and as it is read again
        await answer.locator(".used summary").press("Enter")
        await expect(answer.locator(".used .memory")).to_have_count(1)
        await page.reload()
    await answer.locator(".used summary").press("Enter")
    await answer.locator(".used").get_by_role("link", name="Edit").click()
    await answer.get_by_label("Text of this memory").fill("The lawyer wants citations in ALWD form.")
    await page.keyboard.press("Enter")
    await expect(answer.locator(".used .memory-text")).to_contain_text("ALWD")
    await expect(await say(page, "In which form do I want citations?")).to_contain_text("ALWD")


async def test_an_edit_that_comes_too_late_shows_both_texts_under_the_answer(
    visit: Visit, backend: Backend, firm: FirmOfTest
) -> None:
    page = await visit(firm.ana)
    await new_chat(page, "HV-1001")
    note = (await say(page, "The client is a Delaware LLC.")).locator(".note.saved")
    await note.get_by_role("link", name="Edit").click()
    field = note.get_by_label("Text of this memory")
    await field.fill("The client is a Nevada LLC.")
    [memory] = (await list_memories(backend, firm.b, MemoryFilter())).memories
    await edit(backend, firm.b, memory.id, "The client is a Texas LLC.")
    await field.press("Enter")
    await expect(note.locator(".other-text")).to_contain_text("Texas")
    await expect(note.get_by_label("Your text")).to_have_value("The client is a Nevada LLC.")


async def test_what_was_forgotten_can_be_brought_back_after_a_reload(
    visit: Visit, backend: Backend, firm: FirmOfTest
) -> None:
    await remember(backend, firm.a, "The client is Orion Foods.")
    page = await visit(firm.ana)
    await new_chat(page)
    await say(page, "Forget that the client is Orion Foods.")
    assert await live(backend, firm.a) == []
    await page.reload()
    note = page.locator(".note.forgotten")
    await expect(note).to_contain_text("Forgotten: The client is Orion Foods.")
    await note.get_by_role("button", name="Undo").press("Enter")
    await expect(note.locator(".memory-text")).to_contain_text("Orion Foods")
    assert await live(backend, firm.a) == ["The client is Orion Foods."]
