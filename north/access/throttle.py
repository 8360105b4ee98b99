"""How often a login may fail: counted in the database, for every server, by what was typed and by where it came from.

A count leaks away at a steady rate (GCRA, a leaky bucket that is one point in time: ITU-T I.371), so that one row tells
everything and is forgotten by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from ipaddress import IPv6Address, IPv6Network, ip_address

from north.access.keys import key_hash
from north.errors import TooManyLogins
from north.memory.backend import Backend

WINDOW = timedelta(minutes=5)
OF_ACCOUNT = 10
OF_ADDRESS = 100
_SUBNET_BITS = 64  # what one customer of a provider has


class Counted(StrEnum):
    """What attempts are counted by."""

    ACCOUNT = "login_account"
    ADDRESS = "login_address"


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to log in that has been counted."""

    account: bytes
    address: bytes | None


async def begin_attempt(backend: Backend, email: str, address: str | None) -> Attempt:
    """Count an attempt, before it is known whether it succeeds: as many at once as anybody likes are all counted.

    Args:
        backend: the running North.
        email: the login name, normalised; nothing differs for one that there is not.
        address: the network address that it comes from; None when it comes from no network.

    Raises:
        TooManyLogins: with `seconds` until the next attempt can be made.
    """
    attempt = Attempt(
        key_hash(backend.secret_key, Counted.ACCOUNT, email),
        key_hash(backend.secret_key, Counted.ADDRESS, _subnet(address)) if address else None,
    )
    if attempt.address:  # first, so that an address that has to wait does not make others' accounts wait
        await _count(backend, attempt.address, OF_ADDRESS)
    await _count(backend, attempt.account, OF_ACCOUNT)
    return attempt


async def attempt_failed(backend: Backend) -> None:
    """An attempt stays counted. What counts no more is forgotten on the way."""
    await backend.database.lookup("throttle.forget_spent")


async def attempt_succeeded(backend: Backend, attempt: Attempt) -> None:
    """Take an attempt back, and what failed before for the same account."""
    await backend.database.lookup("throttle.forget", key_hash=attempt.account)
    if attempt.address:
        await backend.database.lookup("throttle.take_back", key_hash=attempt.address, each=WINDOW / OF_ADDRESS)


async def _count(backend: Backend, hashed: bytes, most: int) -> None:
    rate = {"each": WINDOW / most, "whole": WINDOW}
    if not await backend.database.lookup("throttle.count", key_hash=hashed, **rate):
        rows = await backend.database.lookup("throttle.wait", key_hash=hashed, **rate)
        raise TooManyLogins(seconds=max(1, rows[0]["seconds"]) if rows else 1)


def _subnet(address: str) -> str:
    """An address as it is counted: of IPv6, the network that one customer has."""
    try:
        known = ip_address(address)
    except ValueError:  # a socket's path, or whatever else a server calls the other side
        return address
    if isinstance(known, IPv6Address) and known.ipv4_mapped is None:
        return str(IPv6Network((known, _SUBNET_BITS), strict=False))
    return str(getattr(known, "ipv4_mapped", None) or known)
