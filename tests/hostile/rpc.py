"""MCP as bytes: JSON-RPC by hand, for what no client would send."""

from __future__ import annotations

import json
from typing import Any

import httpx2

HEADERS = {"Content-Type": "application/json", "MCP-Protocol-Version": "2025-11-25"}


async def posted(client: httpx2.AsyncClient, body: bytes, **headers: str) -> httpx2.Response:
    """Post bytes to `/mcp`."""
    return await client.post("/mcp", content=body, headers=HEADERS | headers)


async def called(client: httpx2.AsyncClient, tool: str, **arguments: Any) -> dict[str, Any]:
    """The result of calling a tool."""
    parameters = {"name": f"north__{tool}", "arguments": arguments}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
    reply = await posted(client, json.dumps(request).encode())
    assert reply.status_code == 200, reply.text
    result: dict[str, Any] = reply.json()["result"]
    return result


def text_of(result: dict[str, Any]) -> str:
    """What a host shows to a model as text."""
    return "\n".join(block["text"] for block in result["content"])
