"""What every call is given: the running North, and who calls."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends
from fastapi.openapi.models import HTTPBearer
from fastapi.routing import APIRoute
from fastapi.security.base import SecurityBase
from starlette.requests import Request
from starlette.responses import Response

from north.access.tokens import recognised_caller, token_caller
from north.chat.assistant import Assistant
from north.errors import NorthError, NotSignedIn
from north.memory.backend import Backend
from north.model import Caller, Origin
from north.turns import bearer

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class _AccessToken(SecurityBase):
    """What a request brings in its header `Authorization`."""

    model = HTTPBearer(
        description="An access token: `north token create`, `POST /api/v1/tokens`, or Settings → Connections."
    )
    scheme_name = "bearerAuth"


async def _backend(request: Request) -> Backend:
    backend: Backend = request.app.state.backend
    return backend


async def _assistant(request: Request) -> Assistant:
    assistant: Assistant = request.app.state.assistant
    return assistant


def _token(request: Request) -> str:
    token = bearer(request.headers)
    if token is None:
        raise NotSignedIn
    return token


class _SignedIn(_AccessToken):
    """The caller, found now."""

    async def __call__(self, request: Request) -> Caller:
        return await token_caller(request.app.state.backend, _token(request), Origin.API)


class _OnTheirWay(_AccessToken):
    """The caller whom `_AdmittingRoute` found."""

    async def __call__(self, request: Request) -> Caller:
        caller: Caller = request.state.caller
        return caller


_on_their_way = _OnTheirWay()


class _AdmittingRoute(APIRoute):
    """A call that may take `Recognised`. A dependency that is left again at its end would do the same, more slowly."""

    def get_route_handler(self) -> Handler:
        """What answers a request."""
        answer = super().get_route_handler()
        if all(each.call is not _on_their_way for each in self.dependant.dependencies):
            return answer

        async def admit(request: Request) -> Response:
            async with recognised_caller(request.app.state.backend, _token(request), Origin.API) as caller:
                request.state.caller = caller
                return await answer(request)

        return admit


Running = Annotated[Backend, Depends(_backend)]
Assisting = Annotated[Assistant, Depends(_assistant)]
SignedIn = Annotated[Caller, Depends(_SignedIn())]
"""Whom the bearer token stands for. Nothing else in a request can name a firm or a user."""
Recognised = Annotated[Caller, Depends(_on_their_way)]
"""The same, for calls that do all that they do in transactions of the caller: these sign in on their way, which saves a
round trip, and a call is not answered before one of them has."""


def calls(prefix: str, tag: str) -> APIRouter:
    """The router of a part of the API, whose calls may take everything that is defined here."""
    return APIRouter(route_class=_AdmittingRoute, prefix=prefix, tags=[tag])


def known_id(text: str, otherwise: type[NorthError]) -> UUID:
    """The id in a path. What is no id cannot be told from an id that does not exist.

    Raises:
        otherwise: `text` is no id.
    """
    try:
        return UUID(text)
    except ValueError:
        raise otherwise from None
