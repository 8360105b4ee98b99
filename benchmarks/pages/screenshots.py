"""Pictures of every page, to be looked at: `python -m benchmarks.pages.screenshots [FOLDER]`.

Each page in light, in dark and at the width of a phone, with something on it. The folder is `build/screenshots` unless
another is named.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from playwright.async_api import Page

from benchmarks.pages.site import Site, caller_of, running_site
from north.access.tokens import create_token
from north.chat.importing import run_import
from north.chat.mining import make_miner
from north.memory.edit import edit
from north.memory.imports import receive
from north.memory.rules import NEVER_REMEMBER, create_rule
from north.memory.save import save
from north.model import Draft, MemoryType, Origin, Saved, Scope

LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}, "color_scheme": "light", "device_scale_factor": 2},
}
MATTER = [
    Draft("The client is Harbor Freight LLC, a Delaware company.", MemoryType.PARTY, Scope.MATTER, "HV-1001"),
    Draft("The answer to the complaint is due 14 June 2027.", MemoryType.DEADLINE, Scope.MATTER, "HV-1001"),
    Draft("We settle only if the indemnity is capped at the purchase price; the client decided so on 3 May 2027, and "
          "wants to hear of any offer above it on the day it comes in.", MemoryType.DECISION, Scope.MATTER, "HV-1001"),
]  # fmt: skip
FIRM = Draft("Never name a client in the subject line of an e-mail.", MemoryType.INSTRUCTION, Scope.FIRM_GLOBAL)
IMPORTED = Draft(
    "The lawyer teaches civil procedure on Thursdays.", MemoryType.FACT, source_label="ChatGPT export of 2 March 2027"
)
LISTED = b"[2027-01-04] - Drafts in Word, never in Pages.\n[2027-02-11] - Sits on the firm's pro bono committee.\n"
SAID = [
    "I always want citations in Bluebook form.",
    "I prefer short letters without Latin.",
    "My assistant is called Noor.",
]
MORE = (f"I always want contracts set in {face}." for face in ("Caslon", "Garamond", "Bembo"))
"""Said once for each look: what is known already is not saved again."""


async def furnish(site: Site) -> dict[str, str]:
    """Put something on every page; answers with the addresses by name."""
    ada, ben = caller_of(site.ada, Origin.MCP), caller_of(site.ben, Origin.API)
    [outcome, *_] = await save(site.backend, ben, MATTER)
    await save(site.backend, ada, [FIRM])
    await save(site.backend, caller_of(site.ada, Origin.IMPORT), [IMPORTED])
    assert isinstance(outcome, Saved)
    newer = await edit(site.backend, ada, outcome.memory.id, "The client is Harbor Freight LLC of Delaware.")
    await create_rule(site.backend, ada, NEVER_REMEMBER, Scope.USER_PRIVATE, MemoryType.PREFERENCE, "salary")
    await create_rule(site.backend, ada, NEVER_REMEMBER, None, None, "diagnosis")
    await create_token(site.backend, ada, "Claude on my laptop")
    await _import(site)
    page = await site.page(site.ada)
    for text in SAID:
        await _converse(page, text)
    thread = await _converse(page, "In which form do I want citations?", "When is the answer due?", matter="HV-1001")
    await page.close()
    return {
        "new-chat": "/chat",
        "conversation": thread,
        "memories": f"/settings/memory?highlight={newer.id}",
        "search": "/settings/memory?q=how+to+cite+a+case",
        "nothing": "/settings/memory?q=zzzz&type=deadline",
        "edit": f"/settings/memory/{newer.id}/edit",
        "history": f"/settings/memory/{newer.id}/history",
        "rules": "/settings/memory/rules",
        "connections": "/settings/connections",
        "import": "/settings/import",
        "missing": "/nowhere",
    }


async def _import(site: Site) -> None:
    """A file that was read, one that is none, and one that waits."""
    ada = caller_of(site.ada, Origin.IMPORT)
    for name, content, wait in (
        ("notes.json", b"{}", False),
        ("memories.txt", LISTED, False),
        ("more.txt", LISTED, True),
    ):
        received = await receive(site.backend, ada, name, _whole(content))
        if not wait:
            await run_import(make_miner(site.backend, None), ada, received.id)


async def _whole(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def _converse(page: Page, *texts: str, matter: str = "", incognito: bool = False) -> str:
    await page.goto("/chat")
    if matter:
        await page.locator("[name=matter]").select_option(index=1)
    if incognito:
        await page.get_by_label("Don’t remember this chat").check()
    for number, text in enumerate(texts, 1):
        await page.locator("#text").fill(text)
        await page.locator("#text").press("Enter")
        await page.locator(f".from-north:nth-of-type({2 * number}) .notes:not([hidden])").wait_for(state="attached")
    return page.url


async def _saved_opened(page: Page) -> None:
    await _converse(page, next(MORE))
    await page.locator(".note.saved .link").first.click()
    await page.locator(".is-edited").wait_for()


async def _used_opened(page: Page) -> None:
    await page.locator(".note.used summary").last.click()
    await page.locator(".note.used .brief-actions").last.wait_for()


async def _menu_opened(page: Page) -> None:
    await page.locator(".thread-menu summary").click()


async def _side_opened(page: Page) -> None:
    if await page.locator(".topbar").is_visible():
        await page.locator(".topbar button").click()


async def _row_edited(page: Page) -> None:
    await page.locator(".memory-text").nth(1).click()
    await page.locator(".is-edited").wait_for()


async def _row_deleted(page: Page) -> None:
    await page.locator(".memory-actions .danger").nth(1).click()
    await page.locator(".is-deleted").wait_for()


async def _adding(page: Page) -> None:
    await page.locator(".add summary").click()


async def _import_helped(page: Page) -> None:
    await page.locator(".paste summary").click()
    await page.locator(".export-help summary").first.click()


async def _incognito(page: Page) -> None:
    await _converse(page, "In which form do I want citations?", matter="HV-1001", incognito=True)


Step = Callable[[Page], Awaitable[None]]
STEPS: dict[str, tuple[str, Step]] = {
    "conversation-used": ("conversation", _used_opened),
    "conversation-menu": ("conversation", _menu_opened),
    "conversation-saved": ("new-chat", _saved_opened),
    "conversation-incognito": ("new-chat", _incognito),
    "side": ("conversation", _side_opened),
    "memories-edit": ("memories", _row_edited),
    "memories-add": ("memories", _adding),
    "memories-deleted": ("memories", _row_deleted),
    "import-helped": ("import", _import_helped),
}
"""Pages on which something is done first, by the page they begin on."""


async def _picture(page: Page, folder: Path, name: str, look: str) -> None:
    whole = await page.locator(".composer").count() == 0  # what sticks to a long page's end would stand in its middle
    await page.screenshot(path=folder / f"{name}-{look}.png", full_page=whole)


async def take(folder: Path) -> None:
    """Write every picture into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    async with running_site() as site:
        addresses = await furnish(site)
        for look, options in LOOKS.items():
            stranger = await site.page(None, **options)
            await stranger.goto("/login")
            await _picture(stranger, folder, "login", look)
            page = await site.page(site.ada, **options)
            for name, address in addresses.items():
                await page.goto(address)
                await _picture(page, folder, name, look)
            for name, (begin, step) in STEPS.items():
                await page.goto(addresses[begin])
                await step(page)
                await _picture(page, folder, name, look)


def main(folder: Annotated[Path, typer.Argument(help="Where the pictures go.")] = Path("build/screenshots")) -> None:
    """Take pictures of every page in light, in dark and at the width of a phone."""
    asyncio.run(take(folder))
    print(f"{len(list(folder.glob('*.png')))} pictures in {folder}")


if __name__ == "__main__":
    typer.run(main)
