"""Settings → Import in a real browser: a file goes in, is watched, reported on and undone."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel

from north.chat.importing import run_import
from north.chat.mining import Miner, make_miner
from north.memory.backend import Backend
from north.memory.imports import list_imports
from north.model import Caller, ImportStatus
from tests.browser.conftest import Visit
from tests.browser.test_accessibility import PHONE, sideways, violations
from tests.chat.exported import chatgpt_conversation, chatgpt_export
from tests.chat.mining_script import BLUEBOOK, FOUND, SAID, Reader
from tests.conftest import FirmOfTest, TestDatabase
from tests.exports import chatgpt_shards, read
from tests.memory.remembering import stored
from tests.web.conftest import live, remember

IMPORTS = "/settings/import"
UNDER_WAY = re.compile(r"^[1-3](\.\d)? MB of 4 MB$")
HOSTILE = "<img src=x onerror=alert(1)>"


async def choose(page: Page, file: bytes, name: str = "conversations.json") -> Locator:
    """Choose a file, and the row of its import."""
    await page.get_by_label("Drop an export here, or choose one").set_input_files(
        {"name": name, "mimeType": "application/octet-stream", "buffer": file}
    )
    row = page.locator(".import").filter(has=page.get_by_role("heading", name=name))
    await expect(row.first).to_be_visible()
    return row.first


async def opened(visit: Visit, firm: FirmOfTest, **options: object) -> Page:
    page = await visit(firm.ana, **options)
    await page.goto(IMPORTS)
    return page


class Gated:
    """A model that waits before each answer until a test lets it go on."""

    def __init__(self, *answers: object) -> None:
        self.reader = Reader(*answers)  # type: ignore[arg-type]  # its own kinds of answers
        self.gate = asyncio.Semaphore(0)

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await self.gate.acquire()
        return await self.reader(messages, info)

    def miner(self, backend: Backend) -> Miner:
        return make_miner(backend, FunctionModel(self, model_name="gated"))


@asynccontextmanager
async def being_read(backend: Backend, caller: Caller, model: Gated) -> AsyncIterator[asyncio.Task[object]]:
    """The newest import, as a worker reads it."""
    newest, *_ = await list_imports(backend, caller)
    running = asyncio.create_task(run_import(model.miner(backend), caller, newest.id))
    try:
        yield running
    finally:
        running.cancel()
        await asyncio.wait([running])


async def test_an_export_is_brought_in_reported_on_and_undone(visit: Visit, backend: Backend, firm: FirmOfTest) -> None:
    await remember(backend, firm.a, "I prefer short letters.")
    page = await opened(visit, firm)
    row = await choose(page, chatgpt_shards(), "chatgpt.zip")
    await expect(row).to_contain_text("Waiting to be read")
    await expect(row.get_by_role("heading")).to_be_focused()
    await expect(page.get_by_role("status").filter(has_text="chatgpt.zip has arrived.")).to_be_attached()
    [waiting] = await list_imports(backend, firm.a)
    await read(backend, firm.a, waiting.id)

    await expect(row).to_contain_text("7 conversations and memories: 6 imported, 1 failed.")
    await expect(page.get_by_role("status").filter(has_text="chatgpt.zip: finished.")).to_be_attached()
    await expect(row.locator("progress")).to_have_count(0)
    await row.get_by_text("What failed, and why").click()
    await expect(row).to_contain_text("Corrupted entry It has no messages: its `mapping` is missing.")
    await row.get_by_role("link", name="See imported memories").click()
    await expect(page.locator(".memory-text")).to_have_count(4)
    await expect(page.locator("#memory-list")).to_contain_text("The user is an SRE.")

    await page.goto(IMPORTS)
    await row.get_by_role("button", name="Undo").press("Enter")
    await expect(row).to_contain_text("Undone just now: what it saved is deleted")
    await expect(row.locator(".import-report")).to_be_focused()
    await expect(row.get_by_role("button")).to_have_count(0)
    await page.goto("/settings/memory?origin=import")
    await expect(page.get_by_text("Nothing matches")).to_be_visible()
    assert await live(backend, firm.a) == ["I prefer short letters."]


async def test_the_bar_moves_while_a_file_is_read_and_cancelling_keeps_what_is_saved(
    visit: Visit, backend: Backend, firm: FirmOfTest
) -> None:
    page = await opened(visit, firm)
    conversations = [chatgpt_conversation(str(number), f"{SAID} {'x' * 40_000}") for number in range(4)]
    row = await choose(page, chatgpt_export(*conversations))
    bar = row.get_by_role("progressbar", name="Reading conversations.json")
    model = Gated([FOUND], [], [], [])
    async with being_read(backend, firm.a, model):
        await expect(row).to_contain_text("Being read")
        seen = [await value(bar)]
        cancel = row.get_by_role("button", name="Cancel")
        await cancel.focus()
        for number in (1, 2):
            model.gate.release()
            await expect(row).to_contain_text(f"So far: {number} conversation")
            seen.append(await value(bar))
        assert 0 <= seen[0] < seen[1] < seen[2] < 100
        await expect(cancel).to_be_focused()  # the bar alone was changed
        await cancel.press("Enter")
        await expect(row).to_contain_text("Cancelled")
    await expect(row.locator(".import-report")).to_be_focused()
    await expect(row).to_contain_text("1 memory was saved, for you alone.")
    assert await live(backend, firm.a) == [BLUEBOOK]
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await asyncio.sleep(1.5)  # longer than it takes to ask again
    assert asked == []


async def value(bar: Locator) -> float:
    return float(await bar.get_attribute("value") or 0)


async def test_a_report_takes_the_keyboard_from_the_button_that_is_gone(
    visit: Visit, backend: Backend, firm: FirmOfTest
) -> None:
    page = await opened(visit, firm)
    row = await choose(page, chatgpt_export(chatgpt_conversation("1", "Hello.")))
    await row.get_by_role("button", name="Cancel").focus()
    [waiting] = await list_imports(backend, firm.a)
    await read(backend, firm.a, waiting.id)
    await expect(row.locator(".import-report")).to_be_focused()


class TestSending:
    @pytest.fixture
    async def slow(self, visit: Visit, firm: FirmOfTest) -> Page:
        """The page in a browser that sends two megabytes a second."""
        page = await opened(visit, firm)
        session = await page.context.new_cdp_session(page)
        await session.send("Network.enable")
        limits = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 2_000_000}
        await session.send("Network.emulateNetworkConditions", limits)
        return page

    @pytest.fixture
    def large(self, tmp_path: Path) -> Path:
        path = tmp_path / "large.zip"
        path.write_bytes(b"PK" + bytes(4_000_000))
        return path

    async def test_shows_how_far_it_is(self, slow: Page, large: Path, backend: Backend, firm: FirmOfTest) -> None:
        await slow.locator("#import-chosen").set_input_files(large)
        bar = slow.get_by_role("progressbar", name="Sending large.zip")
        await expect(slow.get_by_role("button", name="Cancel the upload")).to_be_focused()
        await expect(slow.locator("#import-sent-part")).to_have_text(UNDER_WAY)
        assert 10 < float(await bar.evaluate("(each) => each.value")) < 100
        await expect(slow.locator(".drop-going")).to_contain_text("of 4 MB")
        assert await violations(slow) == []
        await expect(slow.locator(".import").filter(has_text="large.zip")).to_contain_text("Waiting to be read")
        await expect(slow.get_by_text("Choose a file")).to_be_visible()
        [arrived] = await list_imports(backend, firm.a)
        assert arrived.file_name == "large.zip"

    async def test_can_be_cancelled_and_leaves_nothing_behind(
        self, slow: Page, large: Path, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        await slow.locator("#import-chosen").set_input_files(large)
        await expect(slow.locator("#import-sent-part")).to_have_text(UNDER_WAY)
        await slow.get_by_role("button", name="Cancel the upload").press("Enter")
        await expect(slow.get_by_text("Cancelled. Nothing of the file was kept.")).to_be_visible()
        await expect(slow.locator("#import-chosen")).to_be_focused()
        pieces = "select 1 from import_chunk where organization_id = %s"
        async with asyncio.timeout(10):
            while stored(database, pieces, firm.ana.organization_id):  # noqa: ASYNC110 -- nothing tells when they go
                await asyncio.sleep(0.05)
        assert await list_imports(backend, firm.a) == []

    async def test_starts_when_a_file_is_dropped_anywhere(
        self, visit: Visit, backend: Backend, firm: FirmOfTest
    ) -> None:
        page = await opened(visit, firm)
        dropped = await page.evaluate_handle(
            "() => { const data = new DataTransfer(); data.items.add(new File(['x'], 'dropped.txt')); return data; }"
        )
        await page.dispatch_event("h1", "dragover", {"dataTransfer": dropped})
        await expect(page.locator(".drop.is-over")).to_be_visible()
        await page.dispatch_event("h1", "drop", {"dataTransfer": dropped})
        await expect(page.locator(".import")).to_contain_text("dropped.txt")
        await expect(page.locator(".drop.is-over")).to_have_count(0)

    async def test_says_what_is_wrong_and_is_ready_again(
        self, visit: Visit, backend: Backend, firm: FirmOfTest
    ) -> None:
        page = await opened(visit, firm)
        chosen = page.locator("#import-chosen")
        await chosen.set_input_files({"name": "empty.json", "mimeType": "application/json", "buffer": b""})
        await expect(page.get_by_role("alert")).to_contain_text("The file is empty.")
        await page.locator("#import-file").evaluate("(form) => { form.dataset.limit = 10 }")
        await chosen.set_input_files({"name": "large.json", "mimeType": "application/json", "buffer": b"x" * 11})
        await expect(page.get_by_role("alert")).to_contain_text("at most")
        assert await list_imports(backend, firm.a) == []
        await page.locator("#import-file").evaluate("(form) => { form.dataset.limit = 100 }")
        await choose(page, b"x", "good.json")
        await expect(page.get_by_role("alert")).to_have_count(0)


async def test_a_list_is_pasted(visit: Visit, backend: Backend, firm: FirmOfTest) -> None:
    page = await opened(visit, firm)
    await page.get_by_text("Paste a list of memories").click()
    field = page.get_by_label("Its answer")
    await field.fill("[2026-03-02] - Prefers short letters.\n[2026-03-04] - Teaches civil procedure on Thursdays.")
    await page.get_by_role("button", name="Import the list").click()
    await expect(field).to_be_hidden()
    [waiting] = await list_imports(backend, firm.a)
    await read(backend, firm.a, waiting.id)
    row = page.locator(".import").filter(has_text="Pasted list")
    await expect(row).to_contain_text("2 memories were saved")
    assert len(await live(backend, firm.a)) == 2


async def test_hostile_names_are_text(visit: Visit, backend: Backend, firm: FirmOfTest) -> None:
    page = await opened(visit, firm, viewport=PHONE)
    broken = {"title": HOSTILE + "w" * 300, "mapping": None}
    row = await choose(page, chatgpt_export(chatgpt_conversation("1", "Hello."), broken), f"{HOSTILE}.json")
    await expect(row.get_by_role("heading")).to_have_text(f"{HOSTILE}.json")
    [waiting] = await list_imports(backend, firm.a)
    await read(backend, firm.a, waiting.id)
    await row.get_by_text("What failed, and why").click()
    await expect(row.locator(".import-failures q")).to_contain_text(HOSTILE)
    assert await page.locator(".import img").count() == 0
    assert await sideways(page) <= 0


async def test_without_javascript_a_file_is_brought_in_and_undone(
    visit: Visit, backend: Backend, firm: FirmOfTest
) -> None:
    page = await opened(visit, firm, java_script_enabled=False)
    await page.get_by_label("Drop an export here, or choose one").set_input_files(
        {"name": "chatgpt.zip", "mimeType": "application/zip", "buffer": chatgpt_shards()}
    )
    await page.get_by_role("button", name="Import", exact=True).click()
    row = page.locator(".import")
    await expect(row).to_contain_text("Waiting to be read")
    [waiting] = await list_imports(backend, firm.a)
    await read(backend, firm.a, waiting.id)
    await row.get_by_role("link", name="See how far it is").click()
    await expect(row).to_contain_text("4 memories were saved")
    await row.get_by_role("button", name="Undo").click()
    await expect(row).to_contain_text("Undone just now")
    assert await live(backend, firm.a) == []


async def test_without_javascript_an_import_is_cancelled_and_a_list_pasted(
    visit: Visit, backend: Backend, firm: FirmOfTest
) -> None:
    page = await opened(visit, firm, java_script_enabled=False)
    await page.get_by_text("Paste a list of memories").click()
    await page.get_by_label("Its answer").fill("[2026-03-02] - Prefers short letters.")
    await page.get_by_role("button", name="Import the list").click()
    await page.locator(".import").get_by_role("button", name="Cancel").click()
    await expect(page.locator(".import")).to_contain_text("Cancelled")
    assert [each.status for each in await list_imports(backend, firm.a)] == [ImportStatus.CANCELLED]
