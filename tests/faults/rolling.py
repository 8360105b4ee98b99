"""Restarting servers behind a balancer while programs, streams and hosts are at work: nobody is to notice."""

from __future__ import annotations

import asyncio
import itertools
import json
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from tests.commands import free_port
from tests.faults.harness import Postgres, Program, Stage, stage_on
from tests.faults.load import Client, Load, compare
from tests.faults.provider import model_provider
from tests.faults.proxy import balancer

ENDING_SECONDS = 30.0


@dataclass
class Noticed:
    """What anybody noticed, as sentences; how long each server took to end, and how much was done meanwhile."""

    wrong: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    answers: int = 0
    streams: int = 0
    calls: int = 0


async def restart_in_turn(
    postgres: Postgres,
    folder: Path,
    *,
    restarts: int,
    clients: int = 4,
    chat_seconds: float = 2.0,
    tell: Callable[[str], None] = lambda line: None,
) -> Noticed:
    """Restart two servers, one after the other, so many times in all."""
    noticed = Noticed()
    async with model_provider() as provider:
        provider.chat_seconds = chat_seconds
        ports = [free_port(), free_port()]
        async with balancer(ports) as spreading:
            address = f"http://127.0.0.1:{spreading.port}"
            settings = {"NORTH_PUBLIC_URL": address, "NORTH_MODEL": "openai-chat:gpt-test", "NO_PROXY": "127.0.0.1"}
            settings |= {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "sk-test"}
            async with stage_on(postgres, folder, settings) as stage:
                servers = [stage.server(port)[0] for port in ports]
                await asyncio.gather(*(server.start() for server in servers))
                try:
                    await _restarted(stage, servers, address, restarts, clients, noticed, tell)
                finally:
                    await asyncio.gather(*(server.stop() for server in servers))
                noticed.wrong += ["a traceback in the log" for server in servers if "Traceback" in server.output]
    return noticed


async def _restarted(
    stage: Stage,
    servers: list[Program],
    address: str,
    restarts: int,
    clients: int,
    noticed: Noticed,
    tell: Callable[[str], None],
) -> None:
    load = Load(address, stage.lawyers)
    load.start(clients, 0.05)
    ending = asyncio.Event()
    others = [asyncio.create_task(work(stage, address, ending, noticed)) for work in (_streams, _hosts)]
    for number, server in zip(range(restarts), itertools.cycle(servers), strict=False):
        await asyncio.sleep(1.0)
        began = time.monotonic()
        server.signal(signal.SIGTERM)
        code = await server.ended()
        noticed.seconds.append(time.monotonic() - began)
        tell(f"{number + 1:>4}  ended with {code} after {noticed.seconds[-1]:5.2f} s")
        noticed.wrong += [f"ended with {code}"] if code else []
        if number + 1 < restarts:
            await server.start()
    ending.set()
    await asyncio.gather(load.end(), *others)
    noticed.answers = sum(load.replies.values())
    refused = {answer: count for answer, count in load.replies.items() if not answer.startswith(("2", "409"))}
    noticed.wrong += [f"{count} times {answer}" for answer, count in refused.items()]
    noticed.wrong += compare(load, stage.postgres)


async def _streams(stage: Stage, address: str, ending: asyncio.Event, noticed: Noticed) -> None:
    """Two lawyers who chat, each with an answer under way nearly all the time."""
    await asyncio.gather(*(_chat(lawyer.token, address, ending, noticed) for lawyer in stage.lawyers))


async def _chat(token: str, address: str, ending: asyncio.Event, noticed: Noticed) -> None:
    headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
    async with Client(base_url=f"{address}/api/v1", headers=headers, timeout=40) as client:
        while not ending.is_set():
            try:
                thread = (await client.post("/threads")).json()["id"]
                reply = await client.post(f"/threads/{thread}/messages", json={"text": "Who did it?"})
                if reply.status_code != 200 or "event: done" not in reply.text:
                    noticed.wrong.append(f"a stream broke off: {reply.status_code} {reply.text[-200:]}")
                noticed.streams += 1
            except (httpx2.TransportError, KeyError, ValueError) as error:
                noticed.wrong.append(f"a stream broke: {error!r}")


async def _hosts(stage: Stage, address: str, ending: asyncio.Event, noticed: Noticed) -> None:
    """A host that calls a tool over MCP, again and again."""
    headers = {
        "Authorization": f"Bearer {stage.lawyers[0].token}",
        "Accept": "application/json, text/event-stream",
    }
    call = {"name": "north__memory_recall", "arguments": {"query": "What is on record?"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    async with Client(headers=headers | {"Content-Type": "application/json"}, timeout=40) as client:
        while not ending.is_set():
            try:
                reply = await client.post(f"{address}/mcp", content=body)
                if reply.status_code != 200 or reply.json()["result"].get("isError"):
                    noticed.wrong.append(f"a call failed: {reply.status_code} {reply.text[:200]}")
                noticed.calls += 1
            except (httpx2.TransportError, KeyError, ValueError) as error:
                noticed.wrong.append(f"a call broke: {error!r}")
            await asyncio.sleep(0.05)
