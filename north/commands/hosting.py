"""North for a host on this machine, which starts it and speaks to it over standard input and output."""

from __future__ import annotations

import asyncio
import os

from north.access.tokens import token_caller
from north.assembly import Place, make_backend, opened
from north.commands.place import ready_place
from north.errors import Misconfigured, NotSignedIn
from north.mcp.server import make_mcp
from north.model import Caller, Origin
from north.settings import Settings

TOKEN_VARIABLE = "NORTH_TOKEN"  # noqa: S105 - a variable's name, not a token


def host(settings: Settings) -> None:
    """Serve MCP until the host closes standard input. Nothing but the protocol is written to standard output.

    Raises:
        Misconfigured: NORTH_TOKEN is not set, or not a token that is valid.
    """
    secret = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not secret:
        raise Misconfigured(reason=f"{TOKEN_VARIABLE} is not set; make a token with `north token create`")
    with ready_place(settings) as place:
        asyncio.run(_serve(settings, place, secret))


async def _serve(settings: Settings, place: Place, secret: str) -> None:
    async with opened(make_backend(settings, place)) as backend:

        async def caller() -> Caller:
            # Asked on every call, so that a token that is revoked meanwhile is refused at once.
            return await token_caller(backend, secret, Origin.MCP)

        try:
            await caller()
        except NotSignedIn:
            reason = f"{TOKEN_VARIABLE} holds no valid token; make one with `north token create`"
            raise Misconfigured(reason=reason) from None
        await make_mcp(backend, caller).run_stdio_async(show_banner=False)
