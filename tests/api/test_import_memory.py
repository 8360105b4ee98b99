"""What a large upload costs the server that takes it: no memory to speak of, and no disk."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # it ships no types

from north.access.tokens import create_token
from north.memory.backend import Backend
from tests.api.conftest import Client
from tests.commands import free_port, running_north
from tests.conftest import SECRET_KEY, FirmOfTest, TestDatabase

MEGABYTE = 1_000_000
FILE = 100 * MEGABYTE
MOST_MORE = 40 * MEGABYTE
"""What the server may grow by meanwhile, in bytes: a few pieces of a megabyte on their way, and what Python keeps."""

HEAD = b'--x\r\nContent-Disposition: form-data; name="file"; filename="large.zip"\r\n\r\n'
TAIL = b"\r\n--x--\r\n"


async def form() -> AsyncIterator[bytes]:
    block = os.urandom(MEGABYTE)
    yield HEAD
    for _ in range(FILE // MEGABYTE):
        yield block
    yield TAIL


async def highest(process: psutil.Process, until: asyncio.Event) -> int:
    """The most memory that a process had, in bytes, looked at again and again."""
    most = 0
    while not until.is_set():
        most = max(most, process.memory_info().rss)
        await asyncio.sleep(0.02)
    return most


async def test_a_large_form_passes_through(
    backend: Backend, database: TestDatabase, firm: FirmOfTest, tmp_path: Path
) -> None:
    _, secret = await create_token(backend, firm.a, "test")
    port = free_port()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    settings = {
        "NORTH_DATABASE_URL": database.application_url,
        "NORTH_SECRET_KEY": SECRET_KEY,
        "NORTH_PORT": str(port),
        "NORTH_MODEL": "offline",
        "NORTH_EMBEDDER": "none",
        "TMPDIR": str(scratch),
    }
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "multipart/form-data; boundary=x"}
    with running_north("serve", cwd=tmp_path, **settings) as server:
        await asyncio.to_thread(server.wait_for, "is serving")
        process = psutil.Process(server.process.pid)
        async with Client(base_url=f"http://127.0.0.1:{port}/api/v1", headers=headers, timeout=60) as ana:
            await ana.get("/imports")
            before, ended = process.memory_info().rss, asyncio.Event()
            watching = asyncio.create_task(highest(process, ended))
            reply = await ana.post("/imports", content=form())
            ended.set()
            assert reply.status_code == 202, reply.text
            assert await watching - before < MOST_MORE
            assert [path.name for path in scratch.rglob("*") if path.stat().st_size > MEGABYTE] == []
            await ana.post(f"/imports/{reply.json()['id']}/cancel")
