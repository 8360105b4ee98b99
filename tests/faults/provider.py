"""A provider of models on this machine: vectors for texts, and one memory for every conversation that it is shown."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.chat.provider import chat_text
from tests.faults.proxy import listening

Json = dict[str, Any]

DIMENSIONS = 8
ITEM = re.compile(r"item (\d+) of the file")


@dataclass
class Provider:
    """Speaks OpenAI's wire format. Each reading of a conversation finds something else, so that two would show."""

    port: int = 0
    chat_seconds: float = 0.0
    _readings: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = next(line for line in head.lower().splitlines() if line.startswith("content-length:"))
                asked = json.loads(await reader.readexactly(int(length.split(":")[1])))
                if asked.get("stream"):
                    await self._chat(writer)
                    return
                body = json.dumps(self._embeddings(asked) if "/embeddings" in head else self._mined(asked)).encode()
                start = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(start.encode() + body)
                await writer.drain()

    async def _chat(self, writer: asyncio.StreamWriter) -> None:
        """Answer word by word, as long as `chat_seconds`."""
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        for piece in chat_text("Somebody ", "did."):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(self.chat_seconds / 4)

    def _embeddings(self, asked: Json) -> Json:
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        data = [{"object": "embedding", "index": at, "embedding": _vector(text)} for at, text in enumerate(texts)]
        return {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}

    def _mined(self, asked: Json) -> Json:
        number = ITEM.findall(str(asked["messages"][-1]))[0]
        found = {
            "content": f"Reading {next(self._readings)} found that item {number} was looked at.",
            "type": "fact",
            "scope": "user_private",
            "confidence": "high",
            "evidence": f"item {number} of the file",
            "updates": None,
        }
        function = {"name": "final_result", "arguments": json.dumps({"memories": [found]})}
        call = {"id": "1", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
        return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def _vector(text: str) -> list[float]:
    return [byte / 255 + 0.01 for byte in hashlib.sha256(text.encode()).digest()[:DIMENSIONS]]


@asynccontextmanager
async def model_provider() -> AsyncIterator[Provider]:
    """A provider that listens on a free port."""
    provider = Provider()
    async with listening(provider.serve) as provider.port:
        yield provider
