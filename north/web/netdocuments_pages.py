"""Settings → Connections: a lawyer's NetDocuments account, connected and disconnected."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from north.documents.authorization import CALLBACK, begin, finish
from north.documents.connection import Connection, connection_of, disconnect
from north.documents.consulting import is_set_up
from north.errors import NetDocumentsDeclined
from north.memory.backend import Backend
from north.model import User
from north.web.pages import render, see_other
from north.web.sessions import CurrentUser, PageRoute, RunningBackend, settings_caller

router = APIRouter(route_class=PageRoute, include_in_schema=False)

CONNECTIONS = "/settings/connections"


@dataclass(frozen=True, slots=True)
class NetDocumentsCard:
    """What Connections shows of NetDocuments where it is set up."""

    connection: Connection | None


async def netdocuments_card(backend: Backend, user: User) -> NetDocumentsCard | None:
    """The lawyer's own connection; None where NetDocuments is not set up."""
    if not is_set_up(backend):
        return None
    return NetDocumentsCard(await connection_of(backend, settings_caller(user)))


@router.post(f"{CONNECTIONS}/netdocuments/connect")
async def connect(request: Request, backend: RunningBackend, user: CurrentUser) -> Response:
    """Send the lawyer to NetDocuments, by a page and not by a redirect.

    `form-action` also governs where the answer to a form redirects, in every step: to NetDocuments, and from there to
    whatever login the firm has with it. A page of our own that leads on is bound by none of that.
    """
    return render(request, "netdocuments_leaving.html", user=user, there=begin(backend, settings_caller(user)))


@router.get(CALLBACK)
async def come_back(
    backend: RunningBackend, user: CurrentUser, state: str = "", code: str = "", error: str = ""
) -> Response:
    """Where NetDocuments sends the lawyer back to, with a code, or with a word why there is none."""
    if error and not code:
        raise NetDocumentsDeclined
    await finish(backend, settings_caller(user), state, code)
    return see_other(CONNECTIONS)


@router.post(f"{CONNECTIONS}/netdocuments/disconnect")
async def leave(backend: RunningBackend, user: CurrentUser) -> Response:
    """Forget the lawyer's authorization; nothing is read with it any more."""
    await disconnect(backend, settings_caller(user))
    return see_other(CONNECTIONS)
