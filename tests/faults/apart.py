"""Two servers and two workers whose clocks are an hour apart, on one database, at work for a while."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.commands import free_port
from tests.faults.harness import Postgres, stage_on
from tests.faults.kills import Scene, jobs_left, mine_all_along, wrongly_mined
from tests.faults.load import Load, compare
from tests.faults.provider import model_provider
from tests.faults.proxy import balancer


async def work_apart(postgres: Postgres, folder: Path, library: Path, seconds: float) -> tuple[list[str], int]:
    """Work for so many seconds; what is wrong then, and how many texts were acknowledged."""
    off = {"LD_PRELOAD": str(library), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    ports = [free_port(), free_port()]
    async with model_provider() as provider, balancer(ports) as spreading:
        address = f"http://127.0.0.1:{spreading.port}"
        settings = {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "sk-test", "NO_PROXY": "127.0.0.1"}
        settings |= {"NORTH_EMBEDDER": "openai:text-embedding-3-small", "NORTH_MINER_MODEL": "openai-chat:gpt-test"}
        async with stage_on(postgres, folder, settings | {"NORTH_PUBLIC_URL": address}) as stage:
            programs = [
                stage.server(ports[0], **off, FAKETIME="+1h")[0],
                stage.server(ports[1])[0],
                stage.worker("ahead", **off, FAKETIME="+1h"),
                stage.worker("behind", **off, FAKETIME="-1h"),
            ]
            await asyncio.gather(*(program.start() for program in programs))
            scene = Scene(stage, programs[0], programs[2], Load(address, stage.lawyers))
            try:
                scene.load.start(4, 0.05)
                mining = asyncio.create_task(mine_all_along(scene))
                await asyncio.sleep(seconds)
                await scene.load.end()
                mining.cancel()
                wrong = await jobs_left(scene) + compare(scene.load, postgres) + wrongly_mined(scene)
            finally:
                await asyncio.gather(*(program.stop() for program in programs))
            return wrong, len(scene.load.expected)
