"""Access tokens: how an agent, a script or an MCP host acts for a lawyer."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from uuid import UUID

from cachetools import LRUCache

from north.access.keys import Kind, admit, key_hash, new_secret
from north.db.races import retried
from north.errors import DatabaseReadOnly, NotSignedIn, TokenNotFound, Unavailable
from north.memory.backend import Backend
from north.memory.input import check_line
from north.model import Caller, Key, Origin, Token, new_id

NAME_LIMIT = 100
TOUCH_SECONDS = 60.0
"""How often, at most, the use of a token is noted; and for how long it is known whose it is."""
KNOWN_TOKENS = 50_000
"""How many tokens are known at once, the last that were used."""


@dataclass(frozen=True, slots=True)
class _Known:
    """Whom a token stood for when its use was last noted: it says whom to expect, and admits nobody."""

    organization_id: UUID
    user_id: UUID
    token_id: UUID
    noted_at: float = field(default_factory=time.monotonic)


_known: LRUCache[bytes, _Known] = LRUCache(KNOWN_TOKENS)
"""By the keyed hashes of their secrets, the tokens that this process has admitted."""


@retried
async def create_token(backend: Backend, caller: Caller, name: str) -> tuple[Token, str]:
    """Make a token that acts for the caller until it is deleted.

    Returns:
        The token, and its secret: shown this once, stored as a keyed hash alone.

    Raises:
        InvalidInput: the name is empty, over 100 characters, or not one line.
    """
    secret = new_secret("north")
    token_id = new_id()
    async with backend.database.tenant(caller) as transaction:
        row = await transaction.first(
            "access.insert_token", id=token_id, name=check_line(name, "token's name", NAME_LIMIT), expires_at=None
        )
        await transaction.send(
            "access.insert_key",
            kind=Kind.TOKEN,
            key_hash=key_hash(backend.secret_key, Kind.TOKEN, secret),
            owner_id=caller.user_id,
            subject_id=token_id,
            expires_at=None,
        )
    assert row is not None
    return Token(**row), secret


@retried
async def list_tokens(backend: Backend, caller: Caller) -> list[Token]:
    """The caller's tokens, newest first."""
    async with backend.database.tenant(caller, read_only=True) as transaction:
        return [Token(**row) for row in await transaction.fetch("access.tokens")]


@retried
async def delete_token(backend: Backend, caller: Caller, token_id: UUID) -> None:
    """Revoke a token; the next request with it is refused.

    Raises:
        TokenNotFound: the caller has no such token.
    """
    async with backend.database.tenant(caller) as transaction:
        row = await transaction.first("access.revoke_token", id=token_id)
        await transaction.send("access.delete_keys", kind=Kind.TOKEN, subject_id=token_id)
    if row is None:
        raise TokenNotFound


async def token_caller(backend: Backend, secret: str, origin: Origin) -> Caller:
    """The caller whom this token's secret stands for.

    Raises:
        NotSignedIn: it is unknown, revoked or expired, or its lawyer may not come in any more.
    """
    return await _token_caller(backend, secret, key_hash(backend.secret_key, Kind.TOKEN, secret), origin)


async def _token_caller(backend: Backend, secret: str, hashed: bytes, origin: Origin) -> Caller:
    admitted = await admit(backend.database, Kind.TOKEN, hashed)
    if admitted is None:
        _known.pop(hashed, None)
        raise NotSignedIn
    user, found = admitted
    assert found.subject_id is not None
    caller = Caller(user.organization_id, user.id, origin, client=str(found.subject_id))
    backend.turns.remember(secret, user.organization_id)
    if _whose(hashed) is None:
        _known[hashed] = _Known(user.organization_id, user.id, found.subject_id)
        with suppress(DatabaseReadOnly):  # a standby lets in whom it knows, and notes nothing
            await _touch(backend, caller, found.subject_id)
    return caller


@asynccontextmanager
async def recognised_caller(backend: Backend, secret: str, origin: Origin) -> AsyncIterator[Caller]:
    """Around a call, the caller of `token_caller`: without a round trip, while it is known whose the token is.

    Such a caller has a `key`, by which their transactions admit themselves, each of them. A call in which none was
    answered, whatever it came to, is admitted at its end: nobody else learns what that was. But what a call does
    besides its transactions, it does for whoever has sent a secret that was a token's a minute ago.

    Raises:
        NotSignedIn: as `token_caller` does; also from a transaction of the call, and at its end.
    """
    hashed = key_hash(backend.secret_key, Kind.TOKEN, secret)
    known = _whose(hashed)
    if known is None:
        yield await _token_caller(backend, secret, hashed, origin)
        return
    backend.turns.remember(secret, known.organization_id)
    key = Key(Kind.TOKEN, hashed)
    caller = Caller(known.organization_id, known.user_id, origin, client=str(known.token_id), key=key)
    try:
        async with _admitted_at_last(backend, caller, key):
            yield caller
    except NotSignedIn:
        _known.pop(hashed, None)
        raise


@asynccontextmanager
async def _admitted_at_last(backend: Backend, caller: Caller, key: Key) -> AsyncIterator[None]:
    """See to it that a call does not end, well or badly, before its caller was admitted."""
    try:
        yield
    except (NotSignedIn, Unavailable):
        raise  # it was asked, and that is the answer
    except Exception:
        await _admit(backend, caller, key)
        raise
    await _admit(backend, caller, key)


@retried
async def _admit(backend: Backend, caller: Caller, key: Key) -> None:
    if not key.admitted:
        async with backend.database.tenant(caller, read_only=True):
            pass


def _whose(hashed: bytes) -> _Known | None:
    """Whose token is known by this hash, when its use was noted within the last minute."""
    known = _known.get(hashed)
    return known if known and time.monotonic() - known.noted_at < TOUCH_SECONDS else None


@retried
async def _touch(backend: Backend, caller: Caller, token_id: UUID) -> None:
    """Note the use of a token."""
    async with backend.database.tenant(caller) as transaction:
        await transaction.send("memory.without_waiting_for_disk")
        await transaction.send("access.touch_token", id=token_id)
