"""The chat in a real browser: streaming, stopping, failing, sending again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from playwright.async_api import expect
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel

from north.assembly import make_backend, opened
from north.chat.threads import get_thread, list_threads
from north.memory.backend import Backend
from north.settings import Settings
from tests.browser.conftest import Visit, served
from tests.browser.pages import new_chat, say
from tests.conftest import FirmOfTest, TestDatabase
from tests.web.conftest import web_app

PARAGRAPH = "A paragraph of an answer that is long enough to fill more than one line of the page. " * 4
LAYOUT_SHIFTS = """
    window.shifts = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.shifts += entry.value;
    }).observe({ type: "layout-shift" });
"""


@asynccontextmanager
async def answered_by(model: Model, database: TestDatabase) -> AsyncIterator[str]:
    """The pages with this model behind the chat, at an address of their own."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with opened(app.state.backend):
            yield

    def make(address: str) -> FastAPI:
        settings = Settings(model="offline", embedder="none", public_url=address)
        app = web_app(make_backend(settings, database.place), model)
        app.router.lifespan_context = lifespan
        return app

    async with served(make) as address:
        yield address


async def test_an_answer_streams_in_and_is_the_same_after_a_reload(
    visit: Visit, database: TestDatabase, firm: FirmOfTest
) -> None:
    go_on = asyncio.Event()

    async def write(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[str]:
        yield "# The form\n\nFirst **bold** paragr"
        await go_on.wait()
        yield "aph.\n\n| Court | Short |\n|---|---|\n| Chancery | Del. Ch. |\n\n1. one\n2. two\n"

    async with answered_by(FunctionModel(stream_function=write), database) as address:
        page = await visit(firm.ana, at=address)
        await new_chat(page)
        await page.get_by_label("Message").fill("Write.")
        await page.keyboard.press("Enter")
        prose = page.locator(".from-north .prose")
        await expect(prose.get_by_role("heading")).to_have_text("The form")
        await expect(prose).to_contain_text("First bold paragr")
        await expect(page.get_by_role("status").first).to_have_text("North is writing…")
        go_on.set()
        await expect(page.get_by_role("button", name="Send")).to_be_visible()
        streamed = await prose.locator(".settled").inner_html()
        await page.reload()
        assert await prose.inner_html() == streamed


async def test_nothing_on_the_page_jumps_while_an_answer_streams_in(
    visit: Visit, database: TestDatabase, firm: FirmOfTest
) -> None:
    ready = asyncio.Event()

    async def write(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[str]:
        await ready.wait()
        for number in range(12):
            yield f"## Part {number}\n\n"
            for start in range(0, len(PARAGRAPH), 20):
                yield PARAGRAPH[start : start + 20]
                await asyncio.sleep(0)
            yield "\n\n- one\n- [two](https://example.test/a/long/address)\n\n"

    async with answered_by(FunctionModel(stream_function=write), database) as address:
        page = await visit(firm.ana, at=address)
        await new_chat(page)
        await page.get_by_label("Message").fill("Write.")
        await page.evaluate("document.getElementById('composer').requestSubmit()")  # what a key moves is not counted
        await expect(page.locator(".is-waiting")).to_be_visible()
        await expect(page.locator("#threads a")).to_have_count(1)  # the new chat has its place among the conversations
        await page.evaluate(LAYOUT_SHIFTS)
        ready.set()
        await expect(page.get_by_role("button", name="Send")).to_be_visible()
        assert await page.evaluate("window.shifts") < 0.001
        assert await page.evaluate("document.documentElement.scrollTop") > 0, "the page follows the answer"


async def test_a_running_answer_can_be_stopped_and_what_was_said_stays(
    visit: Visit, database: TestDatabase, backend: Backend, firm: FirmOfTest
) -> None:
    stopped = asyncio.Event()

    async def write(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[str]:
        yield "This much was said."
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async with answered_by(FunctionModel(stream_function=write), database) as address:
        page = await visit(firm.ana, at=address)
        await new_chat(page)
        await page.get_by_label("Message").fill("Write.")
        await page.keyboard.press("Enter")
        await expect(page.locator(".from-north")).to_contain_text("This much was said.")
        await page.get_by_role("button", name="Stop").click()
        await expect(page.get_by_role("status").first).to_have_text("Stopped.")
        await expect(page.get_by_label("Message")).to_be_focused()
        await asyncio.wait_for(stopped.wait(), 10)
        await expect(page.locator(".from-north")).to_contain_text("This much was said.")
        await page.reload()
        await expect(page.locator(".from-north")).to_contain_text("You stopped this answer.")


async def test_a_failure_is_told_in_words_and_the_message_is_sent_again_once(
    visit: Visit, database: TestDatabase, backend: Backend, firm: FirmOfTest
) -> None:
    down = True

    async def write(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[str]:
        if down:
            raise ModelHTTPError(503, "down")
        yield "Here I am again."

    async with answered_by(FunctionModel(stream_function=write, model_name="claude"), database) as address:
        page = await visit(firm.ana, at=address)
        await new_chat(page)
        await page.get_by_label("Message").fill("Are you there?")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("The model claude cannot be reached.")
        await page.reload()
        await expect(page.get_by_role("alert")).to_contain_text("The model could not be reached")
        down = False
        await page.get_by_role("button", name="Try again").click()
        await expect(page.locator(".from-north")).to_contain_text("Here I am again.")
        await expect(page.get_by_role("alert")).to_have_count(0)
        await expect(page.locator(".from-you")).to_have_count(1)
    [thread] = await list_threads(backend, firm.a)
    messages = (await get_thread(backend, firm.a, thread.id)).messages
    assert [message.content for message in messages] == ["Are you there?", "Here I am again."]


async def test_a_lost_connection_leaves_the_text_to_be_sent_again(visit: Visit, firm: FirmOfTest) -> None:
    page = await visit(firm.ana)
    await new_chat(page)
    await page.route("**/chat", lambda route: route.abort())
    await page.get_by_label("Message").fill("Are you there?")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("North cannot be reached. Your message is kept")
    await page.unroute("**/chat")
    await page.get_by_role("button", name="Try again").click()
    await expect(page.locator(".from-north")).to_have_count(1)
    await expect(page.locator(".from-you")).to_have_count(1)


async def test_enter_sends_and_shift_enter_starts_a_line(visit: Visit, firm: FirmOfTest) -> None:
    page = await visit(firm.ana)
    await new_chat(page)
    field = page.get_by_label("Message")
    await field.fill("First line")
    await field.press("Shift+Enter")
    await page.keyboard.type("Second line")
    await expect(field).to_have_value("First line\nSecond line")
    await field.press("Enter")
    await expect(page.locator(".from-you .bubble")).to_have_text("First line\nSecond line")
    await expect(field).to_have_value("")


async def test_a_new_chat_becomes_a_conversation_without_a_reload(visit: Visit, firm: FirmOfTest) -> None:
    page = await visit(firm.ana)
    await new_chat(page, "HV-1001")
    await say(page, "Who is on the other side?")
    address = page.url
    await expect(page.get_by_role("heading", level=1)).to_have_text("Who is on the other side?")
    await expect(page.locator(".matter-label")).to_have_text("Matter HV-1001 · Harbor v. Vance")
    await expect(page.get_by_label("Matter", exact=True)).to_have_count(0)
    current = page.get_by_role("navigation", name="Conversations").locator("[aria-current]")
    await expect(current).to_contain_text("Who is on the other side?")
    await say(page, "And who is the judge?")
    assert page.url == address
    await page.reload()
    await expect(page.locator(".from-you")).to_have_count(2)


async def test_a_session_that_ended_is_told_and_the_text_stays(visit: Visit, firm: FirmOfTest) -> None:
    page = await visit(firm.ana)
    await new_chat(page)
    await page.context.clear_cookies()
    await page.get_by_label("Message").fill("Are you there?")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("You have been logged out.")
    await expect(page.locator(".bubble")).to_have_text("Are you there?")
