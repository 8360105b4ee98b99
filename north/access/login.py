"""Logging in on the web: passwords in, a session's secret out."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from datetime import UTC, datetime, timedelta

from north.access.firms import PASSWORD_MOST, PASSWORDS, normalised_email, user_of
from north.access.keys import Found, Kind, admit, find, key_hash, new_secret
from north.errors import LoginFailed, TooManyAttempts
from north.memory.backend import Backend
from north.model import User, new_id

SESSION_LIFE = timedelta(days=14)
ATTEMPTS = 10
ATTEMPT_WINDOW_SECONDS = 300.0
_REMEMBERED_NAMES = 10_000

_NOBODY = PASSWORDS.hash("the password of nobody")
"""Verified when the name is unknown, so that the time taken does not tell which names exist."""


class Throttle:
    """Counts failed attempts by name in this process: ten in five minutes, then the name waits."""

    def __init__(self) -> None:
        self._failures: dict[bytes, deque[float]] = {}

    def check(self, name: bytes) -> None:
        """Raise TooManyAttempts when this name has failed too often lately."""
        failures = self._failures.get(name)
        now = time.monotonic()
        while failures and failures[0] < now - ATTEMPT_WINDOW_SECONDS:
            failures.popleft()
        if failures and len(failures) >= ATTEMPTS:
            raise TooManyAttempts(seconds=math.ceil(failures[0] + ATTEMPT_WINDOW_SECONDS - now))

    def failed(self, name: bytes) -> None:
        """Count a failure."""
        if name not in self._failures and len(self._failures) >= _REMEMBERED_NAMES:
            del self._failures[next(iter(self._failures))]
        self._failures.setdefault(name, deque(maxlen=ATTEMPTS)).append(time.monotonic())

    def succeeded(self, name: bytes) -> None:
        """Forget the name's failures."""
        self._failures.pop(name, None)


_throttle = Throttle()


async def log_in(backend: Backend, email: str, password: str) -> tuple[User, str]:
    """Check a password and open a session, valid for 14 days.

    Returns:
        The user and the session's secret, which only the browser keeps.

    Raises:
        LoginFailed: the address or the password is wrong; not said which.
        TooManyAttempts: with `seconds` to wait.
    """
    email = normalised_email(email)
    name = key_hash(backend.secret_key, Kind.LOGIN, email)
    _throttle.check(name)
    found = await find(backend.database, backend.secret_key, Kind.LOGIN, email)
    stored = await _password_hash(backend, found) if found else None
    typed = password.encode("utf-8", "surrogatepass")
    matches = len(password) <= PASSWORD_MOST and await asyncio.to_thread(PASSWORDS.verify, typed, stored or _NOBODY)
    user = await user_of(backend, found) if found and stored and matches else None
    if user is None:
        _throttle.failed(name)
        raise LoginFailed
    _throttle.succeeded(name)
    return user, await _open_session(backend, user)


async def _password_hash(backend: Backend, found: Found) -> str | None:
    async with backend.database.tenant(found.organization_id, found.user_id) as transaction:
        row = await transaction.first("access.password")
    return row["password_hash"] if row else None


async def _open_session(backend: Backend, user: User) -> str:
    secret = new_secret("north_session")
    session_id, expires_at = new_id(), datetime.now(UTC) + SESSION_LIFE
    async with backend.database.tenant(user.organization_id, user.id) as transaction:
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
    admitted = await admit(backend.database, backend.secret_key, Kind.SESSION, secret)
    return admitted[0] if admitted else None


async def log_out(backend: Backend, secret: str) -> None:
    """End a session at once; an unknown one is ended already."""
    found = await find(backend.database, backend.secret_key, Kind.SESSION, secret)
    if found is None:
        return
    async with backend.database.tenant(found.organization_id, found.user_id) as transaction:
        await transaction.send("access.revoke_session", id=found.subject_id)
        await transaction.send("access.delete_keys", kind=Kind.SESSION, subject_id=found.subject_id)
