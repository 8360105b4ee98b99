"""The ethical wall: a session that consulted a walled source may not write what the firm shares.

A chat session is its thread. A host has no sessions of its own, so it is given a handle, bound to the lawyer, and
passes it with each call. Decided inside the door, before anything is written; personal memory is never barred.

A consultation and a write that race are serialised on the lawyer's row: once a consultation is committed, no shared
memory of that session is written any more.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass

from psycopg import AsyncCursor

from north.db.connect import Row, Transaction
from north.db.races import retried
from north.errors import SessionUnknown, WalledSourceUnknown
from north.memory.backend import Backend
from north.model import Caller, Scope, new_id


@dataclass(frozen=True, slots=True)
class WalledSource:
    """A system whose contents must not reach shared memory."""

    key: str
    name: str


WALLED_SOURCES = {
    source.key: source
    for source in (
        WalledSource("netdocuments", "NetDocuments"),
        WalledSource("imanage", "iManage"),  # read by other servers alone, which report it
    )
}
"""The registry; a new walled source is a row here."""

SHARED_SCOPES = frozenset({Scope.MATTER, Scope.FIRM_GLOBAL})
_RANDOM_BYTES = 16
_SIGNATURE_BYTES = 16


def source_name(key: str) -> str:
    """A walled source as a lawyer knows it."""
    source = WALLED_SOURCES.get(key)
    return source.name if source else key


def mint_session(backend: Backend, caller: Caller) -> str:
    """A new session handle: random, and signed for this lawyer, so that it needs no storage and cannot be forged."""
    random = secrets.token_bytes(_RANDOM_BYTES)
    return base64.urlsafe_b64encode(random + _signature(backend, caller, random)).decode().rstrip("=")


def session_hash(backend: Backend, caller: Caller) -> bytes | None:
    """What the caller's session handle is stored as; None when the caller sent none.

    Raises:
        SessionUnknown: the handle is not one that North made for this lawyer.
    """
    if caller.session is None:
        return None
    try:
        raw = base64.urlsafe_b64decode(caller.session.encode("ascii") + b"=" * (-len(caller.session) % 4))
    except ValueError as error:
        raise SessionUnknown from error
    random, signature = raw[:_RANDOM_BYTES], raw[_RANDOM_BYTES:]
    if len(random) < _RANDOM_BYTES or not hmac.compare_digest(signature, _signature(backend, caller, random)):
        raise SessionUnknown
    return hashlib.sha256(random).digest()


def _signature(backend: Backend, caller: Caller, random: bytes) -> bytes:
    bound = b"session:" + caller.organization_id.bytes + caller.user_id.bytes + random
    return hmac.digest(backend.secret_key, bound, hashlib.sha256)[:_SIGNATURE_BYTES]


async def hold(transaction: Transaction) -> AsyncCursor[Row]:
    """Queue what comes before every shared write is decided on: from here on, no consultation is recorded beside it.

    It brings what `memory.writer` does, since that stands in the row that is held.
    """
    return await transaction.send("wall.hold_for_write")


async def ask(transaction: Transaction, backend: Backend, caller: Caller) -> AsyncCursor[Row]:
    """Queue the question whether the caller's session is barred; where a shared write depends on it, after `hold`.

    Raises:
        SessionUnknown: the caller's session handle is not theirs.
    """
    return await transaction.send(
        "wall.taint",
        thread_id=caller.thread_id,
        session_hash=session_hash(backend, caller),
        client=caller.client,
        wall_window=backend.wall_window,
    )


async def answer(cursor: AsyncCursor[Row]) -> str | None:
    """The name of the source that bars the session, if one does."""
    row = await cursor.fetchone()
    return source_name(row["source"]) if row else None


@retried
async def record_consultation(backend: Backend, caller: Caller, source: str) -> None:
    """Record that the caller's session has read from a walled source, before what it read is handed over.

    Args:
        backend: the running North.
        caller: with `thread_id` for a chat, `session` and `client` for a host.
        source: a key of the registry, such as `netdocuments`.

    Raises:
        WalledSourceUnknown: the registry has no such source.
        SessionUnknown: the caller's session handle is not theirs.
    """
    if source not in WALLED_SOURCES:
        raise WalledSourceUnknown(known=", ".join(WALLED_SOURCES))
    handle = session_hash(backend, caller)
    async with backend.database.tenant(caller) as transaction:
        await transaction.send("wall.hold_for_consultation")
        await transaction.send(
            "wall.insert_consultation",
            id=new_id(),
            source=source,
            client=caller.client,
            thread_id=caller.thread_id,
            session_hash=handle,
        )
