"""What is no text and no JSON is refused by a 4xx with a code, on every surface, and nothing of it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx2
import psycopg
import pytest
from psycopg import sql

from north.access.login import log_in
from north.chat.threads import create_thread
from north.commands import heads
from north.memory.backend import Backend
from north.memory.save import save
from north.model import Draft, MemoryType, Saved
from north.web.sessions import SESSION_COOKIE
from tests.conftest import PASSWORD, FirmOfTest, TestDatabase
from tests.hostile.conftest import ClientFor
from tests.hostile.payloads import FOR_A_VALUE, HOLE, IN_A_STRING, MEGABYTE, WHOLE_BODIES, in_pieces
from tests.hostile.rpc import posted

JSON = {"Content-Type": "application/json"}
STORES = ("agent_memory_candidate", "memory_rule", "matter", "access_token", "chat_message", "walled_consultation")
"""Where a call writes what somebody sent."""

CALLS: dict[str, tuple[str, str, bytes]] = {
    "save": ("POST", "/memories", b'{"content": "@@@", "type": "fact", "scope": "user_private"}'),
    "save for a matter": ("POST", "/memories", b'{"content": "a", "type": "fact", "scope": "matter", "matter": "@@@"}'),
    "save of a type": ("POST", "/memories", b'{"content": "a", "type": "@@@", "scope": "user_private"}'),
    "save with a handle": (
        "POST",
        "/memories",
        b'{"content": "a", "type": "fact", "scope": "user_private", "session": "@@@"}',
    ),
    "edit": ("PATCH", "/memories/{memory}", b'{"content": "@@@"}'),
    "recall": ("POST", "/recall", b'{"query": "a", "matter": "@@@"}'),
    "recall so many": ("POST", "/recall", b'{"query": "a", "limit": "@@@"}'),
    "rule": ("POST", "/rules", b'{"action": "never_remember", "phrase": "@@@"}'),
    "matter's number": ("POST", "/matters", b'{"number": "@@@", "name": "a"}'),
    "matter's name": ("POST", "/matters", b'{"number": "a", "name": "@@@"}'),
    "token": ("POST", "/tokens", b'{"name": "@@@"}'),
    "thread": ("POST", "/threads", b'{"matter": "@@@"}'),
    "message": ("POST", "/threads/{thread}/messages", b'{"text": "@@@"}'),
    "consultation": ("POST", "/wall/consultations", b'{"source": "@@@"}'),
}
TOOLS: dict[str, bytes] = {
    "memory_save": b'{"content": "@@@", "type": "fact"}',
    "memory_recall": b'{"query": "a", "matter": "@@@"}',
    "memory_update": b'{"content": "@@@", "memory_id": "{memory}"}',
    "memory_forget": b'{"memory_id": "@@@"}',
    "briefing": b'{"matter": "@@@"}',
}
FORMS: dict[str, str] = {
    "/settings/memory": "type=fact&where=user_private&content=",
    "/settings/memory/{memory}/edit": "type=fact&content=",
    "/settings/memory/rules": "type=&scope=&phrase=",
    "/settings/connections": "name=",
    "/chat": "text=",
    "/chat/{thread}/messages": "text=",
    "/chat/{thread}/rename": "title=",
}
UNUSABLE_IN_FORMS = {
    "NUL": "a%00b",
    "half a surrogate pair": "a%ED%A0%80",
    "nothing": "",
    "white space": "%0A%09%E2%80%8B",
}


@pytest.fixture
async def ana(client_for: ClientFor, firm: FirmOfTest) -> httpx2.AsyncClient:
    return await client_for(firm.a)


class Ground:
    """A lawyer's memory and thread, and how much is stored of everything."""

    def __init__(self, database: TestDatabase, firm: FirmOfTest, memory: str, thread: str) -> None:
        self._database, self._firm = database, firm
        self.ids = {"{memory}": memory, "{thread}": thread}

    def placed(self, text: str) -> str:
        for name, value in self.ids.items():
            text = text.replace(name, value)
        return text

    def stored(self) -> list[int]:
        with psycopg.connect(self._database.superuser_url) as connection:
            counts = sql.SQL(" union all ").join(
                sql.SQL("select count(*) from {} where organization_id = %(firm)s").format(sql.Identifier(table))
                for table in STORES
            )
            return [row[0] for row in connection.execute(counts, {"firm": self._firm.ana.organization_id})]


@pytest.fixture
async def ground(north: Backend, database: TestDatabase, firm: FirmOfTest, ana: httpx2.AsyncClient) -> Ground:
    (outcome,) = await save(north, firm.a, [Draft("What stands already.", MemoryType.FACT)])
    assert isinstance(outcome, Saved)
    thread = await create_thread(north, firm.a, None)
    return Ground(database, firm, str(outcome.memory.id), str(thread.id))


def assert_refused(reply: httpx2.Response) -> None:
    assert 400 <= reply.status_code < 500, (reply.status_code, reply.text[:300])
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json()["code"] and len(reply.json()["detail"]) > 10


@pytest.mark.parametrize("call", CALLS)
async def test_no_call_takes_what_is_no_text_or_no_json(ana: httpx2.AsyncClient, ground: Ground, call: str) -> None:
    method, path, template = CALLS[call]
    before = ground.stored()
    bodies = [template.replace(HOLE, payload) for payload in IN_A_STRING.values()]
    bodies += [template.replace(b'"' + HOLE + b'"', payload) for payload in FOR_A_VALUE.values()]
    for body in bodies:
        assert_refused(await ana.request(method, f"/api/v1{ground.placed(path)}", content=body, headers=JSON))
    assert ground.stored() == before


