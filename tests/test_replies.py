"""A reply's head leaves with its body, and does not wait for a body that takes its time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.responses import PlainTextResponse, StreamingResponse

from north.commands.replies import HeadWithBody
from tests.serving import serving

SECONDS = 10.0
REPLIES = 20


class Wire(asyncio.Transport):
    """A connection that notes each packet."""

    def __init__(self) -> None:
        super().__init__()
        self.packets: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.packets.append(bytes(data))

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


@asynccontextmanager
async def talking_to(app: FastAPI) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    async with serving(app) as address:
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(address).port)
        yield reader, writer
        writer.close()


async def ask(writer: asyncio.StreamWriter) -> None:
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await writer.drain()


async def test_a_reply_comes_in_one_piece() -> None:
    app = FastAPI()
    app.add_api_route("/", lambda: PlainTextResponse("hello"))
    async with talking_to(app) as (reader, writer):
        for _ in range(REPLIES):
            await ask(writer)
            piece = await asyncio.wait_for(reader.read(10_000), SECONDS)
            assert piece.startswith(b"HTTP/1.1 200") and piece.endswith(b"\r\n\r\nhello")


async def test_a_stream_begins_before_there_is_anything_to_say() -> None:
    heard = asyncio.Event()

    async def said() -> AsyncIterator[bytes]:
        await heard.wait()
        yield b"hello"

    app = FastAPI()
    app.add_api_route("/", lambda: StreamingResponse(said()))
    async with talking_to(app) as (reader, writer):
        await ask(writer)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SECONDS)
        heard.set()
        assert head.startswith(b"HTTP/1.1 200")
        assert b"hello" in await asyncio.wait_for(reader.readuntil(b"0\r\n\r\n"), SECONDS)


async def test_what_follows_at_once_leaves_with_the_head_and_the_rest_by_itself() -> None:
    wire = Wire()
    reply = HeadWithBody(wire, asyncio.get_running_loop())
    reply.write(b"head ")
    assert wire.packets == []
    reply.write(b"body")
    reply.write(b"more")
    await asyncio.sleep(0)
    assert wire.packets == [b"head body", b"more"]


async def test_a_head_alone_leaves_in_the_next_turn_of_the_loop() -> None:
    wire = Wire()
    reply = HeadWithBody(wire, asyncio.get_running_loop())
    reply.write(b"head")
    await asyncio.sleep(0)
    reply.write(b"body")
    assert wire.packets == [b"head", b"body"]


async def test_nothing_is_lost_when_the_connection_is_closed() -> None:
    wire = Wire()
    reply = HeadWithBody(wire, asyncio.get_running_loop())
    reply.write(b"head")
    reply.close()
    await asyncio.sleep(0)
    assert wire.packets == [b"head"] and reply.is_closing()
