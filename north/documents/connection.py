"""A lawyer's connection to NetDocuments: stored, shown, renewed and revoked. Nobody else's can be reached.

NetDocuments may send a new refresh token with each renewal and end the old one. So one renewal happens at a time,
whichever process it happens in: it claims the row, asks NetDocuments without holding a database connection, and stores
what it got; the others wait for that. A renewal that has begun is finished, even when nobody waits for it any more.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from north.connectors.netdocuments_oauth import GrantRefused, Registration, Tokens, http_client, refresh
from north.db.races import retried
from north.documents.sealing import seal, unseal
from north.errors import NetDocumentsNotConnected, NetDocumentsUnavailable
from north.memory.backend import Backend
from north.memory.text import visible
from north.model import Caller, new_id

log = structlog.get_logger(__name__)

PROVIDER = "netdocuments"
ACCOUNT_LIMIT = 200
CLAIM = timedelta(seconds=30)
"""Longer than the token endpoint may take."""
LOOK_AGAIN_SECONDS = 0.1

_renewals: set[asyncio.Task[Tokens]] = set()


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection as its owner sees it."""

    account: str
    created_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class _Held:
    id: UUID
    version: int
    tokens: Tokens


@retried
async def connection_of(backend: Backend, caller: Caller) -> Connection | None:
    """The caller's connection, if there is one."""
    async with backend.database.tenant(caller, read_only=True) as transaction:
        row = await transaction.first("connections.live", provider=PROVIDER)
    return Connection(row["account"], row["created_at"], row["last_used_at"]) if row else None


@retried
async def store(backend: Backend, caller: Caller, tokens: Tokens, account: str | None) -> None:
    """Keep a new authorization; it takes the place of the one before.
    Of two at the same moment, one takes the place of the other.
    """
    connection_id = new_id()
    async with backend.database.tenant(caller) as transaction:
        await transaction.send("connections.revoke", provider=PROVIDER)
        await transaction.send(
            "connections.insert",
            id=connection_id,
            provider=PROVIDER,
            sealed_tokens=seal(backend.secret_key, caller, connection_id, tokens),
            account=visible(account or "")[:ACCOUNT_LIMIT],
        )


@retried
async def disconnect(backend: Backend, caller: Caller) -> None:
    """Revoke the caller's connection and erase its tokens; nothing is read with it from the next call on."""
    async with backend.database.tenant(caller) as transaction:
        await transaction.send("connections.revoke", provider=PROVIDER)


class LawyersAccess:
    """The caller's access token, for the calls of one consultation."""

    def __init__(self, backend: Backend, caller: Caller, known: Registration) -> None:
        self._backend = backend
        self._caller = caller
        self._known = known

    async def token(self) -> str:
        """The token in use.

        Raises:
            NetDocumentsNotConnected: the lawyer is not connected, or not any more.
        """
        return (await self._held(touch=True)).tokens.access

    async def renewed(self, refused: str) -> str:
        """A token that is not `refused`: one that was stored meanwhile, or a new one.

        Raises:
            NetDocumentsNotConnected: the authorization has ended.
            NetDocumentsUnavailable: NetDocuments cannot be reached, or does not accept North itself.
        """
        renewal = asyncio.create_task(self._renew(refused), name="north-netdocuments-renewal")
        _renewals.add(renewal)
        renewal.add_done_callback(_finished)
        return (await asyncio.shield(renewal)).access

    async def _renew(self, refused: str) -> Tokens:
        """Renew, or wait for whoever does; ends, since a claim does."""
        while True:
            held = await self._held()
            if held.tokens.access != refused:
                return held.tokens
            if await self._claim(held):
                return await self._exchange(held)
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    async def _exchange(self, held: _Held) -> Tokens:
        try:
            # A client of its own: the consultation may be gone, and its client with it, before NetDocuments answers.
            async with http_client() as http:
                tokens = await refresh(http, self._known, held.tokens)
        except GrantRefused as error:
            log.info("netdocuments_authorization_ended", final=error.final)
            await self._run("connections.end" if error.final else "connections.release", held)
            raise NetDocumentsNotConnected from None
        except NetDocumentsUnavailable:
            await self._run("connections.release", held)
            raise
        sealed = seal(self._backend.secret_key, self._caller, held.id, tokens)
        if not await self._run("connections.renew", held, sealed_tokens=sealed):
            raise NetDocumentsNotConnected  # disconnected meanwhile
        return tokens

    @retried
    async def _held(self, *, touch: bool = False) -> _Held:
        caller = self._caller
        async with self._backend.database.tenant(caller) as transaction:
            if touch:
                await transaction.send("connections.touch", provider=PROVIDER)
            row = await transaction.first("connections.live", provider=PROVIDER)
        tokens = unseal(self._backend.secret_key, caller, row["id"], row["sealed_tokens"]) if row else None
        if row is None or tokens is None:
            raise NetDocumentsNotConnected
        return _Held(row["id"], row["version"], tokens)

    async def _claim(self, held: _Held) -> bool:
        return await self._run("connections.claim", held, claim=CLAIM)

    @retried
    async def _run(self, statement: str, held: _Held, **parameters: object) -> bool:
        """Run a statement on this version of the connection; whether it was there."""
        caller = self._caller
        async with self._backend.database.tenant(caller) as transaction:
            cursor = await transaction.send(statement, id=held.id, version=held.version, **parameters)
        return cursor.rowcount > 0


def _finished(renewal: asyncio.Task[Tokens]) -> None:
    _renewals.discard(renewal)
    if not renewal.cancelled():
        renewal.exception()  # looked at here, since whoever waited may be gone
