"""OAuth's own addresses: what a program reads to find its way, and where it gets, renews and gives back tokens.

The SDK's handlers do the protocol. What stands here is what they leave out: a token request's resource, parameters
given twice, a program that authenticates itself in the header, limits, and a database that is away.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import structlog
from mcp.server.auth.handlers.metadata import MetadataHandler, ProtectedResourceMetadataHandler
from mcp.server.auth.handlers.register import RegistrationHandler
from mcp.server.auth.handlers.token import TokenHandler
from mcp.server.auth.middleware.client_auth import AuthenticationError, ClientAuthenticator
from mcp.server.auth.provider import OAuthAuthorizationServerProvider
from mcp.server.auth.routes import cors_middleware
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Message

from north.access.oauth import MCP_PATH, SCOPE, is_resource, resource_of
from north.access.oauth_clients import RegistrationLimit
from north.access.oauth_tokens import revoke
from north.db.connect import LostRace
from north.errors import TooManyAttempts, Unavailable
from north.mcp.oauth_provider import GRANT_TYPES, NO_SECRET, SECRET_IN_FORM, SECRET_IN_HEADER, Provider
from north.memory.backend import Backend
from north.settings import Settings

log = structlog.get_logger(__name__)

BODY_LIMIT = 32 * 1024
FIELDS_MOST = 30
RETRY_SECONDS = "5"
FORM = "application/x-www-form-urlencoded"
NOT_STORED = {"Cache-Control": "no-store", "Pragma": "no-cache"}
RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
SERVER_METADATA = "/.well-known/oauth-authorization-server"

Handler = Callable[[Request], Awaitable[Response]]


class RequestRefused(Exception):
    """A request that gets no further than its form."""

    def __init__(self, error: str, description: str) -> None:
        self.answer = {"error": error, "error_description": description}
        super().__init__(error)


def resource_routes(settings: Settings) -> list[Route]:
    """Where a program that was refused at `/mcp` reads whom to ask (RFC 9728)."""
    metadata = ProtectedResourceMetadata.model_validate(
        {
            "resource": resource_of(settings),
            "authorization_servers": [settings.address],
            "scopes_supported": [SCOPE],
            "resource_name": "North",
        }
    )
    handle = cors_middleware(ProtectedResourceMetadataHandler(metadata).handle, ["GET", "OPTIONS"])
    # A public address with a path has it between the two; some programs look at the short addresses all the same.
    paths = dict.fromkeys(
        [RESOURCE_METADATA, RESOURCE_METADATA + MCP_PATH, RESOURCE_METADATA + _path(settings) + MCP_PATH]
    )
    return [Route(path, handle, methods=["GET", "OPTIONS"], include_in_schema=False) for path in paths]


def _path(settings: Settings) -> str:
    """The path of the public address, if it has one, which stands after `/.well-known/…` (RFC 8414, 3.1)."""
    return urlsplit(settings.address).path


def oauth_routes(backend: Backend) -> list[Route]:
    """Everything of OAuth that programs call; the page that a lawyer sees is the web's."""
    provider = cast(OAuthAuthorizationServerProvider[Any, Any, Any], Provider(backend))
    authenticator = ClientAuthenticator(provider)
    tokens = TokenHandler(provider, authenticator)
    registration = RegistrationHandler(provider, ClientRegistrationOptions(enabled=True, default_scopes=[SCOPE]))
    limit = RegistrationLimit()

    async def token(request: Request) -> Response:
        response: Response = await tokens.handle(await _checked(request, backend.settings))
        return response

    async def register(request: Request) -> Response:
        limit.count(request.client.host if request.client else "")
        return await registration.handle(request)

    async def give_back(request: Request) -> Response:
        # Not the SDK's handler: it demands a `client_secret` of programs that have none.
        request = await _checked(request, backend.settings)
        try:
            client = await authenticator.authenticate_request(request)
        except AuthenticationError as error:
            return JSONResponse({"error": "invalid_client", "error_description": error.message}, 401, NOT_STORED)
        await revoke(backend, client.client_id, str((await request.form()).get("token", "")))
        return Response(headers=NOT_STORED)

    metadata = cors_middleware(MetadataHandler(_metadata(backend.settings)).handle, ["GET", "OPTIONS"])
    paths = dict.fromkeys([SERVER_METADATA, SERVER_METADATA + _path(backend.settings)])
    return [
        *resource_routes(backend.settings),
        *(Route(path, metadata, methods=["GET", "OPTIONS"], include_in_schema=False) for path in paths),
        _called_by_programs("/token", token),
        _called_by_programs("/register", register),
        _called_by_programs("/revoke", give_back),
    ]


