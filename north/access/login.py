"""Logging in on the web: passwords in, a session's secret out."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import UUID

from north.access.firms import PASSWORD_MOST, PASSWORDS, normalised_email, user_of
from north.access.keys import Found, Kind, admit, find, key_hash, new_secret
from north.access.throttle import attempt_failed, attempt_succeeded, begin_attempt
from north.db.races import retried
from north.errors import LoginFailed
from north.memory.backend import Backend
from north.model import User, new_id

SESSION_LIFE = timedelta(days=14)
_NOBODY = PASSWORDS.hash("the password of nobody")
"""Verified when the name is unknown, so that the time taken does not tell which names exist."""


_NO_LOGIN = Found(UUID(int=0), UUID(int=0), None)
"""Whose password is looked for when the name is unknown, so that the same work is done."""


async def log_in(backend: Backend, email: str, password: str, address: str | None = None) -> tuple[User, str]:
    """Check a password and open a session, valid for 14 days.

    Args:
        backend: the running North.
        email: the login name.
        password: what was typed.
        address: the network address that it comes from.

    Returns:
        The user and the session's secret, which only the browser keeps.

    Raises:
        LoginFailed: the address or the password is wrong; not said which.
        TooManyLogins: with `seconds` to wait.
    """
    email = normalised_email(email)
    attempt = await begin_attempt(backend, email, address)
    found = await find(backend.database, backend.secret_key, Kind.LOGIN, email)
    stored = await _password_hash(backend, found or _NO_LOGIN)
    typed = password.encode("utf-8", "surrogatepass")
    matches = len(password) <= PASSWORD_MOST and await asyncio.to_thread(PASSWORDS.verify, typed, stored or _NOBODY)
    user = await user_of(backend, found) if found and stored and matches else None
    if user is None:
        await attempt_failed(backend)
        raise LoginFailed
    await attempt_succeeded(backend, attempt)
    return user, await _open_session(backend, user)


@retried
async def _password_hash(backend: Backend, found: Found) -> str | None:
    async with backend.database.bound(found.organization_id, found.user_id, read_only=True) as transaction:
        row = await transaction.first("access.password")
    return row["password_hash"] if row else None


@retried
async def _open_session(backend: Backend, user: User) -> str:
    secret = new_secret("north_session")
    session_id, expires_at = new_id(), backend.database.now() + SESSION_LIFE
    async with backend.database.bound(user.organization_id, user.id) as transaction:
        await transaction.send("access.insert_session", id=session_id, expires_at=expires_at)
        await transaction.send(
            "access.insert_key",
            kind=Kind.SESSION,
            key_hash=key_hash(backend.secret_key, Kind.SESSION, secret),
            owner_id=user.id,
            subject_id=session_id,
            expires_at=expires_at,
        )
    return secret


async def session_user(backend: Backend, secret: str) -> User | None:
    """The user whose session this is; None when it is unknown, ended or expired."""
    admitted = await admit(backend.database, Kind.SESSION, key_hash(backend.secret_key, Kind.SESSION, secret))
    if admitted is None:
        return None
    user, _ = admitted
    backend.turns.remember(secret, user.organization_id)
    return user


@retried
async def log_out(backend: Backend, secret: str) -> None:
    """End a session at once; an unknown one is ended already."""
    found = await find(backend.database, backend.secret_key, Kind.SESSION, secret)
    if found is None:
        return
    async with backend.database.bound(found.organization_id, found.user_id) as transaction:
        await transaction.send("access.revoke_session", id=found.subject_id)
        await transaction.send("access.delete_keys", kind=Kind.SESSION, subject_id=found.subject_id)
