"""Text that would like to be more than text: a public list of naughty strings, on every page that shows any."""

from __future__ import annotations

import json
import re
from contextlib import suppress

from playwright.async_api import Page, Request, expect

from north.chat.threads import create_thread, list_threads, rename_thread
from north.errors import InvalidInput
from north.memory.backend import Backend
from north.memory.listing import PAGE_LIMIT, MemoryFilter, list_memories
from north.memory.rules import NEVER_REMEMBER, create_rule, list_rules
from north.memory.save import BATCH_LIMIT, save
from north.memory.text import check_content
from north.model import Draft, MemoryType
from tests.browser.conftest import Visit
from tests.browser.pages import new_chat, say
from tests.conftest import FirmOfTest, shared_data

TEXTS = "(rows) => rows.map((row) => row.lastChild.textContent)"


def hostile() -> list[str]:
    texts: list[str] = json.loads(shared_data("hostile/blns.json").read_text())
    return texts


def can_be_saved(text: str) -> bool:
    try:
        return bool(check_content(text))
    except InvalidInput:
        return False


async def watched(visit: Visit, firm: FirmOfTest, site: str) -> tuple[Page, list[str]]:
    """A browser, and a list of what a page did that no text should: open a dialog, or ask another server."""
    page, deeds = await visit(firm.ana), list[str]()

    def note(request: Request) -> None:
        if not request.url.startswith(site):
            deeds.append(request.url)

    page.on("request", note)
    page.on("dialog", lambda dialog: deeds.append(dialog.message))
    return page, deeds


async def test_hostile_memories_are_text_everywhere_and_run_nowhere(
    visit: Visit, site: str, backend: Backend, firm: FirmOfTest
) -> None:
    drafts = [Draft(text, MemoryType.FACT) for text in hostile() if can_be_saved(text)]
    for start in range(0, len(drafts), BATCH_LIMIT):
        await save(backend, firm.a, drafts[start : start + BATCH_LIMIT])
    known, cursor = list[str](), None
    while not known or cursor:
        listed = await list_memories(backend, firm.a, MemoryFilter(), cursor, PAGE_LIMIT)
        known, cursor = known + [memory.content for memory in listed.memories], listed.next_cursor
    assert len(known) > 300
    page, deeds = await watched(visit, firm, site)
    await page.goto("/settings/memory")
    more = page.get_by_role("link", name="Load more")
    shown = page.locator(".memory-text")
    while await shown.count() < len(known):
        before = await shown.count()
        await more.click()
        await expect(shown.nth(before)).to_be_attached()
    assert await shown.evaluate_all(TEXTS) == known
    await page.get_by_label("Search").fill("<script>")
    await expect(page).to_have_url("/settings/memory?q=%3Cscript%3E")
    await expect(page.locator(".memory-text").first).to_contain_text("<script>", ignore_case=True)
    await page.locator(".memory-text").first.click()
    await expect(page.get_by_label("Text of this memory")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.get_by_label("Text of this memory")).to_be_hidden()
    await page.get_by_role("link", name="History of: ").first.press("Enter")
    await expect(page.locator(".version-text")).to_contain_text("<script>", ignore_case=True)
    await page.get_by_role("button", name=re.compile("^Delete")).first.press("Enter")
    await expect(page.get_by_role("button", name="Undo")).to_be_focused()
    await new_chat(page)
    answer = await say(page, "What is <script>alert(1)</script>?")
    await answer.locator(".used summary").click()
    await expect(answer.locator(".used .memory").last).to_be_visible()
    await page.reload()
    assert deeds == []


async def test_hostile_names_and_phrases_are_text_everywhere_and_run_nowhere(
    visit: Visit, site: str, backend: Backend, firm: FirmOfTest
) -> None:
    worst = [text for text in hostile() if "<" in text or "\u202e" in text or "&" in text]
    for text in worst[:60]:
        with suppress(InvalidInput):
            await rename_thread(backend, firm.a, (await create_thread(backend, firm.a, None)).id, text[:120])
    for text in worst:
        with suppress(InvalidInput):
            await create_rule(backend, firm.a, NEVER_REMEMBER, None, None, text)
    threads = [each for each in await list_threads(backend, firm.a) if each.title]
    page, deeds = await watched(visit, firm, site)
    await page.goto("/chat")
    names = await page.locator("#threads .thread-title").all_text_contents()
    assert [name for name in names if name != "New chat"] == [each.title for each in threads]
    await page.goto(f"/chat/{threads[0].id}")
    assert await page.locator("#thread-title").text_content() == threads[0].title
    assert await page.title() == " ".join(f"{threads[0].title} · North".split())
    await page.locator(".thread-menu summary").click()
    await expect(page.get_by_label("Name", exact=True)).to_have_value(threads[0].title)
    await page.goto("/settings/memory/rules")
    phrases = [rule.phrase for rule in await list_rules(backend, firm.a)]
    assert len(phrases) > 30
    texts = await page.locator("#rule-list .rule-text").all_text_contents()
    assert [f"“{phrase}”" in text for phrase, text in zip(phrases, texts, strict=True)] == [True] * len(phrases)
    await page.get_by_role("button", name="Delete the rule").first.press("Enter")
    await page.get_by_role("button", name="Undo").press("Enter")
    await expect(page.locator("#rule-list .rule-text").first).to_be_focused()
    assert deeds == []
