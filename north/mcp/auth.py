"""Who is calling: a bearer token becomes a `Caller`. Nothing else in a request can name a firm or a user."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from fastmcp.server.auth import AccessToken, TokenVerifier
from fastmcp.server.dependencies import get_access_token
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
from starlette.authentication import AuthenticationError
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from north.access.oauth_tokens import is_oauth_access, oauth_caller
from north.access.tokens import token_caller
from north.errors import NotSignedIn, Unavailable
from north.mcp.oauth_routes import resource_routes
from north.memory.backend import Backend
from north.memory.wall import session_hash
from north.model import Caller, Origin

RETRY_SECONDS = "5"

CallerOf = Callable[[], Awaitable[Caller]]
"""Finds out who makes the call that is being served."""


class SignedIn(AccessToken):
    """A bearer token that was verified, with the caller whom it stands for."""

    caller: Caller


class Bearers(TokenVerifier):
    """Access tokens, made by lawyers or issued by OAuth, verified on every request: revoking one works at once."""

    def __init__(self, backend: Backend) -> None:
        super().__init__(base_url=backend.settings.address)
        self._backend = backend

    async def verify_token(self, token: str) -> SignedIn | None:
        """The caller of a token; None when it is unknown, revoked or expired.

        Raises:
            AuthenticationError: nobody can say now, because the database is away.
        """
        try:
            caller_of_token = oauth_caller if is_oauth_access(token) else token_caller
            caller = await caller_of_token(self._backend, token, Origin.MCP)
        except NotSignedIn:
            return None
        except Unavailable as error:
            raise AuthenticationError from error
        return SignedIn(token=token, client_id=caller.client or "", scopes=[], caller=caller)

    def get_routes(self, mcp_path: str | None = None) -> list[Route]:
        """The metadata to which a refusal points. They are served beside `/mcp`; here they make it point there."""
        return resource_routes(self._backend.settings)

    def get_middleware(self) -> list[Middleware]:
        """What stands before the endpoint: the library's own, with an answer for when the database is away."""
        return [
            Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(self), on_error=_unavailable),
            Middleware(AuthContextMiddleware),
        ]


def _unavailable(connection: HTTPConnection, error: AuthenticationError) -> Response:
    return JSONResponse({"error": "temporarily_unavailable"}, 503, {"Retry-After": RETRY_SECONDS})


async def bearer_caller() -> Caller:
    """Who makes the HTTP request that is being served.

    Raises:
        NotSignedIn: it carries no verified token.
    """
    token = get_access_token()
    if not isinstance(token, SignedIn):
        raise NotSignedIn
    return token.caller


@dataclass(frozen=True, slots=True)
class Desk:
    """What the tools work with: the running North, and a way to find out who calls."""

    backend: Backend
    caller_of: CallerOf

    async def caller(self, session: str | None = None) -> Caller:
        """Who calls, with their session handle.

        Raises:
            NotSignedIn: nobody known does.
            SessionUnknown: the handle is not one that North gave to this lawyer.
        """
        caller = replace(await self.caller_of(), session=session or None)
        session_hash(self.backend, caller)
        return caller

    @property
    def settings_page(self) -> str:
        """Where the lawyer sees, edits and deletes everything that North remembers."""
        return f"{self.backend.settings.address}/settings/memory"
