"""North's registration at NetDocuments, and how a lawyer's authorization becomes tokens, and stays one.

Endpoints and regions are those of NetDocuments' published API definition: people authorize at
`https://{domain}/neWeb2/OAuth.aspx`, and the API with its token endpoint is `https://api.{domain}`.
"""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2
import structlog

from north.errors import Misconfigured, NetDocumentsRejected, NetDocumentsUnavailable
from north.settings import Settings

log = structlog.get_logger(__name__)

REGIONS = {
    "us": "vault.netvoyage.com",
    "eu": "eu.netdocuments.com",
    "de": "de.netdocuments.com",
    "au": "au.netdocuments.com",
    "ca": "can.netdocuments.com",
}
SCOPE = "read"
SILENCE_SECONDS = 15.0
TOKEN_SECONDS = 20.0
"""How long the token endpoint may take in all."""

_DOMAIN = re.compile(r"(?=.{4,200}$)[a-z0-9-]+(\.[a-z0-9-]+)+")
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

# At INFO the library writes every address, and an address carries search words.
for _name in ("httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class Registration:
    """North as NetDocuments knows it, in the region where the firm's repository is."""

    client_id: str
    client_secret: str = field(repr=False)
    web_url: str
    api_url: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """What lets North read as a lawyer."""

    access: str = field(repr=False)
    refresh: str = field(repr=False)


class GrantRefused(Exception):
    """NetDocuments does not take this code or refresh token; `final` when it said that it never will."""

    def __init__(self, final: bool) -> None:
        self.final = final
        super().__init__()


def registration(settings: Settings) -> Registration | None:
    """North's registration as the operator set it; None when NetDocuments is not set up.

    Raises:
        Misconfigured: it is set up by half, or the region is none.
    """
    client_id, secret = settings.netdocuments_client_id, settings.netdocuments_client_secret
    if client_id is None and secret is None:
        return None
    if client_id is None or secret is None:
        raise Misconfigured(
            reason="NetDocuments needs NORTH_NETDOCUMENTS_CLIENT_ID and NORTH_NETDOCUMENTS_CLIENT_SECRET; set both or "
            "neither"
        )
    web_url, api_url = _addresses(settings.netdocuments_region)
    return Registration(client_id, secret.get_secret_value(), web_url, api_url)


def _addresses(region: str) -> tuple[str, str]:
    """Where people authorize, and where the API is."""
    name = region.strip().lower()
    if "://" in name:
        parts = urlsplit(name)
        # The client secret and the tokens go there, so nobody may listen on the way.
        if parts.hostname and (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)):
            address = f"{parts.scheme}://{parts.netloc}"
            return address, address
    else:
        domain = REGIONS.get(name, name)
        if _DOMAIN.fullmatch(domain):
            return f"https://{domain}", f"https://api.{domain}"
    raise Misconfigured(
        reason=f"NORTH_NETDOCUMENTS_REGION is `{region}`. Set {', '.join(f'`{each}`' for each in REGIONS)}, "
        "or the domain of the firm's NetDocuments"
    )


def http_client(silence_seconds: float = SILENCE_SECONDS) -> httpx2.AsyncClient:
    """A client for NetDocuments; a request that is silent for that long, in seconds, has failed.

    It follows no redirects: a token goes to the API's host and nowhere else.
    """
    return httpx2.AsyncClient(timeout=silence_seconds, follow_redirects=False, verify=_trust())


@cache
def _trust() -> ssl.SSLContext:
    """Made once: reading the machine's certificates takes as long as a call."""
    return httpx2.create_ssl_context()


def authorization_url(known: Registration, redirect_uri: str, state: str) -> str:
    """The page on which a lawyer lets North read what they can read."""
    query = {
        "client_id": known.client_id,
        "scope": SCOPE,
        "response_type": "code",
        "redirect_uri": redirect_uri,
        "state": state,
    }
    return f"{known.web_url}/neWeb2/OAuth.aspx?{urlencode(query)}"


async def exchange(http: httpx2.AsyncClient, known: Registration, code: str, redirect_uri: str) -> Tokens:
    """The tokens for an authorization code; `redirect_uri` is the one with which it was asked for.

    Raises:
        GrantRefused: the code is wrong, spent or too old.
        NetDocumentsUnavailable: it cannot be reached, or does not accept North itself.
    """
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
    return _tokens(await _ask(http, known, form), None)


async def refresh(http: httpx2.AsyncClient, known: Registration, spent: Tokens) -> Tokens:
    """New tokens for old. Where NetDocuments sends no new refresh token, the old one stays good.

    Raises:
        GrantRefused: the authorization has ended.
        NetDocumentsUnavailable: it cannot be reached, or does not accept North itself.
    """
    form = {"grant_type": "refresh_token", "refresh_token": spent.refresh}
    return _tokens(await _ask(http, known, form), spent.refresh)


async def _ask(http: httpx2.AsyncClient, known: Registration, form: dict[str, str]) -> dict[str, Any]:
    try:
        async with asyncio.timeout(TOKEN_SECONDS):
            response = await http.post(
                f"{known.api_url}/v1/OAuth",
                data=form,
                headers={"Accept": "application/json"},
                auth=httpx2.BasicAuth(known.client_id, known.client_secret),
            )
    except (TimeoutError, httpx2.TimeoutException):
        raise NetDocumentsUnavailable(reason="did not answer in time") from None
    except httpx2.RequestError:
        raise NetDocumentsUnavailable(reason="cannot be reached") from None
    answer = _json_object(response)
    if response.is_success:
        return answer
    error = str(answer.get("error", ""))
    log.warning("netdocuments_token_refused", grant=form["grant_type"], status=response.status_code)
    if response.status_code == 401 or error in {"invalid_client", "unauthorized_client"}:
        raise NetDocumentsRejected
    if response.status_code in {400, 403}:
        raise GrantRefused(final=error == "invalid_grant")
    raise NetDocumentsUnavailable(reason=f"answered with status {response.status_code}")


def _json_object(response: httpx2.Response) -> dict[str, Any]:
    try:
        answer = response.json()
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _tokens(answer: dict[str, Any], kept: str | None) -> Tokens:
    access, renewed = answer.get("access_token"), answer.get("refresh_token") or kept
    if not (isinstance(access, str) and access and isinstance(renewed, str) and renewed):
        raise NetDocumentsUnavailable(reason="gave an answer that cannot be used")
    return Tokens(access, renewed)
