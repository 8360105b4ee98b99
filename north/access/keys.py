"""Keyed hashes: how a secret, or a name, is found without being stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from north.db.connect import Database
from north.model import User


class Kind(StrEnum):
    """What a key in the lookup table stands for."""

    FIRM = "firm"
    LOGIN = "login"
    SESSION = "session"
    TOKEN = "token"  # noqa: S105 - a kind of key, not a password
    OAUTH = "oauth"


@dataclass(frozen=True, slots=True)
class Found:
    """Whose key it is; `subject_id` names the session, the token or the grant."""

    organization_id: UUID
    user_id: UUID | None
    subject_id: UUID | None


def key_hash(secret_key: bytes, kind: StrEnum, text: str) -> bytes:
    """HMAC-SHA-256 of `text`; without `secret_key` nobody can tell, or test, what stands in the lookup table."""
    return hmac.digest(secret_key, f"{kind}:{text}".encode("utf-8", "surrogatepass"), hashlib.sha256)


def new_secret(prefix: str) -> str:
    """A secret of 256 random bits; the prefix lets secret scanners recognise it."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


async def find(database: Database, secret_key: bytes, kind: Kind, text: str) -> Found | None:
    """What this secret or name leads to, in one round trip; None for unknown, revoked and expired ones alike."""
    return await find_hash(database, kind, key_hash(secret_key, kind, text))


async def find_hash(database: Database, kind: Kind, hashed: bytes) -> Found | None:
    """What a secret or name with this keyed hash leads to."""
    rows = await database.lookup("access.find_key", kind=kind, key_hash=hashed)
    return Found(rows[0]["firm_id"], rows[0]["user_id"], rows[0]["subject_id"]) if rows else None


async def admit(database: Database, kind: Kind, hashed: bytes) -> tuple[User, Found] | None:
    """The user behind a secret with this keyed hash, in one round trip.

    Returns:
        The user and what the secret leads to; None when it is unknown, revoked or expired, or they may not come in.
    """
    rows = await database.admit(kind, hashed)
    if rows is None:
        return None
    key, user = rows
    return User(**user), Found(key["firm_id"], key["user_id"], key["subject_id"])
