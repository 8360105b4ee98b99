"""The whole story: what a host saves unprompted the next chat knows, and the other way round."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from north.access.tokens import delete_token, list_tokens
from north.memory.backend import Backend
from tests.commands import NORTH, environment
from tests.conftest import SECRET_KEY, FirmOfTest, TestDatabase
from tests.mcp.conftest import LEGACY, MODERN, Host, contents, done, refused, secret_of

BLUEBOOK = "Always cite cases in Bluebook form."
MEMOS = "I prefer short memos."
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


async def say(address: str, secret: str, text: str, matter: str | None = None) -> dict[str, Any]:
    """Open a thread in North's own chat, say something, and what comes back."""
    async with httpx2.AsyncClient(
        base_url=f"{address}/api/v1", headers={"Authorization": f"Bearer {secret}"}, timeout=30
    ) as rest:
        thread = (await rest.post("/threads", json={"matter": matter})).json()["id"]
        reply: dict[str, Any] = (await rest.post(f"/threads/{thread}/messages", json={"text": text})).json()
        return reply


async def tell_the_story(client: Client, address: str, secret: str) -> None:
    """A session of a host saves, the next chat recalls; a chat saves, the next session recalls, updates and forgets."""
    session = (await done(client, "briefing", matter="HV-1001"))["session"]
    await done(client, "memory_save", content=BLUEBOOK, type="instruction", session=session)

    answered = await say(address, secret, "How do I cite a case?", "HV-1001")
    assert BLUEBOOK in contents(answered["recalled"]) and "Bluebook" in answered["reply"]

    told = await say(address, secret, MEMOS)
    assert len(told["saved"]) == 1 and told["saved"][0]["origin"] == "chat"
    known = await done(client, "memory_recall", query="memos", session=session)
    assert told["saved"][0]["id"] in [each["id"] for each in known["personal"]]
    assert told["saved"][0]["content"] in (await done(client, "briefing"))["text"]

    changed = await done(
        client, "memory_update", about="cite cases in Bluebook form", content="Cite cases in OSCOLA form."
    )
    await done(client, "memory_forget", memory_id=told["saved"][0]["id"])
    left = await say(address, secret, "How do I cite a case?")
    assert contents(left["recalled"]) == [changed["memory"]["content"]] == ["Cite cases in OSCOLA form."]


@pytest.mark.parametrize("mode", [MODERN, LEGACY])
async def test_over_http(host: Host, address: str, backend: Backend, firm: FirmOfTest, mode: str) -> None:
    secret = await secret_of(backend, firm.a)
    await tell_the_story(await host(firm.a, mode, secret), address, secret)


@pytest.mark.parametrize("mode", [MODERN, LEGACY])
async def test_over_standard_input_and_output(
    address: str, backend: Backend, firm: FirmOfTest, database: TestDatabase, tmp_path: Path, mode: str
) -> None:
    secret = await secret_of(backend, firm.a)
    command = stdio(database, tmp_path, secret)
    async with Client(command, mode=mode) as client:
        await tell_the_story(client, address, secret)
        (token,) = await list_tokens(backend, firm.a)
        await delete_token(backend, firm.a, token.id)
        assert "token of this connection is not valid any more" in await refused(client, "briefing")


def stdio(database: TestDatabase, folder: Path, secret: str) -> StdioServerParameters:
    """How a host on this machine starts North."""
    settings = {
        "NORTH_DATABASE_URL": database.application_url,
        "NORTH_SECRET_KEY": SECRET_KEY,
        "NORTH_EMBEDDER": "none",
        "NORTH_TOKEN": secret,
    }
    return StdioServerParameters(command=NORTH, args=["mcp"], env=environment(settings), cwd=folder)


@pytest.mark.parametrize("secret", ["", "north_wrong"])
def test_the_command_without_a_valid_token_says_what_to_do_on_standard_error(
    database: TestDatabase, tmp_path: Path, secret: str
) -> None:
    command = stdio(database, tmp_path, secret)
    ended = subprocess.run(
        [command.command, *command.args], env=command.env, cwd=tmp_path, input="", capture_output=True, text=True
    )
    assert ended.returncode == 1 and ended.stdout == ""
    assert "NORTH_TOKEN" in ended.stderr and "north token create" in ended.stderr
    assert "Traceback" not in ended.stderr


async def test_the_command_writes_nothing_but_the_protocol_to_standard_output(
    database: TestDatabase, tmp_path: Path, backend: Backend, firm: FirmOfTest
) -> None:
    command = stdio(database, tmp_path, await secret_of(backend, firm.a))
    crashing = {"name": "north__memory_save", "arguments": {"content": BLUEBOOK, "type": "no such type"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": crashing},
        {"jsonrpc": "2.0", "id": 3, "method": "no/such/method"},
    ]
    process = await asyncio.create_subprocess_exec(
        command.command,
        *command.args,
        env=command.env,
        cwd=tmp_path,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("".join(json.dumps(line) + "\n" for line in lines).encode())
    answers = [json.loads(await process.stdout.readline()) for _ in range(3)]
    process.stdin.close()
    rest, complaints = await process.communicate()
    assert sorted(answer["id"] for answer in answers) == [1, 2, 3] and rest == b""
    assert process.returncode == 0
    assert b"Bluebook" not in complaints
