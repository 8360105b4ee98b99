"""What every call is given: the running North, and who calls."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated
from uuid import UUID

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.requests import Request

from north.access.tokens import recognised_caller, token_caller
from north.chat.assistant import Assistant
from north.errors import NorthError, NotSignedIn
from north.memory.backend import Backend
from north.model import Caller, Origin

_bearer = HTTPBearer(
    scheme_name="bearerAuth",
    description="An access token: `north token create`, `POST /api/v1/tokens`, or Settings → Connections.",
    auto_error=False,
)


async def _backend(request: Request) -> Backend:
    backend: Backend = request.app.state.backend
    return backend


async def _assistant(request: Request) -> Assistant:
    assistant: Assistant = request.app.state.assistant
    return assistant


Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


async def _caller(request: Request, credentials: Credentials) -> Caller:
    if credentials is None:
        raise NotSignedIn
    return await token_caller(request.app.state.backend, credentials.credentials, Origin.API)


async def _recognised(request: Request, credentials: Credentials) -> AsyncIterator[Caller]:
    if credentials is None:
        raise NotSignedIn
    async with recognised_caller(request.app.state.backend, credentials.credentials, Origin.API) as caller:
        yield caller


Running = Annotated[Backend, Depends(_backend)]
Assisting = Annotated[Assistant, Depends(_assistant)]
SignedIn = Annotated[Caller, Depends(_caller)]
"""Whom the bearer token stands for. Nothing else in a request can name a firm or a user."""
Recognised = Annotated[Caller, Depends(_recognised, scope="function")]
"""The same, for calls that do all that they do in transactions of the caller: these sign in on their way, which saves a
round trip, and a call is not answered before one of them has."""


def known_id(text: str, otherwise: type[NorthError]) -> UUID:
    """The id in a path. What is no id cannot be told from an id that does not exist.

    Raises:
        otherwise: `text` is no id.
    """
    try:
        return UUID(text)
    except ValueError:
        raise otherwise from None
