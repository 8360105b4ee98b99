"""Access tokens: how an agent, a script or an MCP host acts for a lawyer."""

from __future__ import annotations

import time
from contextlib import suppress
from uuid import UUID

from north.access.keys import Kind, admit, key_hash, new_secret
from north.db.races import retried
from north.errors import DatabaseReadOnly, NotSignedIn, TokenNotFound
from north.memory.backend import Backend
from north.memory.input import check_line
from north.model import Caller, Origin, Token, new_id

NAME_LIMIT = 100
TOUCH_SECONDS = 60.0
_touched: dict[UUID, float] = {}


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
    async with backend.database.tenant(caller.organization_id, caller.user_id) as transaction:
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
    async with backend.database.tenant(caller.organization_id, caller.user_id) as transaction:
        return [Token(**row) for row in await transaction.fetch("access.tokens")]


@retried
async def delete_token(backend: Backend, caller: Caller, token_id: UUID) -> None:
    """Revoke a token; the next request with it is refused.

    Raises:
        TokenNotFound: the caller has no such token.
    """
    async with backend.database.tenant(caller.organization_id, caller.user_id) as transaction:
        row = await transaction.first("access.revoke_token", id=token_id)
        await transaction.send("access.delete_keys", kind=Kind.TOKEN, subject_id=token_id)
    if row is None:
        raise TokenNotFound


async def token_caller(backend: Backend, secret: str, origin: Origin) -> Caller:
    """The caller whom this token's secret stands for.

    Raises:
        NotSignedIn: it is unknown, revoked or expired, or its lawyer may not come in any more.
    """
    admitted = await admit(backend.database, backend.secret_key, Kind.TOKEN, secret)
    if admitted is None:
        raise NotSignedIn
    user, found = admitted
    assert found.subject_id is not None
    caller = Caller(user.organization_id, user.id, origin, client=str(found.subject_id))
    backend.turns.remember(secret, user.organization_id)
    with suppress(DatabaseReadOnly):  # a standby lets in whom it knows, and notes nothing
        await _touch(backend, caller, found.subject_id)
    return caller


@retried
async def _touch(backend: Backend, caller: Caller, token_id: UUID) -> None:
    """Note the use of a token, at most once a minute in this process."""
    now = time.monotonic()
    if now - _touched.get(token_id, -TOUCH_SECONDS) < TOUCH_SECONDS:
        return
    _touched[token_id] = now
    async with backend.database.tenant(caller.organization_id, caller.user_id) as transaction:
        await transaction.send("memory.without_waiting_for_disk")
        await transaction.send("access.touch_token", id=token_id)
