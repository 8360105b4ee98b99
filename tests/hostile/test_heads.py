"""Heads of requests, and their pace: what is broken, endless or never comes is refused, and what is long is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx2
import pytest

from north.commands import heads
from tests.conftest import FirmOfTest
from tests.hostile.ground import Ground, assert_refused
from tests.hostile.payloads import MEGABYTE


async def spoken(address: str, request: bytes) -> bytes:
    """What the server answers to bytes that no client would send; it closes the connection, this side does not."""
    parts = urlsplit(address)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    answer = b""
    try:
        writer.write(request)
        async with asyncio.timeout(10):
            while piece := await reader.read(65_536):
                answer += piece
    except ConnectionError:  # it had closed before all was sent, so that this side may not hear why
        answer = answer or CLOSED
    finally:
        writer.close()
    return answer


JSON = {"Content-Type": "application/json"}
CLOSED = b"closed"
BODY = b'{"content": "smuggled", "type": "fact", "scope": "user_private"}'
HEADERS_OF_NOBODY: dict[str, bytes] = {
    "NUL in a value": b"X-Name: a\0b\r\n",
    "a bare carriage return": b"X-Name: a\rX-Other: b\r\n",
    "a space in a name": b"X Name: a\r\n",
    "two lengths": b"Content-Length: 3\r\n",
    "a negative length": b"Content-Length: -1\r\n",
    "a length and chunks": b"Transfer-Encoding: chunked\r\n",
}
KILOBYTE = 1_000
LONG_HEADERS: dict[str, bytes] = {
    "one": b"X-Name: " + b"a" * 70 * KILOBYTE + b"\r\n",
    "many": b"".join(b"X-%d: a\r\n" % number for number in range(20_000)),
    "in pieces": b"X-Name: " + b"a" * 5 * MEGABYTE + b"\r\n",
}


def saving(ana: httpx2.AsyncClient, headers: bytes, path: bytes = b"/api/v1/memories") -> bytes:
    """A save with these headers besides its own."""
    head = b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
    token = ana.headers["authorization"].encode()
    return head + b"Authorization: " + token + b"\r\nContent-Length: %d\r\n" % len(BODY) + headers + b"\r\n" + BODY


@pytest.mark.parametrize("header", HEADERS_OF_NOBODY.values(), ids=HEADERS_OF_NOBODY)
async def test_no_broken_header_lets_a_request_through(
    address: str, ana: httpx2.AsyncClient, ground: Ground, header: bytes
) -> None:
    before = ground.stored()
    answer = await spoken(address, saving(ana, header))
    assert answer.startswith(b"HTTP/1.1 4"), answer[:200]
    assert ground.stored() == before


@pytest.mark.parametrize("headers", LONG_HEADERS.values(), ids=LONG_HEADERS)
async def test_no_head_fills_the_memory(address: str, ana: httpx2.AsyncClient, ground: Ground, headers: bytes) -> None:
    before = ground.stored()
    answer = await spoken(address, saving(ana, headers))
    if answer != CLOSED:
        assert answer.startswith(b"HTTP/1.1 431 ") and b'"code": "head_too_large"' in answer, answer[:500]
    assert ground.stored() == before


async def test_no_address_fills_the_memory(address: str, ana: httpx2.AsyncClient, ground: Ground) -> None:
    before = ground.stored()
    answer = await spoken(address, saving(ana, b"", b"/api/v1/memories?a=" + b"a" * 70 * KILOBYTE))
    assert answer.startswith(b"HTTP/1.1 431 "), answer[:200]
    assert ground.stored() == before


ENDLESS: dict[str, bytes] = {
    "an address": b"GET /",
    "a header": b"GET / HTTP/1.1\r\nX-Name: ",
    "a header after a body": b"POST /api/v1/recall HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Name: ",
}


@pytest.mark.parametrize("beginning", ENDLESS.values(), ids=ENDLESS)
async def test_what_does_not_end_is_broken_off(address: str, beginning: bytes) -> None:
    parts = urlsplit(address)
    _, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        writer.write(beginning)
        with pytest.raises(ConnectionError):
            for _ in range(800):
                writer.write(b"a" * 64 * KILOBYTE)
                await writer.drain()
    finally:
        writer.close()


WHOLE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
SLOW: dict[str, tuple[bytes, bytes]] = {
    "nothing": (b"", b""),
    "a part of a head": (b"GET / HTTP/1.1\r\nX-Name: a", b"408"),
    "a part of a second head": (WHOLE + b"GET / HTTP/1.1\r\n", b"408"),
    "a part of a body": (b"POST /api/v1/tokens HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{", b""),
    "a part of a stranger's body": (
        b"POST /api/v1/recall HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
        b"401",
    ),
}


@pytest.mark.parametrize(("sent", "status"), SLOW.values(), ids=SLOW)
async def test_what_does_not_come_is_not_waited_for(
    address: str, sent: bytes, status: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(heads, "PIECE_SECONDS", 0.2)
    answer = await spoken(address, sent)
    answered = answer.split(b"HTTP/1.1 ")[1:]
    if sent.startswith(WHOLE):
        assert answered.pop(0).startswith(b"200")
    assert [each[:3] for each in answered] == [status] * bool(status)
    assert status != b"408" or b'"code": "head_too_slow"' in answered[0]


async def test_what_comes_in_time_may_take_long_as_a_whole(
    address: str, ana: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads, "HEAD_SECONDS", 1.0)
    monkeypatch.setattr(heads, "PIECE_SECONDS", 0.4)
    monkeypatch.setattr(heads, "PIECE_BYTES", 3)
    reply = await ana.post("/api/v1/recall", content=pieces(), headers=JSON)
    assert reply.status_code == 200, reply.text


async def test_a_body_that_comes_byte_by_byte_is_not_waited_for(
    address: str, ana: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads, "PIECE_SECONDS", 0.4)
    with pytest.raises(httpx2.TransportError):
        await ana.post("/api/v1/recall", content=pieces(), headers=JSON)


async def pieces() -> AsyncIterator[bytes]:
    """A question that takes more than a second."""
    for piece in (b'{"query": ', b'"what ', b"is ", b"due", b'?"}'):
        yield piece
        await asyncio.sleep(0.25)


async def test_long_heads_and_bodies_one_after_the_other_are_no_long_head(
    address: str, ana: httpx2.AsyncClient
) -> None:
    for number in range(4):
        long = {"X-Name": "a" * 40 * KILOBYTE}
        body = {"query": f"{number} " + "a" * 9_000}
        reply = await ana.post("/api/v1/recall", json=body, headers=long)
        assert reply.status_code == 200


@pytest.mark.parametrize("value", ["a\r\nSet-Cookie: x=1", "a\nb", "a\rb", "%0d%0aSet-Cookie:x=1", "a\u2028b"])
async def test_line_breaks_in_a_handle_begin_no_header(ana: httpx2.AsyncClient, ground: Ground, value: str) -> None:
    before = ground.stored()
    fact = {"content": "A fact.", "type": "fact", "scope": "user_private"}
    replies = [
        await ana.post("/api/v1/memories", json={**fact, "session": value}),
        await ana.post("/api/v1/wall/consultations", json={"source": "netdocuments", "session": value}),
        await ana.post("/api/v1/tokens", json={"name": f"{value}\n"}) if "\n" in value else None,
        await ana.get("/api/v1/briefing", params={"matter": value}),
    ]
    for reply in filter(None, replies):
        assert_refused(reply)
        assert "set-cookie" not in reply.headers
    assert ground.stored() == before


@pytest.mark.parametrize(
    "key", ["", "a" * 201, "a" * 8000, "\u00fc" * 150], ids=["empty", "long", "endless", "Latin-1"]
)
async def test_a_key_that_is_none_stores_nothing(ana: httpx2.AsyncClient, ground: Ground, key: str) -> None:
    before = ground.stored()
    fact = {"content": "A fact.", "type": "fact", "scope": "user_private"}
    reply = await ana.post("/api/v1/memories", json=fact, headers=[(b"Idempotency-Key", key.encode("latin-1"))])
    if reply.status_code != 201:
        assert_refused(reply)
        assert ground.stored() == before


@pytest.mark.parametrize(
    "next", ["/chat%0d%0aSet-Cookie:%20x=1", "/chat\r\nSet-Cookie: x=1", "//evil.example", "/\\evil"]
)
async def test_an_address_to_go_on_to_begins_no_header(
    address: str, firm: FirmOfTest, browser: httpx2.AsyncClient, next: str
) -> None:
    reply = await browser.post("/settings/theme", data={"theme": "dark", "next": next})
    assert reply.status_code == 303 and "\n" not in reply.headers["location"]
    assert "x" not in reply.cookies and "evil" not in (urlsplit(reply.headers["location"]).netloc or "")
