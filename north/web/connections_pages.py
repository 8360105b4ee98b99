"""Settings → Connections: access tokens, and how a program connects with one."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form
from starlette.requests import Request
from starlette.responses import Response

from north.access.oauth_tokens import connected_programs, disconnect_program
from north.access.tokens import create_token, delete_token, list_tokens
from north.errors import InvalidInput
from north.model import User
from north.web.installs import installs
from north.web.netdocuments_pages import netdocuments_card
from north.web.pages import render, see_other
from north.web.sessions import CurrentUser, PageRoute, RunningBackend, settings_caller

router = APIRouter(route_class=PageRoute, include_in_schema=False)

CONNECTIONS = "/settings/connections"


@router.get(CONNECTIONS)
async def connections_page(request: Request, backend: RunningBackend, user: CurrentUser) -> Response:
    """The tokens, and what to paste where."""
    return await _show(request, backend, user)


@router.post(CONNECTIONS)
async def add_token(
    request: Request, backend: RunningBackend, user: CurrentUser, name: Annotated[str, Form()] = ""
) -> Response:
    """Create a token. This reply alone shows its secret, so it is the page itself and not a redirect."""
    try:
        _, secret = await create_token(backend, settings_caller(user), name)
    except InvalidInput as error:
        return await _show(request, backend, user, name=name, error=str(error), status=422)
    return await _show(request, backend, user, secret=secret)


@router.post(CONNECTIONS + "/{token_id:uuid}/delete")
async def remove_token(backend: RunningBackend, user: CurrentUser, token_id: UUID) -> Response:
    """Delete a token; the program that holds it is out at once."""
    await delete_token(backend, settings_caller(user), token_id)
    return see_other(CONNECTIONS)


@router.post(CONNECTIONS + "/programs/{grant_id:uuid}/disconnect")
async def remove_program(backend: RunningBackend, user: CurrentUser, grant_id: UUID) -> Response:
    """Disconnect a program; it is out at once."""
    await disconnect_program(backend, settings_caller(user), grant_id)
    return see_other(CONNECTIONS)


async def _show(
    request: Request,
    backend: RunningBackend,
    user: User,
    *,
    name: str = "",
    error: str | None = None,
    secret: str | None = None,
    status: int = 200,
) -> Response:
    address = backend.settings.address
    return render(
        request,
        "connections.html",
        status,
        user=user,
        programs=await connected_programs(backend, settings_caller(user)),
        tokens=await list_tokens(backend, settings_caller(user)),
        netdocuments_card=await netdocuments_card(backend, user),
        installs=installs(address),
        rest_call=_over_rest(address),
        api_docs=f"{address}/api/docs",
        name=name,
        error=error,
        secret=secret,
    )


def _over_rest(address: str) -> str:
    return (
        f"curl {address}/api/v1/recall \\\n"
        '  -H "Authorization: Bearer $NORTH_TOKEN" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        '  -d \'{"query": "citation form"}\''
    )
