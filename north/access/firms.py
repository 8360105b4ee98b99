"""Firms and their lawyers, as the operator sets them up."""

from __future__ import annotations

import asyncio
import re
from uuid import UUID

from pwdlib import PasswordHash

from north.access.keys import Found, Kind, find, key_hash
from north.db.races import LostRace, retried
from north.errors import AlreadyExists, FirmNotFound, InvalidInput, UserNotFound
from north.memory.backend import Backend
from north.memory.input import check_line
from north.memory.text import check_storable
from north.model import User, new_id

PASSWORDS = PasswordHash.recommended()
PASSWORD_LEAST = 10
PASSWORD_MOST = 200
_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,190}")


def normalised_email(email: str) -> str:
    """An address as it is stored and looked up."""
    return email.strip().lower()


@retried
async def create_firm(backend: Backend, slug: str, name: str) -> UUID:
    """Create a firm.

    Args:
        backend: the running North.
        slug: its short name for commands: lower-case letters, digits and hyphens, at most 63.
        name: its name for people.

    Raises:
        InvalidInput: the slug or the name cannot be used.
        AlreadyExists: another firm has this slug.
    """
    if not _SLUG.fullmatch(slug):
        raise InvalidInput(reason="a firm's short name has lower-case letters, digits and hyphens, at most 63")
    organization_id = new_id()
    try:
        async with backend.database.bound(organization_id, None) as transaction:
            await transaction.send("access.insert_organization", slug=slug, name=check_line(name, "firm's name", 200))
            await transaction.send(
                "access.insert_key",
                kind=Kind.FIRM,
                key_hash=key_hash(backend.secret_key, Kind.FIRM, slug),
                owner_id=None,
                subject_id=None,
                expires_at=None,
            )
    except LostRace as error:
        if error.constraint is None:
            raise
        raise AlreadyExists(what="firm", name=slug) from error
    return organization_id


async def find_firm(backend: Backend, slug: str) -> UUID:
    """The id of the firm with this slug.

    Raises:
        FirmNotFound: there is none.
    """
    found = await find(backend.database, backend.secret_key, Kind.FIRM, slug)
    if found is None:
        raise FirmNotFound(slug=slug)
    return found.organization_id


async def add_user(
    backend: Backend, organization_id: UUID, email: str, name: str, password: str, role: str = "lawyer"
) -> User:
    """Add a lawyer, or an administrator (`role="admin"`), to a firm.

    Raises:
        InvalidInput: the address, the name, the role or the password (10 to 200 characters) cannot be used.
        AlreadyExists: somebody logs in with this address already.
    """
    email = normalised_email(check_line(email, "e-mail address", 255))
    if not _EMAIL.fullmatch(email):
        raise InvalidInput(reason="this is not an e-mail address")
    if role not in ("lawyer", "admin"):
        raise InvalidInput(reason="a role is `lawyer` or `admin`")
    return await insert_user(
        backend, organization_id, email, name, role, await asyncio.to_thread(hash_password, password)
    )


def hash_password(password: str) -> str:
    """The argon2id hash under which a password is stored; slow on purpose, so not for the event loop.

    Raises:
        InvalidInput: it has not 10 to 200 characters, or they are not text.
    """
    if not PASSWORD_LEAST <= len(password) <= PASSWORD_MOST:
        raise InvalidInput(reason=f"a password has {PASSWORD_LEAST} to {PASSWORD_MOST} characters")
    check_storable(password)
    return PASSWORDS.hash(password)


@retried
async def insert_user(
    backend: Backend, organization_id: UUID, email: str, name: str, role: str, password_hash: str
) -> User:
    """Add a checked user with a password that is hashed already.

    Raises:
        AlreadyExists: somebody logs in with this address already.
    """
    user_id = new_id()
    try:
        async with backend.database.bound(organization_id, user_id) as transaction:
            row = await transaction.first(
                "access.insert_user", email=email, name=check_line(name, "name", 200), role=role
            )
            await transaction.send("access.insert_password", password_hash=password_hash)
            await transaction.send(
                "access.insert_key",
                kind=Kind.LOGIN,
                key_hash=key_hash(backend.secret_key, Kind.LOGIN, email),
                owner_id=user_id,
                subject_id=None,
                expires_at=None,
            )
    except LostRace as error:
        if error.constraint is None:
            raise
        raise AlreadyExists(what="user", name=email) from error
    assert row is not None
    return User(**row)


async def find_user(backend: Backend, email: str) -> User:
    """The user who logs in with this address.

    Raises:
        UserNotFound: there is none.
    """
    found = await find(backend.database, backend.secret_key, Kind.LOGIN, normalised_email(email))
    user = await user_of(backend, found) if found else None
    if user is None:
        raise UserNotFound(email=email)
    return user


@retried
async def user_of(backend: Backend, found: Found) -> User | None:
    """The user behind a key; None when they may not log in any more."""
    async with backend.database.bound(found.organization_id, found.user_id, read_only=True) as transaction:
        row = await transaction.first("access.user")
    return User(**row) if row else None
