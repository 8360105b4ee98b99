"""What a code turns into: access tokens for an hour, and a refresh token that is good for one use.

A secret that is used a second time has been stolen from somebody, and nobody can tell from whom: it ends its grant,
with everything that was issued under it. That holds for a retry, too: there is no grace for one.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from north.access.keys import Found, Kind, find_hash, new_secret
from north.access.oauth import Use, secret_hash
from north.db.races import retried
from north.errors import DatabaseReadOnly, NotSignedIn, ProgramNotFound
from north.memory.backend import Backend
from north.model import Caller, ConnectedProgram, Origin

log = structlog.get_logger(__name__)

ACCESS_LIFE = timedelta(hours=1)
REFRESH_LIFE = timedelta(days=30)
ACCESS_PREFIX = "northaccess"
NOTE_SECONDS = 60.0
_REMEMBERED_GRANTS = 10_000
_noted: dict[UUID, float] = {}
"""When this process last noted a grant's use."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A lawyer's leave for a program to act for them."""

    id: UUID
    organization_id: UUID
    user_id: UUID
    client_id: str
    redirect_uri: str
    code_challenge: str
    resource: str
    refresh_hash: bytes | None
    expires_at: datetime
    redeemed: bool
    live: bool


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a program gets; shown this once, stored as keyed hashes alone."""

    access: str
    refresh: str


def is_oauth_access(secret: str) -> bool:
    """Whether a bearer token was issued by OAuth, as opposed to one that a lawyer made."""
    return secret.startswith(f"{ACCESS_PREFIX}_")


async def grant_of_code(backend: Backend, client_id: str, code: str) -> Grant | None:
    """The grant that this program may redeem with `code`. A code that was redeemed before ends its grant."""
    grant = await _grant(backend, client_id, Use.CODE, code)
    if grant is None:
        return None
    if grant.redeemed:
        await _end_stolen(backend, grant, Use.CODE)
        return None
    return grant if grant.live else None


async def redeem(backend: Backend, grant: Grant) -> Tokens | None:
    """Turn a grant's code into tokens; None when it was redeemed meanwhile, which ends the grant."""
    return await _issue(backend, grant, "oauth.redeem", Use.CODE)


async def grant_of_refresh(backend: Backend, client_id: str, token: str) -> Grant | None:
    """The grant that this program may renew with a refresh token. One that was used before ends its grant."""
    grant = await _grant(backend, client_id, Use.REFRESH, token)
    if grant is None or not grant.live:
        return None
    if grant.refresh_hash != secret_hash(backend, Use.REFRESH, token):
        await _end_stolen(backend, grant, Use.REFRESH)
        return None
    return grant


async def renew(backend: Backend, grant: Grant) -> Tokens | None:
    """Turn a refresh token into new tokens; None when it was used meanwhile, which ends the grant."""
    return await _issue(backend, grant, "oauth.rotate", Use.REFRESH, used_hash=grant.refresh_hash)


@retried
async def _issue(backend: Backend, grant: Grant, statement: str, use: Use, **parameters: bytes | None) -> Tokens | None:
    tokens = Tokens(new_secret(ACCESS_PREFIX), new_secret("northrefresh"))
    now = backend.database.now()
    keys = [
        (secret_hash(backend, Use.ACCESS, tokens.access), now + ACCESS_LIFE),
        (secret_hash(backend, Use.REFRESH, tokens.refresh), now + REFRESH_LIFE),
    ]
    async with backend.database.bound(grant.organization_id, grant.user_id) as transaction:
        issued = await transaction.first(
            statement, id=grant.id, refresh_hash=keys[1][0], expires_at=now + REFRESH_LIFE, **parameters
        )
        if issued:
            await transaction.send("oauth.forget_expired_keys")
            for hashed, expires_at in keys:
                await transaction.send(
                    "access.insert_key",
                    kind=Kind.OAUTH,
                    key_hash=hashed,
                    owner_id=grant.user_id,
                    subject_id=grant.id,
                    expires_at=expires_at,
                )
    if not issued:
        await _end_stolen(backend, grant, use)
        return None
    return tokens


