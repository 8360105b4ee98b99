"""How quickly the pages stand there: `python -m benchmarks.pages.run`.

Settings → Memory for a lawyer who sees 10,000 memories, half personal and half a matter's, and a conversation of 400
messages in which each answer used twelve memories. What counts is the time from asking for the page until Chromium has
painted its first rows (`largest-contentful-paint`), the browser on the same machine as the server and the database.
"""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated
from uuid import UUID

import typer
from playwright.async_api import Page
from psycopg.types.json import Jsonb

from benchmarks.figures import machine, milliseconds, percentile
from benchmarks.latency.texts import memories
from benchmarks.pages.site import Site, caller_of, running_site
from north.chat.threads import create_thread
from north.memory.listing import MemoryFilter, list_memories
from north.memory.save import BATCH_LIMIT, save
from north.model import Draft, MemoryType, Scope, new_id

AIM = 0.5
"""Seconds until the first rows are painted, on two cores."""
USED = 12
PAINTED = """
    () => new Promise((done) => {
      new PerformanceObserver((list) => done(list.getEntries().at(-1).startTime / 1000))
        .observe({ type: "largest-contentful-paint", buffered: true });
    })
"""
SHOWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


async def _fill(site: Site, count: int) -> None:
    texts = memories(seed=4)
    for scope, matter in ((Scope.USER_PRIVATE, None), (Scope.MATTER, "HV-1001")):
        drafts = [Draft(text, MemoryType.FACT, scope, matter) for text in islice(texts, count // 2)]
        for start in range(0, len(drafts), BATCH_LIMIT):
            await save(site.backend, caller_of(site.ada), drafts[start : start + BATCH_LIMIT])
    await site.backend.backlog.settled(site.ada.organization_id, seconds=1800)


async def _converse(site: Site, messages: int) -> UUID:
    """A conversation as long as a page shows, written straight into the database."""
    caller, texts = caller_of(site.ada), memories(seed=5)
    thread = await create_thread(site.backend, caller, "HV-1001")
    used = (await list_memories(site.backend, caller, MemoryFilter(), limit=USED)).memories
    effects = Jsonb({"saved": [], "recalled": [str(memory.id) for memory in used], "refused": []})
    async with site.backend.database.tenant(caller) as transaction:
        for number in range(messages):
            answer = number % 2 == 1
            content = "\n\n".join(islice(texts, 4)) + "\n\n- **one**\n- two" if answer else next(texts)
            await transaction.send(
                "threads.insert_message",
                id=new_id(),
                thread_id=thread.id,
                role="assistant" if answer else "user",
                content=content,
                model_messages=None,
                effects=effects if answer else None,
                error_code=None,
            )
    return thread.id


async def _measured(page: Page, address: str, rounds: int) -> list[float]:
    found = []
    for _ in range(rounds + 1):
        await page.goto("about:blank")
        reply = await page.goto(address)
        assert reply is not None and reply.ok, f"{address} answered {reply and reply.status}"
        found.append(await page.evaluate(PAINTED))
    return found[1:]  # the first fills the browser's cache


async def _typed(page: Page, rounds: int) -> list[float]:
    """From a word's last letter until its hits are on the screen; 0.3 s of it wait for another letter."""
    found = []
    for number in range(rounds):
        await page.goto("/settings/memory")
        async with page.expect_response("**/settings/memory?*"):
            began = datetime.now(UTC)
            await page.locator("#q").fill(f"who settled no. {number}")
        await page.evaluate(SHOWN)
        found.append((datetime.now(UTC) - began).total_seconds())
    return found


async def measure(count: int, messages: int, rounds: int, embedder: str) -> dict[str, list[float]]:
    """The times of each page, in seconds."""
    async with running_site(embedder) as site:
        await _fill(site, count)
        thread = await _converse(site, messages)
        page = await site.page(site.ada, viewport={"width": 1440, "height": 900})
        addresses = {
            f"Settings, {count:,} memories": f"{site.address}/settings/memory",
            "one type of them": f"{site.address}/settings/memory?type=fact",
            "a search in them": f"{site.address}/settings/memory?q=who+signed+the+lease",
            f"conversation, {messages} messages": f"{site.address}/chat/{thread}",
        }
        times = {name: await _measured(page, address, rounds) for name, address in addresses.items()}
        return times | {"typed into the search": await _typed(page, rounds)}


def main(
    count: Annotated[int, typer.Option(help="Memories that the lawyer sees.")] = 10_000,
    messages: Annotated[int, typer.Option(help="Messages of the conversation.")] = 400,
    rounds: Annotated[int, typer.Option(help="How often each page is asked for.")] = 10,
    embedder: Annotated[str, typer.Option(help="`local`, or `none` to measure without meaning.")] = "local",
    as_json: Annotated[bool, typer.Option("--json", help="Print the seconds as JSON.")] = False,
) -> None:
    """Measure how quickly the pages stand there."""
    times = asyncio.run(measure(count, messages, rounds, embedder))
    if as_json:
        print(json.dumps({"machine": machine(), "seconds": times}))
        return
    print(machine())
    for name, seconds in times.items():
        verdict = "" if percentile(seconds, 50) < AIM else f"  above the aim of {1000 * AIM:.0f} ms"
        print(f"{name:<32} {milliseconds(seconds)}{verdict}")


if __name__ == "__main__":
    typer.run(main)
