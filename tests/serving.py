"""North's applications behind the server that North runs, beside the tests."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from fastapi import FastAPI

from north.commands.serving import server_config
from north.settings import Settings

DRAIN_SECONDS = 2


class ServerOfTest(uvicorn.Server):
    """A server that says when it has started, and leaves this process's signals alone."""

    def __init__(self, app: FastAPI, *, lifespan: bool = True) -> None:
        config = server_config(app, Settings())
        config.timeout_graceful_shutdown = DRAIN_SECONDS
        config.lifespan = "on" if lifespan else "off"
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


@asynccontextmanager
async def serving(app: FastAPI, port: int = 0, *, lifespan: bool = True) -> AsyncIterator[str]:
    """The address at which an application is served for the block, on a free port unless one is given."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        async with serving_on(listener, app, lifespan=lifespan) as address:
            yield address


@asynccontextmanager
async def serving_on(listener: socket.socket, app: FastAPI, *, lifespan: bool = True) -> AsyncIterator[str]:
    """The same where somebody listens already."""
    server = ServerOfTest(app, lifespan=lifespan)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    started = asyncio.create_task(server.up.wait())
    try:
        await asyncio.wait((running, started), return_when=asyncio.FIRST_COMPLETED)
        assert started.done(), running.result()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        started.cancel()
        server.should_exit = True
        await running
