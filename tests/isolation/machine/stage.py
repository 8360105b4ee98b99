"""The application on its database, opened once, with NetDocuments beside it, in an event loop of its own."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from unittest.mock import patch
from urllib.parse import parse_qsl

import numpy as np
import psycopg
from fastapi import FastAPI
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher
from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from uvicorn.loops.auto import auto_loop_factory

from north.app import make_app
from north.chat.mining import Miner, configured_miner
from north.connectors.embeddings import Vector
from north.connectors.netdocuments_oauth import Tokens
from north.memory.backend import Backend
from north.settings import Settings
from north.worker.tasks import register
from tests.conftest import PASSWORD, TestDatabase
from tests.isolation.machine.driver import Driver, Tally
from tests.isolation.machine.world import World
from tests.netdocuments import CLIENT_ID, CLIENT_SECRET, LEASE, NetDocumentsServer, netdocuments_server

Result = TypeVar("Result")
DIMENSIONS = 64


class QuickEmbedder:
    """Vectors of the words' hashes: the paths of vectors are walked, and the time goes to what is being proved."""

    name, local, available = "quick", True, True

    async def warm(self) -> None:
        """Nothing is to be loaded."""

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        """One vector a text."""
        return [_vector(text) for text in texts]

    async def aclose(self) -> None:
        """Nothing is held."""


def _vector(text: str) -> Vector:
    made = np.zeros(DIMENSIONS, np.float32)
    for word in text.split():
        made[hashlib.md5(word.encode(), usedforsecurity=False).digest()[0] % DIMENSIONS] += 1
    return made / max(float(np.linalg.norm(made)), 1e-6)


def quick_hash() -> str:
    """A hash of the password that is quick to verify: how slow a real one is, is not what is proved here."""
    return PasswordHash((Argon2Hasher(time_cost=1, memory_cost=64, parallelism=1),)).hash(PASSWORD)


class Stage:
    """What every run of the machine uses; `seed` decides in which order calls are patrolled."""

    def __init__(self, database: TestDatabase, seed: int = 0) -> None:
        self.database, self.seed, self.tally = database, seed, Tally()
        self.position = 0
        """How many stops the patrol has made."""
        self.found: Exception | None = None
        self.password_hash = quick_hash()
        self.client_id: str | None = None
        self._runner = asyncio.Runner(loop_factory=auto_loop_factory())  # as North is served
        self.app: FastAPI
        self.backend: Backend
        self.miner: Miner
        self.superuser: psycopg.AsyncConnection[Any]
        self._leave: asyncio.Event
        self._living: asyncio.Task[None]

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self._runner.run(work)

    def __enter__(self) -> Stage:
        self.run(self._begin())
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._end())
        self._runner.close()

    async def _begin(self) -> None:
        # What opens the application has to close it too, as the libraries in it demand: one task does both.
        self._leave, ready = asyncio.Event(), asyncio.Event()
        self._living = asyncio.create_task(self._live(ready))
        waiting = asyncio.create_task(ready.wait())
        await asyncio.wait([self._living, waiting], return_when=asyncio.FIRST_COMPLETED)
        if self._living.done():
            waiting.cancel()
            self._living.result()

    async def _end(self) -> None:
        self._leave.set()
        await self._living

    async def _live(self, ready: asyncio.Event) -> None:
        async with _documents() as documents:
            settings = Settings(
                model="offline",
                netdocuments_client_id=CLIENT_ID,
                netdocuments_client_secret=SecretStr(CLIENT_SECRET),
                netdocuments_region=documents.url,
            )
            with patch("north.assembly.make_embedder", lambda name: QuickEmbedder()):
                self.app = make_app(settings, self.database.place)
            self.backend = self.app.state.backend
            self.miner = configured_miner(self.backend, settings)
            register(self.backend, self.miner)
            connect = psycopg.AsyncConnection.connect(self.database.superuser_url, autocommit=True)
            async with (
                self.app.router.lifespan_context(self.app),
                self.backend.jobs.app.open_async(),
                await connect as self.superuser,
            ):
                ready.set()
                await self._leave.wait()

    def new_world(self) -> tuple[World, Driver]:
        """A world without firms, and who acts in it."""
        world = World(self.superuser)
        return world, Driver(self.app, self.backend.settings.address, world, self.tally)


@asynccontextmanager
async def _documents() -> AsyncIterator[NetDocumentsServer]:
    """A NetDocuments whose tokens and documents say who authorized the reading."""
    async with netdocuments_server() as server:
        numbers = itertools.count(1)

        async def token(request: Request) -> Response:
            form = dict(parse_qsl((await request.body()).decode()))
            mark = _mark(form.get("code") or form["refresh_token"])
            tokens = Tokens(f"access-{next(numbers)}/{mark}", f"refresh-{next(numbers)}/{mark}")
            server.access.add(tokens.access)
            granted = {"access_token": tokens.access, "refresh_token": tokens.refresh}
            return JSONResponse({**granted, "token_type": "bearer", "expires_in": "3600"})

        async def document(request: Request) -> Response:
            return Response(_mark(request.headers["authorization"]), media_type="application/octet-stream")

        async def account(request: Request) -> Response:
            who = _mark(request.headers["authorization"])
            return JSONResponse({"id": "DUCOT-x", "displayName": who, "email": "x@firm.test"})

        server.answers |= {
            "/v1/OAuth": token,
            f"/v1/Document/{LEASE}": document,
            "/v1/User/info": account,
        }
        yield server


def _mark(secret: str) -> str:
    """The canary of the lawyer who authorized this; it ends the code and every token."""
    return secret.rpartition("/")[2]
