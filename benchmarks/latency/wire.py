"""A client that costs next to nothing itself: one connection, HTTP written by hand, replies not parsed unless asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

OK = range(200, 300)
JSON = "application/json"
MCP_HEADERS = {"Accept": f"{JSON}, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, read."""
        return json.loads(self.body)


class Wire:
    """One connection of one lawyer to a server on this machine."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def call(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Send one request and wait for its reply, whatever its status."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        content = b"" if body is None else json.dumps(body).encode()
        lines = {
            "Host": f"127.0.0.1:{self._port}",
            "Authorization": f"Bearer {self._token}",
            "Content-Length": str(len(content)),
            **({"Content-Type": JSON} if content else {}),
            **(headers or {}),
        }
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(head.encode() + b"\r\n" + content)
        first, *rest = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        found = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest if line)}
        return Reply(int(first.split()[1]), found, await reader.readexactly(int(found.get("content-length", 0))))

    async def rest(self, method: str, path: str, body: object = None) -> Reply:
        """A call of the REST API.

        Raises:
            RuntimeError: it did not succeed.
        """
        reply = await self.call(method, f"/api/v1{path}", body)
        if reply.status not in OK:
            raise RuntimeError(f"{method} {path} answered {reply.status}: {reply.body[:500]!r}")
        return reply

    async def tool(self, name: str, arguments: Mapping[str, object]) -> Reply:
        """A call of an MCP tool, without the client's own protocol around it.

        Raises:
            RuntimeError: it did not succeed.
        """
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        reply = await self.call("POST", "/mcp", call, MCP_HEADERS)
        if reply.status not in OK or b'"isError":true' in reply.body:
            raise RuntimeError(f"{name} answered {reply.status}: {reply.body[:500]!r}")
        return reply

    def close(self) -> None:
        """Let go of the connection."""
        if self._streams is not None:
            self._streams[1].close()
