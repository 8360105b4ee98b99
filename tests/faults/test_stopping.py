"""A server that is told to end drops nothing: neither requests, nor streams, nor calls of hosts."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import httpx2
import pytest

from tests.faults.harness import Postgres, postgres_in, stage_on
from tests.faults.rolling import ENDING_SECONDS, restart_in_turn


async def test_a_server_behind_a_balancer_ends_under_load_and_nobody_notices(tmp_path: Path) -> None:
    with postgres_in(tmp_path / "data") as postgres:
        noticed = await restart_in_turn(postgres, tmp_path, restarts=1, clients=3)
        assert noticed.wrong == []
        assert noticed.answers > 20 and noticed.streams > 2 and noticed.calls > 5
        assert max(noticed.seconds) < ENDING_SECONDS
        await ends_at_once_where_nobody_watches(postgres, tmp_path)


async def ends_at_once_where_nobody_watches(postgres: Postgres, folder: Path) -> None:
    """Without a balancer that asks, nobody is to be told, and a server ends when its last answer is given."""
    async with stage_on(postgres, folder, {}) as stage:
        server, port = stage.server()
        await server.start()
        server.signal(signal.SIGTERM)
        async with asyncio.timeout(5):
            assert await server.ended() == 0
        async with httpx2.AsyncClient() as client:
            with pytest.raises(httpx2.ConnectError):
                await client.get(f"http://127.0.0.1:{port}/healthz")
