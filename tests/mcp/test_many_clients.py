"""Many hosts at once, whose requests all have the same id: each gets its own answers and no one else's."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import Any

import httpx2

from north.access.firms import insert_user
from north.memory.backend import Backend
from north.memory.save import save
from north.model import Caller, Draft, MemoryType, Origin
from tests.conftest import FirmOfTest
from tests.mcp.conftest import secret_of

CLIENTS = 50
CALLS = int(os.environ.get("NORTH_MCP_CALLS", "2000"))
"""In all; `NORTH_MCP_CALLS=10000` for the whole proof, which takes minutes."""

VERSION = "2026-07-28"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
ACCEPT = "application/json, text/event-stream"


@dataclass(frozen=True)
class Lawyer:
    """One of the lawyers, and what only their memory says."""

    secret: str
    fact: str
    modern: bool


async def lawyer_of(backend: Backend, firm: FirmOfTest, password_hash: str, number: int) -> Lawyer:
    organization_id = firm.ana.organization_id
    email = f"lawyer-{number}@{firm.slug}.test"
    user = await insert_user(backend, organization_id, email, f"Lawyer {number}", "lawyer", password_hash)
    caller = Caller(organization_id, user.id, Origin.API)
    fact = f"The safe of {email} opens with {number:04}."
    await save(backend, caller, [Draft(fact, MemoryType.FACT)])
    return Lawyer(await secret_of(backend, caller), fact, modern=number % 2 == 0)


def request_of(lawyer: Lawyer) -> tuple[dict[str, str], dict[str, Any]]:
    """The headers and the body of a call, in one protocol era or the other. The id is always 1."""
    headers = {"Authorization": f"Bearer {lawyer.secret}", "Accept": ACCEPT}
    params: dict[str, Any] = {"name": "north__briefing", "arguments": {}}
    if lawyer.modern:
        headers |= {"MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/call", "Mcp-Name": params["name"]}
        params["_meta"] = ENVELOPE
    else:
        headers |= {"MCP-Protocol-Version": "2025-11-25"}
    return headers, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


async def test_get_only_their_own_answers(
    address: str, backend: Backend, firm: FirmOfTest, rival: FirmOfTest, password_hash: str
) -> None:
    firms = (firm, rival)
    lawyers = [await lawyer_of(backend, firms[number % 2], password_hash, number // 2) for number in range(CLIENTS)]
    answered = 0

    async def calls_of(lawyer: Lawyer, http: httpx2.AsyncClient) -> None:
        nonlocal answered
        headers, body = request_of(lawyer)
        for _ in range(CALLS // CLIENTS):
            reply = (await http.post("/mcp", json=body, headers=headers)).json()
            text = reply["result"]["structuredContent"]["text"]
            assert reply["id"] == 1 and lawyer.fact in text and text.count("The safe of") == 1
            answered += 1

    limits = httpx2.Limits(max_connections=CLIENTS, max_keepalive_connections=CLIENTS)
    async with httpx2.AsyncClient(base_url=address, limits=limits, timeout=120) as http:
        await asyncio.gather(*(calls_of(lawyer, http) for lawyer in lawyers))
    assert answered == CALLS
