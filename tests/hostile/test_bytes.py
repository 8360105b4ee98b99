"""What is no text and no JSON is refused by a 4xx with a code, on every surface, and nothing of it is stored."""

from __future__ import annotations

import httpx2
import pytest

from tests.hostile.ground import Ground, assert_refused
from tests.hostile.payloads import FOR_A_VALUE, HOLE, IN_A_STRING, MEGABYTE, WHOLE_BODIES, in_pieces
from tests.hostile.rpc import posted

JSON = {"Content-Type": "application/json"}

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
