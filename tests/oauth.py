"""A program that signs in by OAuth, step by step: what a host does, with each step open to a test."""

from __future__ import annotations

import base64
import hashlib
import html
import re
import secrets
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2

CALLBACK = "https://claude.ai/api/mcp/auth_callback"
LOOPBACK = "http://127.0.0.1/callback"


@dataclass(frozen=True)
class Program:
    """A program with the secrets of one sign-in."""

    client_id: str
    redirect_uri: str = CALLBACK
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))
    state: str = "state/of the+program"

    @property
    def challenge(self) -> str:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def asks(self, **changes: str | None) -> dict[str, str]:
        """The parameters with which it sends the browser to North; a change of None leaves one out."""
        parameters: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "code_challenge": self.challenge,
            "code_challenge_method": "S256",
            "state": self.state,
        }
        return {name: value for name, value in (parameters | changes).items() if value is not None}

    def redeems(self, code: str, **changes: str | None) -> dict[str, str]:
        """The form with which it redeems a code."""
        fields: dict[str, str | None] = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "client_id": self.client_id,
            "code_verifier": self.verifier,
        }
        return {name: value for name, value in (fields | changes).items() if value is not None}

    def renews(self, refresh_token: str, **changes: str) -> dict[str, str]:
        """The form with which it renews its tokens."""
        return {
            "grant_type": "refresh_token",
            "refresh_token": refresh_token,
            "client_id": self.client_id,
            **changes,
        }


async def register(http: httpx2.AsyncClient, **changes: Any) -> dict[str, Any]:
    """Register a program without a secret, as Claude does, and return what it is told."""
    metadata = {"client_name": "Claude", "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"}
    reply = await http.post("/register", json=metadata | changes)
    assert reply.status_code == 201, reply.text
    told: dict[str, Any] = reply.json()
    return told


def form_of(page: str) -> dict[str, str]:
    """The hidden fields of the form on a page."""
    fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', page)
    return {html.unescape(name): html.unescape(value) for name, value in fields}


def answer_in(reply: httpx2.Response) -> dict[str, str]:
    """What the address says to which a reply leads the browser."""
    assert reply.status_code == 303, reply.text
    return dict(parse_qsl(urlsplit(reply.headers["location"]).query))


async def press(browser: httpx2.AsyncClient, asked: dict[str, str], decision: str = "allow") -> httpx2.Response:
    """Open the consent page, press a button on it, and return the reply."""
    page = await browser.get("/authorize", params=asked)
    assert page.status_code == 200, page.text
    return await browser.post("/authorize", data={**form_of(page.text), "decision": decision})


async def code_for(browser: httpx2.AsyncClient, program: Program, **changes: str) -> str:
    """The code that a program gets when the lawyer allows it."""
    return answer_in(await press(browser, program.asks(**changes)))["code"]


async def tokens_for(browser: httpx2.AsyncClient, http: httpx2.AsyncClient, program: Program) -> dict[str, Any]:
    """What a program gets at the end of a sign-in."""
    reply = await http.post("/token", data=program.redeems(await code_for(browser, program)))
    assert reply.status_code == 200, reply.text
    tokens: dict[str, Any] = reply.json()
    return tokens
