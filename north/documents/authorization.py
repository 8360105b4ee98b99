"""Connecting a lawyer's NetDocuments account: to NetDocuments with a signed state, and back with a code."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from north.connectors.netdocuments import NetDocuments
from north.connectors.netdocuments_oauth import (
    GrantRefused,
    Registration,
    Tokens,
    authorization_url,
    exchange,
    http_client,
    registration,
)
from north.documents.connection import store
from north.errors import (
    NetDocumentsLinkInvalid,
    NetDocumentsNotConnected,
    NorthError,
    NotFound,
)
from north.memory.backend import Backend
from north.model import Caller

CALLBACK = "/settings/connections/netdocuments/callback"
STATE_SECONDS = 600
_RANDOM_BYTES = 16
_TIME_BYTES = 8


def registered(backend: Backend) -> Registration:
    """North's registration at NetDocuments.

    Raises:
        NotFound: NetDocuments is not set up here.
    """
    known = registration(backend.settings)
    if known is None:
        raise NotFound(what="connection")
    return known


def begin(backend: Backend, caller: Caller) -> str:
    """The address at NetDocuments where the lawyer lets North in; good for ten minutes, and for this lawyer alone."""
    return authorization_url(registered(backend), _redirect_uri(backend), _new_state(backend, caller))


async def finish(backend: Backend, caller: Caller, state: str, code: str) -> None:
    """Exchange the code with which NetDocuments sent the lawyer back, and keep the authorization.

    Raises:
        NetDocumentsLinkInvalid: the state is not one of this lawyer's last ten minutes, or the code is spent.
        NetDocumentsUnavailable: NetDocuments cannot be reached, or does not accept North itself.
    """
    known = registered(backend)
    if not code or not _is_valid(backend, caller, state):
        raise NetDocumentsLinkInvalid
    async with http_client() as http:
        try:
            tokens = await exchange(http, known, code, _redirect_uri(backend))
        except GrantRefused:
            raise NetDocumentsLinkInvalid from None
        try:
            account = await NetDocuments(http, known.api_url, _JustGiven(tokens)).account()
        except NorthError:
            account = None  # a connection without a name still reads
    await store(backend, caller, tokens, account)


class _JustGiven:
    """The access of tokens that are a moment old."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    async def token(self) -> str:
        return self._tokens.access

    async def renewed(self, refused: str) -> str:
        raise NetDocumentsNotConnected


def _redirect_uri(backend: Backend) -> str:
    return f"{backend.settings.address}{CALLBACK}"


def _new_state(backend: Backend, caller: Caller) -> str:
    """Random, dated, and signed for this lawyer: nobody can be made to finish what another began."""
    body = secrets.token_bytes(_RANDOM_BYTES) + int(backend.database.now().timestamp()).to_bytes(_TIME_BYTES)
    return base64.urlsafe_b64encode(body + _signature(backend, caller, body)).decode().rstrip("=")


def _is_valid(backend: Backend, caller: Caller, state: str) -> bool:
    try:
        raw = base64.urlsafe_b64decode(state.encode("ascii") + b"=" * (-len(state) % 4))
    except ValueError:
        return False
    body, signature = raw[: _RANDOM_BYTES + _TIME_BYTES], raw[_RANDOM_BYTES + _TIME_BYTES :]
    if not hmac.compare_digest(signature, _signature(backend, caller, body)):
        return False
    return 0 <= backend.database.now().timestamp() - int.from_bytes(body[_RANDOM_BYTES:]) <= STATE_SECONDS


def _signature(backend: Backend, caller: Caller, body: bytes) -> bytes:
    bound = b"netdocuments-state:" + caller.organization_id.bytes + caller.user_id.bytes + body
    return hmac.digest(backend.secret_key, bound, hashlib.sha256)
