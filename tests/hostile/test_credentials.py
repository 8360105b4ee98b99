"""Credentials that are not whole, not of this kind, or not of this place, on every surface that takes any."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from fastapi import APIRouter

from north import web
from north.access.firms import PASSWORDS
from north.access.login import log_in
from north.access.tokens import create_token
from north.db.statements import statement
from north.errors import LoginFailed
from north.memory.backend import Backend
from north.memory.wall import mint_session
from north.model import new_id
from north.web.sessions import SESSION_COOKIE
from tests.conftest import PASSWORD, FirmOfTest
from tests.hostile.conftest import ACCEPT
from tests.hostile.rpc import HEADERS

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
EVIL = "evil.test"


@pytest.fixture
async def http(address: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A client that has nothing."""
    async with httpx2.AsyncClient(base_url=address, headers=ACCEPT) as client:
        yield client


@pytest.fixture
async def token(north: Backend, firm: FirmOfTest) -> str:
    return (await create_token(north, firm.a, "test"))[1]


def wearing(session: str) -> dict[str, str]:
    """The header by which a browser shows its session."""
    return {"Cookie": f"{SESSION_COOKIE}={session}", "Accept": "text/html"}


async def opens(http: httpx2.AsyncClient, credential: bytes) -> set[str]:
    """The surfaces that an Authorization header opens."""
    header = {b"Authorization": credential.strip()}
    of_mcp = {name.encode(): value.encode() for name, value in HEADERS.items()}
    rest = await http.get("/api/v1/matters", headers=header)
    mcp = await http.post("/mcp", json=PING, headers=of_mcp | header)
    for reply in (rest, mcp):
        assert reply.status_code < 500, reply.text
    return {name for name, reply in (("rest", rest), ("mcp", mcp)) if reply.status_code == 200}


async def test_a_token_opens_rest_and_mcp_only_whole(http: httpx2.AsyncClient, token: str) -> None:
    assert await opens(http, f"Bearer {token}".encode()) == {"rest", "mcp"}
    parts = [token[:length] for length in (0, 1, 5, 6, len(token) // 2, len(token) - 1)]
    parts += [token[1:], token.removeprefix("north_"), token[:-1] + ("A" if token[-1] != "A" else "B")]
    parts += [token.upper(), token.swapcase(), token + "A", token + "=", f"{token},{token}", f"{token} {token}"]
    parts += [f'"{token}"', f"{token}%00", token.replace("_", "-", 1), f"north_{'A' * 5000}"]
    for part in parts:
        assert await opens(http, f"Bearer {part}".encode()) == set(), part
    for scheme in ("", "Basic ", "Token ", "bearer:", "Bearer\t\tx ", "Bearer Bearer "):
        assert await opens(http, f"{scheme}{token}".encode().strip()) == set(), scheme


async def test_bytes_that_are_no_text_open_nothing(http: httpx2.AsyncClient) -> None:
    for credential in (b"Bearer \xff\xfe", b"Bearer " + "токен".encode(), b"Bearer \xed\xa0\x80", b"Bearer \xc0\xaf"):
        assert await opens(http, credential) == set()


async def test_a_credential_is_of_one_kind(
    http: httpx2.AsyncClient, north: Backend, firm: FirmOfTest, token: str
) -> None:
    _, session = await log_in(north, firm.ana.email, PASSWORD)
    handle = mint_session(north, firm.a)
    for other in (session, handle, firm.ana.email, PASSWORD, str(firm.ana.id), str(firm.ana.organization_id)):
        assert await opens(http, f"Bearer {other}".encode()) == set()
    for other in (token, handle, "", session[:-1], session.upper(), f"{session}A"):
        reply = await http.get("/settings/memory", headers=wearing(other))
        assert reply.status_code == 303 and reply.headers["location"].startswith("/login")
    assert (await http.get("/api/v1/matters", headers=wearing(session))).status_code == 401
    assert (await http.post("/mcp", json=PING, headers=HEADERS | wearing(session))).status_code == 401
    named = await http.get("/api/v1/matters", params={"access_token": token, "token": token})
    assert named.status_code == 401, "a token in an address ends up in logs, and opens nothing"


async def test_a_session_that_somebody_else_prepared_is_never_the_lawyers(
    http: httpx2.AsyncClient, north: Backend, firm: FirmOfTest
) -> None:
    _, attackers = await log_in(north, firm.ben.email, PASSWORD)
    for prepared in ("north_session_prepared", attackers):
        form = {"email": firm.ana.email, "password": PASSWORD}
        reply = await http.post("/login", data=form, headers=wearing(prepared))
        given = reply.cookies[SESSION_COOKIE]
        assert reply.status_code == 303 and given not in (prepared, attackers)
        http.cookies.clear()
        stale = await http.get("/chat", headers=wearing(prepared))
        assert stale.status_code == 303, "what stood in the browser before is nobody's now"
        http.cookies.clear()


def forms() -> list[str]:
    """The address of every form that there is."""
    routers = [module.router for module in vars(web).values() if isinstance(getattr(module, "router", None), APIRouter)]
    posts = {getattr(route, "path", "") for router in routers for route in router.routes if _takes_posts(route)}
    return sorted(re.sub(r"\{\w+:uuid\}", str(new_id()), path) for path in posts)


def _takes_posts(route: Any) -> bool:
    return "POST" in (getattr(route, "methods", None) or ())


async def test_no_form_is_sent_by_another_site(
    http: httpx2.AsyncClient, north: Backend, firm: FirmOfTest, address: str
) -> None:
    _, session = await log_in(north, firm.ana.email, PASSWORD)
    assert len(forms()) > 15
    for path in forms():
        for headers in (
            {"Origin": f"https://{EVIL}"},
            {"Origin": "null"},
            {"Origin": f"{address}.{EVIL}"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site", "Origin": address},
            {"Sec-Fetch-Site": "cross-site", "Origin": address},
        ):
            reply = await http.post(path, data={"text": "a"}, headers=headers | wearing(session))
            assert reply.status_code == 403, (path, headers)
    assert (await http.get("/settings/memory", headers=wearing(session))).status_code == 200


async def test_the_name_by_which_somebody_asks_is_repeated_nowhere(http: httpx2.AsyncClient) -> None:
    for path in (
        *("/login", "/chat", "/settings/memory", "/nothing", "/api/v1/matters", "/api/openapi.json", "/mcp"),
        *("/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server", "/authorize"),
    ):
        for name in ("Host", "X-Forwarded-Host", "Forwarded", "X-Original-URL"):
            reply = await http.get(path, headers={name: EVIL})
            assert EVIL not in f"{reply.headers} {reply.text}", (path, name)


async def test_the_same_work_is_done_for_a_name_that_there_is_not(
    north: Backend, firm: FirmOfTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    verify = PASSWORDS.verify

    def said(name: str) -> Any:
        done.append(name)
        return statement(name)

    def verified(password: Any, stored: Any) -> bool:
        done.append(f"a hash of {str(stored).partition('$')[2].rpartition('$')[0].rpartition('$')[0]}")
        return verify(password, stored)

    monkeypatch.setattr("north.db.connect.statement", said)
    monkeypatch.setattr(PASSWORDS, "verify", verified)
    works = []
    for email in (firm.ana.email, f"nobody-{new_id()}@nowhere.test", "", "\0"):
        done.clear()
        with pytest.raises(LoginFailed):
            await log_in(north, email, "not the password", "192.0.2.7")
        works.append(tuple(done))
    assert len(works[0]) > 6 and set(works) == {works[0]}
