"""A lawyer who deletes what the assistant saves is not asked why: the next night's sweep writes a rule."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI
from playwright.async_api import Page, expect
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from north.app import make_app
from north.chat.assistant import make_assistant
from north.memory.trust import sweep
from north.settings import Settings
from tests.browser.conftest import Visit, served
from tests.browser.pages import new_chat, open_memory, row, say
from tests.conftest import FirmOfTest, TestDatabase

PREFERENCES = [
    f"Ana prefers {what}."
    for what in ("short answers", "tables", "footnotes", "British spelling", "bullets", "Garamond", "wide margins")
]
RULE = "Never remember any preference in personal memory."


async def saves_all(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    """A model that saves whatever is said as a preference, and passes on what it is told."""
    last = messages[-1]
    assert isinstance(last, ModelRequest)
    for part in last.parts:
        if isinstance(part, ToolReturnPart) and isinstance(part.content, dict):
            yield part.content.get("message", "Noted.")
            return
    said = next(part.content for part in reversed(last.parts) if isinstance(part, UserPromptPart))
    yield {0: DeltaToolCall("save_memory", json.dumps({"content": said, "type": "preference"}))}


@pytest.fixture
async def address(database: TestDatabase) -> AsyncIterator[str]:
    """The whole application with that model behind the chat."""

    def make(address: str) -> FastAPI:
        settings = Settings(model="offline", embedder="none", public_url=address)
        app = make_app(settings, database.place)
        app.state.assistant = make_assistant(app.state.backend, FunctionModel(stream_function=saves_all))
        return app

    async with served(make) as at:
        yield at


async def delete(page: Page, text: str) -> None:
    await row(page, text).get_by_role("button", name="Delete").click()
    await expect(page.get_by_role("button", name="Undo").last).to_be_visible()
    await expect(row(page, text).get_by_role("button", name="Delete")).to_have_count(0)


async def test_the_sweep_stops_what_a_lawyer_keeps_deleting_until_they_say_otherwise(
    visit: Visit, address: str, database: TestDatabase, firm: FirmOfTest
) -> None:
    page = await visit(firm.ana, at=address)
    await new_chat(page)
    for preference in PREFERENCES:
        await expect((await say(page, preference)).locator(".note.saved")).to_contain_text(preference)
    await open_memory(page)
    for preference in PREFERENCES[:6]:
        await delete(page, preference)

    assert len((await sweep(database.scheduler_url, firm.ana.organization_id)).rules) == 1
    await new_chat(page)
    answer = await say(page, "Ana prefers numbered headings.")
    await expect(answer.locator(".prose")).to_contain_text(f"Not saved: your rule “{RULE}” forbids it.")
    await page.goto("/settings/memory/rules")
    rule = page.locator(".rule").filter(has_text=RULE)
    await expect(rule).to_contain_text("You deleted 6 of 7 preferences.")
    await expect(rule).to_contain_text("North wrote this")

    await rule.get_by_role("button", name="Delete").click()
    await expect(page.locator(".rule.is-deleted")).to_be_visible()
    await new_chat(page)
    answer = await say(page, "Ana prefers numbered headings.")
    await expect(answer.locator(".note.saved")).to_contain_text("numbered headings")
    assert (await sweep(database.scheduler_url, firm.ana.organization_id)).rules == ()
    await page.goto("/settings/memory/rules")
    await expect(page.locator(".rule")).to_have_count(0)
