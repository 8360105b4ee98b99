"""A NetDocuments of the tests' own: a real HTTP server that speaks the shapes of its REST API, and its OAuth dance."""

from __future__ import annotations

import asyncio
import base64
import itertools
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, urlencode

import uvicorn
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from north.connectors.netdocuments_oauth import Tokens
from north.documents.connection import store
from north.memory.backend import Backend
from north.model import Caller

CLIENT_ID = "AP-NORTHTEST"
CLIENT_SECRET = "the-secret-of-the-registration"
CABINET = "NG-CAB1"
LEASE = "4822-8047-6450"
LEASE_TEXT = "The term of the lease is five years.\nThe rent is 4,000 a month."

Handler = Callable[[Request], Awaitable[Response]]


@dataclass
class NetDocumentsServer:
    """What the server knows, and what it was asked. A test puts an answer of its own in `answers`."""

    url: str = ""
    rotating: bool = True
    answers: dict[str, Response | Handler] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    queries: list[dict[str, str]] = field(default_factory=list)
    grants: list[dict[str, str]] = field(default_factory=list)
    codes: set[str] = field(default_factory=set)
    access: set[str] = field(default_factory=set)
    refresh: set[str] = field(default_factory=set)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    def issue(self) -> Tokens:
        """Tokens that the server takes."""
        number = next(self._numbers)
        tokens = Tokens(f"access-secret-{number}", f"refresh-secret-{number}")
        self.access.add(tokens.access)
        self.refresh.add(tokens.refresh)
        return tokens

    def expire(self) -> None:
        """No access token is taken any more; refresh tokens are."""
        self.access.clear()

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/neWeb2/OAuth.aspx", self.authorize),
                Route("/v1/OAuth", self.token, methods=["POST"]),
                Route("/{path:path}", self.read),
            ]
        )

    async def authorize(self, request: Request) -> Response:
        """As if the lawyer logged in and agreed at once."""
        code = f"code-{next(self._numbers)}"
        self.codes.add(code)
        asked = request.query_params
        back = urlencode({"code": code, "state": asked["state"]})
        return RedirectResponse(f"{asked['redirect_uri']}?{back}", 302)

    async def token(self, request: Request) -> Response:
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        self.grants.append(form)
        if (answer := self.answers.get("/v1/OAuth")) is not None:
            return await answer(request) if callable(answer) and not isinstance(answer, Response) else answer
        expected = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if request.headers.get("Authorization") != f"Basic {expected}":
            return JSONResponse({"error": "invalid_client"}, 401)
        if form["grant_type"] == "authorization_code" and form["code"] in self.codes:
            self.codes.remove(form["code"])
            tokens = self.issue()
            return JSONResponse(_as_answer(tokens.access, tokens.refresh))
        if form["grant_type"] == "refresh_token" and form["refresh_token"] in self.refresh:
            tokens = self.issue()
            if self.rotating:
                self.refresh.remove(form["refresh_token"])
                return JSONResponse(_as_answer(tokens.access, tokens.refresh))
            return JSONResponse(_as_answer(tokens.access, None))
        return JSONResponse({"error": "invalid_grant"}, 400)

    async def read(self, request: Request) -> Response:
        path = request.url.path
        self.asked.append(path)
        self.queries.append(dict(request.query_params))
        if request.headers.get("Authorization", "").removeprefix("Bearer ") not in self.access:
            return Response(status_code=401)
        answer = self.answers.get(path, STANDING.get(path, Response(status_code=404)))
        if isinstance(answer, Response):
            return answer
        return await answer(request)


def _as_answer(access: str, refresh: str | None) -> dict[str, Any]:
    answer = {"access_token": access, "token_type": "bearer", "expires_in": "3600"}
    return answer if refresh is None else {**answer, "refresh_token": refresh}


STANDING: dict[str, Response] = {
    "/v1/User/info": JSONResponse({"id": "DUCOT-ana", "displayName": "Ana Ruiz", "email": "ana@firm.test"}),
    "/v1/User/cabinets": JSONResponse(
        [
            {"id": CABINET, "name": "Client Documents", "repositoryId": "CA-REPO"},
            {"id": "NG-CAB2", "name": "Know-how", "repositoryId": "CA-REPO"},
        ]
    ),
    f"/v1/Search/{CABINET}": JSONResponse(
        {
            "standardList": [
                {
                    "id": LEASE,
                    "envId": ":Q24:o:9:m:6:^D210101000000000.nev",
                    "name": "Lease Harbor Street",
                    "extension": "txt",
                    "lastMod": "/Date(1719792000000)/",
                    "lastModBy": "Ben Okafor",
                }
            ]
        }
    ),
    "/v2/search": JSONResponse(
        {
            "standardList": [
                {
                    "standardAttributes": {"docId": LEASE, "description": "Lease Harbor Street", "Ext": "txt"},
                    "versionsLite": {"officialVersionId": "2"},
                }
            ]
        }
    ),
    f"/v1/Document/{LEASE}/info": JSONResponse(
        {"standardAttributes": {"id": LEASE, "name": "Lease Harbor Street", "extension": "txt"}}
    ),
    f"/v1/Document/{LEASE}": Response(LEASE_TEXT, media_type="application/octet-stream"),
}


@asynccontextmanager
async def netdocuments_server() -> AsyncIterator[NetDocumentsServer]:
    """The server, on a port of its own, for the block."""
    known = NetDocumentsServer()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(known.app(), log_level="warning", access_log=False, lifespan="off")
        server = uvicorn.Server(config)
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            while not server.started:
                assert not running.done(), running.result()
                await asyncio.sleep(0.005)
            known.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            yield known
        finally:
            server.should_exit = True
            await running


def set_up(backend: Backend, server: NetDocumentsServer) -> Backend:
    """The same North, registered at the server."""
    changes = {
        "netdocuments_client_id": CLIENT_ID,
        "netdocuments_client_secret": SecretStr(CLIENT_SECRET),
        "netdocuments_region": server.url,
    }
    return replace(backend, settings=backend.settings.model_copy(update=changes))


async def connect(backend: Backend, caller: Caller, server: NetDocumentsServer) -> Tokens:
    """Connect the caller's account, as if they had been there and back."""
    tokens = server.issue()
    await store(backend, caller, tokens, "Ana Ruiz")
    return tokens
