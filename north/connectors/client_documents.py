"""Client ID metadata documents: a program that is known by the https address of what it says of itself.

Anybody can write such an address, so it is fetched with care (draft-ietf-oauth-client-id-metadata-document, section 6):
only from public addresses, resolved once and then dialled; no redirects; 5 KB; five seconds.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog
from fastmcp.server.auth.cimd import CIMDDocument
from fastmcp.server.auth.ssrf import SSRFError, SSRFFetchError, ssrf_safe_fetch_response
from pydantic import ValidationError

from north.errors import ClientUnknown

log = structlog.get_logger(__name__)

SIZE_LIMIT = 5 * 1024
FETCH_SECONDS = 5.0
KEPT_SECONDS = 300.0
KEPT_MOST = 1000

Fetch = Callable[[str], Awaitable[bytes]]
"""Fetches an https address; raises SSRFError or SSRFFetchError."""


async def fetch_public(address: str) -> bytes:
    """Fetch a document from the public internet.

    Raises:
        SSRFError: the address is not public, or is not https.
        SSRFFetchError: there is no answer, a redirect, or more than 5 KB.
    """
    response = await ssrf_safe_fetch_response(
        address,
        require_path=True,
        max_size=SIZE_LIMIT,
        timeout=FETCH_SECONDS,
        overall_timeout=FETCH_SECONDS,
        # Uncompressed, so that nothing small can unpack into something large.
        request_headers={"Accept": "application/json", "Accept-Encoding": "identity"},
    )
    return response.content


@dataclass(frozen=True, slots=True)
class ClientDocument:
    """What a program's document says: its name, unchecked, and where answers may go."""

    name: str | None
    redirect_uris: tuple[str, ...]


class ClientDocuments:
    """Finds documents by their address, and keeps up to a thousand of them for five minutes."""

    def __init__(self, fetch: Fetch = fetch_public) -> None:
        self._fetch = fetch
        self._kept: dict[str, tuple[float, ClientDocument]] = {}

    async def find(self, address: str) -> ClientDocument:
        """The document at `address`.

        Raises:
            ClientUnknown: it cannot be fetched, is no document of this address, or asks for what North has not.
        """
        kept_at, document = self._kept.get(address, (float("-inf"), None))
        if document is not None and time.monotonic() - kept_at < KEPT_SECONDS:
            return document
        try:
            content = await self._fetch(address)
        except (SSRFError, SSRFFetchError) as error:
            log.warning("client_document_not_fetched", address=address, reason=type(error).__name__)
            raise ClientUnknown(reason="the document that describes it cannot be fetched") from error
        document = _read(address, content)
        self._kept.pop(address, None)
        if len(self._kept) >= KEPT_MOST:
            del self._kept[next(iter(self._kept))]
        self._kept[address] = (time.monotonic(), document)
        return document


def _read(address: str, content: bytes) -> ClientDocument:
    try:
        told = json.loads(content)
        document = CIMDDocument.model_validate(told)
    except (ValueError, RecursionError, ValidationError) as error:
        raise ClientUnknown(reason="the document that describes it cannot be read") from error
    # As it is written: a URL type would take two spellings for one.
    if told["client_id"] != address:
        raise ClientUnknown(reason="the document that describes it belongs to another program")
    if document.token_endpoint_auth_method != "none":  # noqa: S105 - a method, not a password
        raise ClientUnknown(reason="it wants to sign its requests, which North cannot verify yet")
    return ClientDocument(document.client_name, tuple(document.redirect_uris))
