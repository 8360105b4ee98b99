"""What only a real server shows: bodies in pieces, bytes that no client library sends, streams that are closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel

from north.access.tokens import create_token
from north.chat.threads import get_thread
from north.chat.turn import STOPPED
from north.memory.backend import Backend
from north.model import Message
from tests.api.conftest import Client, api_app, assert_problem
from tests.conftest import FirmOfTest
from tests.serving import serving


async def talks_on(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
    """A model that never comes to an end by itself."""
    yield "In Bluebook form, "
    await asyncio.Event().wait()


@pytest.fixture
async def port(backend: Backend) -> AsyncIterator[int]:
    app = api_app(backend, FunctionModel(stream_function=talks_on))
    async with serving(app, lifespan=False) as address:
        yield urlsplit(address).port or 0


@pytest.fixture
async def secret(backend: Backend, firm: FirmOfTest) -> str:
    return (await create_token(backend, firm.a, "test"))[1]


@pytest.fixture
async def ana(port: int, secret: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {secret}"}
    async with Client(base_url=f"http://127.0.0.1:{port}/api/v1", headers=headers) as client:
        yield client


async def answer_to(port: int, *lines: bytes) -> bytes:
    """Send a request of any bytes, and what comes back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"\r\n".join([*lines, b"Host: north.test", b"Connection: close", b"", b""]))
    reply = await reader.read()
    writer.close()
    await writer.wait_closed()
    return reply


async def in_pieces() -> AsyncIterator[bytes]:
    for _ in range(100):
        yield b" " * 100_000


@pytest.mark.parametrize("announced", [True, False])
async def test_a_body_of_ten_megabytes_is_refused_and_the_server_goes_on(ana: Client, announced: bool) -> None:
    body = b" " * 10_000_000 if announced else in_pieces()
    reply = await ana.post("/memories", content=body, headers={"Content-Type": "application/json"})
    assert_problem(reply, 413, "too_large")
    assert (await ana.get("/memories")).status_code == 200


@pytest.mark.parametrize(
    "line",
    [
        b"GET /api/v1/memories/\xff HTTP/1.1",
        b"GET /api/v1/memories/%ff%00%ed%a0%80 HTTP/1.1",
        b"GET /api/v1/memories?matter=%ed%a0%80 HTTP/1.1",
        b"GET /api/v1/memories?cursor=" + b"W1tb" * 10_000 + b" HTTP/1.1",
        b"GET /api/v1/memories?limit=" + b"9" * 5000 + b" HTTP/1.1",
        b"POST /api/v1/memories HTTP/1.1\r\nContent-Type: application/json; charset=\xff\r\nContent-Length: 0",
        b"POST /api/v1/memories HTTP/1.1\r\nContent-Type: \xff\r\nContent-Length: 0",
        b"POST /api/v1/memories HTTP/1.1\r\nContent-Length: -1",
        b"POST /api/v1/memories HTTP/1.1\r\nContent-Length: nonsense",
    ],
)
async def test_bytes_that_no_client_sends_are_a_4xx(port: int, secret: str, line: bytes) -> None:
    reply = await answer_to(port, line, b"Authorization: Bearer " + secret.encode())
    assert reply.startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize("credential", [b"\xff\xfe", b"Bearer \xff", b"Bearer \x01", b"Bearer " + b"x" * 30_000])
async def test_a_credential_of_any_bytes_is_a_4xx(port: int, credential: bytes) -> None:
    reply = await answer_to(port, b"GET /api/v1/memories HTTP/1.1", b"Authorization: " + credential)
    assert reply.startswith(b"HTTP/1.1 4")


async def test_closing_the_stream_stops_the_answer_and_keeps_what_was_said(
    ana: Client, backend: Backend, firm: FirmOfTest
) -> None:
    thread_id = (await ana.post("/threads")).json()["id"]
    said = {"text": "How do I cite a case?"}
    async with ana.stream(
        "POST", f"/threads/{thread_id}/messages", json=said, headers={"Accept": "text/event-stream"}
    ) as reply:
        async for line in reply.aiter_lines():
            if "In Bluebook form" in line:
                break
    answer = await stored_answer(backend, firm, UUID(thread_id))
    assert (answer.content, answer.error_code) == ("In Bluebook form, ", STOPPED)


async def stored_answer(backend: Backend, firm: FirmOfTest, thread_id: UUID) -> Message:
    """The assistant's message, as soon as it is there."""
    async with asyncio.timeout(10):
        while True:
            thread = await get_thread(backend, firm.a, thread_id)
            if thread.messages[-1].role == "assistant":
                return thread.messages[-1]
