"""Asking for access: what a program may ask, and the code that it gets when the lawyer allows it.

OAuth 2.1 with the authorization-code flow alone: PKCE by S256, exact redirects, and one resource, this server's MCP.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from north.access.keys import Kind, key_hash, new_secret
from north.access.redirects import host_of, is_registered, with_answer
from north.db.races import retried
from north.errors import AuthorizationInvalid, ClientUnknown
from north.memory.backend import Backend
from north.model import Caller, OAuthClient, new_id
from north.settings import Settings

SCOPE = "memory"
"""The one scope that there is: to save, recall, edit and delete memory as the lawyer."""

CODE_LIFE = timedelta(minutes=5)
MCP_PATH = "/mcp"
STATE_LIMIT = 4000
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")  # SHA-256 in base64url


class Use(StrEnum):
    """What an OAuth secret is for; one kind of secret is never taken for another."""

    CODE = "code"
    ACCESS = "access"
    REFRESH = "refresh"


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """What a program asks for, when all of it can be granted."""

    client: OAuthClient
    redirect_uri: str
    code_challenge: str
    state: str | None


def resource_of(settings: Settings) -> str:
    """The resource (RFC 8707) that tokens are for: this server's MCP endpoint, by its public address."""
    return f"{settings.address}{MCP_PATH}"


def is_resource(settings: Settings, text: str) -> bool:
    """Whether `text` names this server's MCP endpoint; some programs write a slash after it."""
    return text.removesuffix("/") == resource_of(settings)


def secret_hash(backend: Backend, use: Use, secret: str) -> bytes:
    """What a secret is found by. Its use and its audience are part of it, so that it is worth nothing elsewhere."""
    return key_hash(backend.secret_key, Kind.OAUTH, f"{use} {resource_of(backend.settings)} {secret}")


def answerable(client: OAuthClient, parameters: Mapping[str, str]) -> str:
    """The redirect URI of a request, when it is one of the program's own.

    Raises:
        ClientUnknown: it is not: nothing is ever sent there.
    """
    asked = parameters.get("redirect_uri", "")
    if not is_registered(asked, client.redirect_uris):
        raise ClientUnknown(reason="the address to which it wants the answer is not one that it registered")
    return asked


def check_request(backend: Backend, client: OAuthClient, parameters: Mapping[str, str]) -> AuthorizationRequest:
    """A request for authorization, checked.

    Args:
        backend: the running North.
        client: the program that `client_id` names.
        parameters: the request's, each given once.

    Raises:
        ClientUnknown: the redirect URI is none of the program's own.
        AuthorizationInvalid: anything else is wrong; `error` is OAuth's code for it (RFC 6749, 4.1.2.1; RFC 8707).
    """
    redirect_uri = answerable(client, parameters)
    if parameters.get("response_type") != "code":
        raise _invalid("unsupported_response_type", "it asks for something else than an authorization code")
    # Without a method, PKCE means `plain` (RFC 7636, 4.3).
    if parameters.get("code_challenge_method") != "S256":
        raise _invalid("invalid_request", "it does not use PKCE with S256")
    challenge = parameters.get("code_challenge", "")
    if not _CHALLENGE.fullmatch(challenge):
        raise _invalid("invalid_request", "its PKCE challenge is missing or is no SHA-256")
    resource = parameters.get("resource")
    if resource is not None and not is_resource(backend.settings, resource):
        raise _invalid("invalid_target", "it asks for access to something else than this North")
    state = parameters.get("state")
    if state is not None and len(state) > STATE_LIMIT:
        raise _invalid("invalid_request", f"its state has more than {STATE_LIMIT} characters")
    return AuthorizationRequest(client, redirect_uri, challenge, state)


def _invalid(error: str, reason: str) -> AuthorizationInvalid:
    return AuthorizationInvalid(reason=reason, error=error)


def answer_address(settings: Settings, redirect_uri: str, state: str | None, **answer: str) -> str:
    """Where the browser takes an answer: with the request's state, and with who answers (RFC 9207)."""
    told = answer | ({} if state is None else {"state": state})
    return with_answer(redirect_uri, told | {"iss": settings.address})


@retried
async def authorize(backend: Backend, caller: Caller, request: AuthorizationRequest) -> str:
    """Let a program act for the caller.

    Returns:
        The code that it redeems, once and within five minutes.
    """
    code, grant_id = new_secret("northcode"), new_id()
    async with backend.database.tenant(caller) as transaction:
        await transaction.send("oauth.forget_expired_keys")
        await transaction.send(
            "oauth.insert_grant",
            id=grant_id,
            client_id=request.client.id,
            client_name=request.client.name,
            redirect_host=host_of(request.redirect_uri),
            redirect_uri=request.redirect_uri,
            code_challenge=request.code_challenge,
            scope=SCOPE,
            resource=resource_of(backend.settings),
            expires_at=backend.database.now() + CODE_LIFE,
        )
        # Found for as long as the grant lives, so that a second use is noticed whenever it comes.
        await transaction.send(
            "access.insert_key",
            kind=Kind.OAUTH,
            key_hash=secret_hash(backend, Use.CODE, code),
            owner_id=caller.user_id,
            subject_id=grant_id,
            expires_at=None,
        )
        await transaction.send("oauth.note_authorization", client_id=request.client.id)
    return code