@retried
async def _grant(backend: Backend, client_id: str, use: Use, secret: str) -> Grant | None:
    """The grant that a secret leads to, when it is this program's."""
    found = await find_hash(backend.database, Kind.OAUTH, secret_hash(backend, use, secret))
    if found is None:
        return None
    async with backend.database.bound(found.organization_id, found.user_id) as transaction:
        row = await transaction.first("oauth.grant", id=found.subject_id)
    return Grant(**row) if row and row["client_id"] == client_id else None


async def _end_stolen(backend: Backend, grant: Grant, use: Use) -> None:
    log.warning("oauth_secret_used_twice", use=str(use), grant_id=str(grant.id), client_id=grant.client_id)
    await _end(backend, grant.organization_id, grant.user_id, grant.id)


@retried
async def _end(backend: Backend, organization_id: UUID, user_id: UUID, grant_id: UUID) -> bool:
    """End a grant; whether there was a living one. It is locked first, so that nothing is issued meanwhile."""
    async with backend.database.bound(organization_id, user_id) as transaction:
        ended = await transaction.first("oauth.revoke", id=grant_id)
        await transaction.send("access.delete_keys", kind=Kind.OAUTH, subject_id=grant_id)
    return ended is not None


async def revoke(backend: Backend, client_id: str, token: str) -> None:
    """End the grant of an access or refresh token that is this program's (RFC 7009); else do nothing."""
    for use in (Use.ACCESS, Use.REFRESH):
        if grant := await _grant(backend, client_id, use, token):
            await _end(backend, grant.organization_id, grant.user_id, grant.id)


@retried
async def connected_programs(backend: Backend, caller: Caller) -> list[ConnectedProgram]:
    """The programs that act for the caller, the newest first."""
    async with backend.database.tenant(caller) as transaction:
        return [ConnectedProgram(**row) for row in await transaction.fetch("oauth.programs")]


async def disconnect_program(backend: Backend, caller: Caller, grant_id: UUID) -> None:
    """Let a program no longer act for the caller; its next request is refused.

    Raises:
        ProgramNotFound: the caller has connected no such program.
    """
    if not await _end(backend, caller.organization_id, caller.user_id, grant_id):
        raise ProgramNotFound


async def oauth_caller(backend: Backend, secret: str, origin: Origin) -> Caller:
    """The caller whom an access token stands for.

    `client` is the program's id, the same after every renewal and after connecting anew, so that the ethical wall
    goes on knowing the program.

    Raises:
        NotSignedIn: the token is unknown, expired, revoked, or for another server, or its lawyer may not come
            in any more.
    """
    found = await find_hash(backend.database, Kind.OAUTH, secret_hash(backend, Use.ACCESS, secret))
    if found is None or found.user_id is None or found.subject_id is None:
        raise NotSignedIn
    client_id = await _admitted(backend, found, found.subject_id)
    if client_id is None:
        raise NotSignedIn
    with suppress(DatabaseReadOnly):  # a standby lets in whom it knows, and notes nothing
        await _note_use(backend, found, found.subject_id)
    backend.turns.remember(secret, found.organization_id)
    return Caller(found.organization_id, found.user_id, origin, client=f"oauth:{client_id}")


@retried
async def _admitted(backend: Backend, found: Found, grant_id: UUID) -> str | None:
    """The program of a grant, when its lawyer may still come in."""
    async with backend.database.bound(found.organization_id, found.user_id, read_only=True) as transaction:
        row = await transaction.first("oauth.admitted", id=grant_id)
    return row["client_id"] if row else None


@retried
async def _note_use(backend: Backend, found: Found, grant_id: UUID) -> None:
    """Note the use of a grant, at most once a minute in this process."""
    now = time.monotonic()
    if now - _noted.get(grant_id, float("-inf")) < NOTE_SECONDS:
        return
    if grant_id not in _noted and len(_noted) >= _REMEMBERED_GRANTS:
        del _noted[next(iter(_noted))]
    _noted[grant_id] = now
    async with backend.database.bound(found.organization_id, found.user_id) as transaction:
        await transaction.send("memory.without_waiting_for_disk")
        await transaction.send("oauth.note_use", id=grant_id)
