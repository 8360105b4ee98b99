"""One firm's flood over MCP."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import httpx2
import pytest

from north import turns as limits
from north.access.tokens import create_token
from north.mcp.site import PATH
from north.memory.backend import Backend
from north.settings import Settings
from north.turns import Turns
from tests.conftest import FirmOfTest
from tests.mcp.conftest import mcp_app
from tests.serving import serving

HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
BRIEFING = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "north__briefing", "arguments": {}}}


async def test_the_flooding_firm_is_told_to_come_back_and_its_neighbour_is_served(
    backend: Backend, firm: FirmOfTest, rival: FirmOfTest, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REFUSED_AFTER_SECONDS", 0)
    app = mcp_app(replace(backend, turns=Turns(at_once=1, most_waiting=1)), settings)
    _, secret = await create_token(backend, firm.a, "flood")
    _, neighbour = await create_token(backend, rival.a, "next door")

    async with serving(app) as address, httpx2.AsyncClient(headers=HEADERS, timeout=30) as http:

        async def call(token: str) -> httpx2.Response:
            return await http.post(f"{address}{PATH}", json=BRIEFING, headers={"Authorization": f"Bearer {token}"})

        for token in (secret, neighbour):
            assert (await call(token)).status_code == 200
        flooding = [asyncio.create_task(call(secret)) for _ in range(20)]
        calm = await call(neighbour)
        replies = await asyncio.gather(*flooding)
    assert calm.status_code == 200
    assert {reply.status_code for reply in replies} == {200, 429}
    for reply in replies:
        if reply.status_code == 429:
            assert reply.headers["Retry-After"] == "1"
            assert reply.json()["error"] == "too_many_requests"
