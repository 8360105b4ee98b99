"""The pages over HTTP, in this process: a client is a browser without JavaScript, logged in or not."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2
import pytest
from fastapi import FastAPI
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher
from pydantic_ai.models import Model

from north.access.login import log_in
from north.chat.assistant import make_assistant
from north.chat.models import make_model
from north.memory.backend import Backend
from north.memory.listing import MemoryFilter, list_memories
from north.memory.save import save
from north.model import Caller, Draft, Memory, MemoryType, Saved, Scope, User
from north.web.sessions import SESSION_COOKIE
from north.web.site import add_web
from tests.conftest import PASSWORD, FirmOfTest

HTMX = {"HX-Request": "true"}
STREAM = {"Accept": "text/event-stream"}


def web_app(backend: Backend, model: Model) -> FastAPI:
    """The web surface alone, with this model behind the chat."""
    app = FastAPI(openapi_url=None)
    app.state.backend = backend
    app.state.assistant = make_assistant(backend, model)
    add_web(app)
    return app


@asynccontextmanager
async def client_of(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    backend: Backend = app.state.backend
    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url=backend.settings.address) as client:
        yield client


async def enter(client: httpx2.AsyncClient, backend: Backend, user: User) -> None:
    """Give a client a session of this lawyer."""
    _, secret = await log_in(backend, user.email, PASSWORD)
    client.cookies.set(SESSION_COOKIE, secret)


@dataclass(frozen=True)
class Page:
    """A reply, as a reader sees it."""

    status: int
    body: str

    @property
    def text(self) -> str:
        """The words on the page, without the tags."""
        return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", self.body)).split())


def page_of(response: httpx2.Response) -> Page:
    return Page(response.status_code, response.text)


@pytest.fixture(scope="session")
def password_hash() -> str:
    """A hash that is quick to verify. How slow a real one is, is not what tests of pages are about."""
    return PasswordHash((Argon2Hasher(time_cost=1, memory_cost=64, parallelism=1),)).hash(PASSWORD)


@pytest.fixture(scope="session")
def app(backend: Backend) -> FastAPI:
    return web_app(backend, make_model("offline", backend.settings))


@pytest.fixture
async def stranger(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    """A browser that nobody has logged in with."""
    async with client_of(app) as client:
        yield client


@pytest.fixture
async def ana(app: FastAPI, backend: Backend, firm: FirmOfTest) -> AsyncIterator[httpx2.AsyncClient]:
    """Ana's browser, logged in."""
    async with client_of(app) as client:
        await enter(client, backend, firm.ana)
        yield client


@pytest.fixture
async def ben(app: FastAPI, backend: Backend, firm: FirmOfTest) -> AsyncIterator[httpx2.AsyncClient]:
    """The browser of Ana's colleague."""
    async with client_of(app) as client:
        await enter(client, backend, firm.ben)
        yield client


@pytest.fixture
async def rhea(app: FastAPI, backend: Backend, rival: FirmOfTest) -> AsyncIterator[httpx2.AsyncClient]:
    """The browser of a lawyer of another firm."""
    async with client_of(app) as client:
        await enter(client, backend, rival.ana)
        yield client


async def remember(
    backend: Backend,
    caller: Caller,
    content: str,
    *,
    scope: Scope = Scope.USER_PRIVATE,
    matter: str | None = None,
    type: MemoryType = MemoryType.FACT,
) -> Memory:
    """Save one memory through the door."""
    [outcome] = await save(backend, caller, [Draft(content, type, scope, matter)])
    assert isinstance(outcome, Saved)
    return outcome.memory


async def remember_all(backend: Backend, caller: Caller, contents: list[str]) -> None:
    """Save many facts at once."""
    await save(backend, caller, [Draft(content, MemoryType.FACT) for content in contents])


def text_sources(body: str) -> list[str]:
    """The texts of the rows as they stand in the page's source."""
    return re.findall(r'<a class="memory-text"[^>]*><span class="unseen">Edit: </span>(.*?)</a>', body, re.DOTALL)


def texts_on(body: str) -> list[str]:
    """The texts of the rows on a page, from the top."""
    return [html.unescape(text) for text in text_sources(body)]


async def live(backend: Backend, caller: Caller) -> list[str]:
    return [memory.content for memory in (await list_memories(backend, caller, MemoryFilter())).memories]
