"""Programs that ask to act for lawyers: by the address of a metadata document, or registered here."""

from __future__ import annotations

import hmac
import math
import re
import time
from collections import deque
from collections.abc import Sequence
from datetime import timedelta
from urllib.parse import urlsplit

from north.access.redirects import check_redirect, host_of, is_allowed
from north.db.connect import Row
from north.db.races import retried
from north.errors import ClientUnknown, InvalidInput, TooManyAttempts
from north.memory.backend import Backend
from north.memory.text import visible
from north.model import OAuthClient

NAME_LIMIT = 80
REDIRECTS_MOST = 10
UNUSED_LIFE = timedelta(days=30)
REGISTRATIONS_PER_HOUR = 60
ALL_REGISTRATIONS_PER_HOUR = 300
_HOUR_SECONDS = 3600.0
_REMEMBERED_SOURCES = 10_000
_ADDRESS_LIMIT = 500
_PLAIN_URL = re.compile(r"https://[A-Za-z0-9.-]+(:\d{1,5})?/[A-Za-z0-9\-._~/?!$&'()*+,;=:@%]+")


class RegistrationLimit:
    """Counts registrations in this process: sixty an hour from one address, three hundred from all."""

    def __init__(self) -> None:
        self._all: deque[float] = deque()
        self._by_source: dict[str, deque[float]] = {}

    def count(self, source: str) -> None:
        """Count a registration from this network address.

        Raises:
            TooManyAttempts: with `seconds` to wait.
        """
        if source not in self._by_source and len(self._by_source) >= _REMEMBERED_SOURCES:
            del self._by_source[next(iter(self._by_source))]
        own, now = self._by_source.setdefault(source, deque()), time.monotonic()
        for times, most in ((own, REGISTRATIONS_PER_HOUR), (self._all, ALL_REGISTRATIONS_PER_HOUR)):
            while times and times[0] < now - _HOUR_SECONDS:
                times.popleft()
            if len(times) >= most:
                raise TooManyAttempts(seconds=math.ceil(times[0] + _HOUR_SECONDS - now))
        own.append(now)
        self._all.append(now)


def is_document_address(client_id: str) -> bool:
    """Whether a client id is the https address of a metadata document, as opposed to an id that North gave out."""
    if len(client_id) > _ADDRESS_LIMIT or not _PLAIN_URL.fullmatch(client_id):
        return False
    return not any(segment in (".", "..") for segment in urlsplit(client_id).path.split("/"))


def describe_client(client_id: str, name: str | None, redirect_uris: Sequence[str], has_secret: bool) -> OAuthClient:
    """A program from what it says of itself; its name is cut to one visible line.

    Raises:
        InvalidInput: it has no redirect URI, more than ten, or one that North sends nothing to.
    """
    if not 1 <= len(redirect_uris) <= REDIRECTS_MOST:
        raise InvalidInput(reason=f"a program has 1 to {REDIRECTS_MOST} redirect URIs")
    redirects = tuple(check_redirect(uri) for uri in redirect_uris)
    shown = " ".join(visible(name or "").split())[:NAME_LIMIT].strip()
    return OAuthClient(client_id, shown or host_of(redirects[0]), redirects, has_secret)


def documented_client(address: str, name: str | None, redirect_uris: Sequence[str]) -> OAuthClient:
    """A program from its metadata document. Redirect URIs to which North sends nothing are left out.

    Raises:
        ClientUnknown: none is left.
    """
    usable = [uri for uri in redirect_uris if is_allowed(uri)][:REDIRECTS_MOST]
    if not usable:
        raise ClientUnknown(reason="the document that describes it names no redirect URI that can be used")
    return describe_client(address, name, usable, has_secret=False)


@retried
async def register_client(backend: Backend, client: OAuthClient) -> None:
    """Keep a program's description for whenever a lawyer connects it; forget those that nobody ever connected."""
    async with backend.database.bound(None, None) as transaction:
        await transaction.send("oauth.forget_unused_clients", created_before=backend.database.now() - UNUSED_LIFE)
        await transaction.send(
            "oauth.insert_client",
            id=client.id,
            name=client.name,
            redirect_uris=list(client.redirect_uris),
            has_secret=client.has_secret,
        )


async def registered_client(backend: Backend, client_id: str) -> OAuthClient | None:
    """The program that registered under this id."""
    if "\x00" in client_id:
        return None
    rows = await backend.database.lookup("oauth.client", id=client_id)
    return _client(rows[0]) if rows else None


def client_secret(backend: Backend, client_id: str) -> str:
    """The secret of a registered program: made from its id, so that it is stored nowhere."""
    return hmac.digest(backend.secret_key, f"oauth-client-secret:{client_id}".encode(), "sha256").hex()


def _client(row: Row) -> OAuthClient:
    return OAuthClient(row["id"], row["name"], tuple(row["redirect_uris"]), row["has_secret"])
