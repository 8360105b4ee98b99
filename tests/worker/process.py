"""A worker in a process of its own, which a test can kill: `python -m tests.worker.process`.

It is given the database, and the miner's model where that is not the one of the environment's provider.
"""

from __future__ import annotations

import asyncio
import sys

from north.assembly import Place, make_backend, opened
from north.chat.mining import configured_miner
from north.settings import Settings
from north.worker.run import Pace, run_worker
from tests.conftest import SECRET_KEY

QUICK = Pace(polling=0.05, heartbeat=0.2, stalled=1.0, grace=0.2, restart=0.1)


async def work(url: str, model: str = "openai-chat:gpt-test") -> None:
    settings = Settings(model=model, embedder="none")
    async with opened(make_backend(settings, Place(url, SECRET_KEY))) as backend:
        await run_worker(backend, configured_miner(backend, settings), signals=True, pace=QUICK)


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:]))