@pytest.mark.parametrize("body", WHOLE_BODIES.values(), ids=WHOLE_BODIES)
async def test_no_body_is_taken_that_reads_in_two_ways_or_has_no_end(
    ana: httpx2.AsyncClient, ground: Ground, body: bytes
) -> None:
    before = ground.stored()
    assert_refused(await ana.post("/api/v1/memories", content=body, headers=JSON))
    assert_refused(await ana.post("/api/v1/memories", content=in_pieces(body), headers=JSON))
    assert ground.stored() == before


@pytest.mark.parametrize("tool", TOOLS)
async def test_no_tool_takes_what_is_no_text_or_no_json(ana: httpx2.AsyncClient, ground: Ground, tool: str) -> None:
    before = ground.stored()
    template = ground.placed(TOOLS[tool].decode()).encode()
    arguments = [template.replace(HOLE, payload) for payload in IN_A_STRING.values()]
    arguments += [template.replace(b'"' + HOLE + b'"', payload) for payload in FOR_A_VALUE.values()]
    for each in arguments:
        assert_mcp_refused(await posted(ana, _calling(tool, each)))
    assert ground.stored() == before


@pytest.mark.parametrize("body", WHOLE_BODIES.values(), ids=WHOLE_BODIES)
async def test_no_tool_takes_arguments_that_read_in_two_ways_or_have_no_end(
    ana: httpx2.AsyncClient, ground: Ground, body: bytes
) -> None:
    before = ground.stored()
    assert_mcp_refused(await posted(ana, _calling("memory_save", body.replace(b', "scope": "user_private"', b""))))
    assert ground.stored() == before


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"5",
        b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": ' + b"9" * 9000 + b', "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": {"x": NaN}}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": {"x": 1, "x": 2}}}',
        b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
        b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call\\u0000"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "\\ud800"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": [1]}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "\\ud800", "arguments": {}}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "north__briefing", "arguments": []}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "north://briefing/%00"}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "north://briefing/\\ud800"}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {"name": "briefing", "arguments": '
        b'{"matter": "\\u0000"}}}',
    ],
    ids=lambda body: body.decode()[:80].strip(),
)
async def test_no_message_that_is_none_is_a_fault(ana: httpx2.AsyncClient, body: bytes) -> None:
    assert_mcp_refused(await posted(ana, body))


def _calling(tool: str, arguments: bytes) -> bytes:
    head = f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {{"name": "north__{tool}", "arguments": '
    return head.encode() + arguments + b"}}"


def assert_mcp_refused(reply: httpx2.Response) -> None:
    """Fail unless the reply is a 4xx, an error of JSON-RPC, or a tool's own refusal, and no fault of North's."""
    if 400 <= reply.status_code < 500 or (reply.status_code == 202 and reply.text == ""):  # a message without an id
        return
    assert reply.status_code == 200, (reply.status_code, reply.text[:300])
    answer = reply.json()
    if "error" in answer:
        assert len(answer["error"]["message"]) > 10, answer
    else:
        assert answer["result"].get("isError"), answer
    assert "went wrong in North" not in reply.text


@pytest.fixture
async def browser(address: str, north: Backend, firm: FirmOfTest) -> AsyncIterator[httpx2.AsyncClient]:
    """Ana's browser, logged in."""
    _, secret = await log_in(north, firm.ana.email, PASSWORD)
    async with httpx2.AsyncClient(base_url=address, cookies={SESSION_COOKIE: secret}) as client:
        yield client


FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize("path", FORMS)
async def test_no_form_takes_what_is_no_text(browser: httpx2.AsyncClient, ground: Ground, path: str) -> None:
    before = ground.stored()
    for name, payload in UNUSABLE_IN_FORMS.items():
        if path == "/settings/memory/rules" and name in ("nothing", "white space"):
            continue  # a rule without a phrase is a rule
        reply = await browser.post(ground.placed(path), content=f"{FORMS[path]}{payload}", headers=FORM)
        assert 300 <= reply.status_code < 500, (name, reply.status_code)
        assert ground.stored() == before, name


@pytest.mark.parametrize("path", ["/login", "/logout", *FORMS])
async def test_no_form_of_ten_megabytes_is_read(browser: httpx2.AsyncClient, ground: Ground, path: str) -> None:
    before = ground.stored()
    body = b"text=" + b"a" * 10 * MEGABYTE
    for content in (body, in_pieces(body)):
        reply = await browser.post(ground.placed(path), content=content, headers=FORM)
        assert reply.status_code == 413
    assert ground.stored() == before


async def test_no_form_of_many_parts_fills_the_disk(browser: httpx2.AsyncClient, ground: Ground) -> None:
    before = ground.stored()
    for size, status in ((2 * MEGABYTE, 413), (10, 415)):
        files = {"content": ("a.txt", b"a" * size)}
        reply = await browser.post("/settings/memory", data={"type": "fact", "where": "user_private"}, files=files)
        assert reply.status_code == status
    assert ground.stored() == before


# --- headers ------------------------------------------------------------------------------------------------


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