def _metadata(settings: Settings) -> OAuthMetadata:
    """What a program reads about this authorization server (RFC 8414)."""
    address = settings.address
    methods = [NO_SECRET, SECRET_IN_FORM, SECRET_IN_HEADER]
    return OAuthMetadata.model_validate(
        {
            "issuer": address,
            "authorization_endpoint": f"{address}/authorize",
            "token_endpoint": f"{address}/token",
            "registration_endpoint": f"{address}/register",
            "revocation_endpoint": f"{address}/revoke",
            "scopes_supported": [SCOPE],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": GRANT_TYPES,
            "token_endpoint_auth_methods_supported": methods,
            "revocation_endpoint_auth_methods_supported": methods,
            "code_challenge_methods_supported": ["S256"],
            "client_id_metadata_document_supported": True,
            "authorization_response_iss_parameter_supported": True,
        }
    )


def _called_by_programs(path: str, handler: Handler) -> Route:
    """A route that programs post to, from browsers too: they prove who they are in the body, never by a cookie."""

    async def handle(request: Request) -> Response:
        try:
            return await handler(request)
        except RequestRefused as refusal:
            return JSONResponse(refusal.answer, HTTPStatus.BAD_REQUEST, NOT_STORED)
        except TooManyAttempts as error:
            headers = NOT_STORED | {"Retry-After": str(error.detail["seconds"])}
            return JSONResponse({"error": "temporarily_unavailable"}, HTTPStatus.TOO_MANY_REQUESTS, headers)
        except (Unavailable, LostRace) as error:
            log.warning("oauth_unavailable", path=path, reason=type(error).__name__)
            headers = NOT_STORED | {"Retry-After": RETRY_SECONDS}
            return JSONResponse({"error": "temporarily_unavailable"}, HTTPStatus.SERVICE_UNAVAILABLE, headers)

    limited = RequestBodyLimitMiddleware(cors_middleware(handle, ["POST", "OPTIONS"]), BODY_LIMIT)
    return Route(path, limited, methods=["POST", "OPTIONS"], include_in_schema=False)


async def _checked(request: Request, settings: Settings) -> Request:
    """The request, when its form says each thing once and asks for this resource.

    Raises:
        RequestRefused: it does not.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise RequestRefused("invalid_request", f"send a form, as {FORM}")
    try:
        fields = parse_qsl((await request.body()).decode(), keep_blank_values=True, max_num_fields=FIELDS_MOST)
    except ValueError:
        raise RequestRefused("invalid_request", "the form cannot be read") from None
    form = dict(fields)
    if len(form) < len(fields):
        raise RequestRefused("invalid_request", "a parameter is given twice")
    if "resource" in form and not is_resource(settings, form["resource"]):
        raise RequestRefused("invalid_target", "tokens are for this server's MCP endpoint alone")
    return _with_form(request, form | _credentials_in_header(request, form))


def _credentials_in_header(request: Request, form: dict[str, str]) -> dict[str, str]:
    """What a Basic `Authorization` header says, as the form would say it (RFC 6749, 2.3.1).

    Raises:
        RequestRefused: it cannot be read, or names another program than the form.
    """
    scheme, _, encoded = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return {}
    try:
        name, _, secret = base64.b64decode(encoded, validate=True).decode().partition(":")
    except ValueError:
        raise RequestRefused("invalid_request", "the Authorization header cannot be read") from None
    told = {"client_id": unquote(name), "client_secret": unquote(secret)}
    if form.get("client_id", told["client_id"]) != told["client_id"]:
        raise RequestRefused("invalid_request", "the form names another program than the Authorization header")
    return told


def _with_form(request: Request, form: dict[str, str]) -> Request:
    """The same request with this form as its body."""
    body = urlencode(form).encode()

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(request.scope, receive)
