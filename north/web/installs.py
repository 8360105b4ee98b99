"""One-line installs: what to paste where, so that a program reaches this North over MCP."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

BEARER = "Bearer $NORTH_TOKEN"
ASKED_FOR = "north-token"
"""The name under which VS Code asks for the token and keeps it."""


@dataclass(frozen=True, slots=True)
class Paste:
    """One text to copy, and how it signs in."""

    sign_in: str
    text: str


@dataclass(frozen=True, slots=True)
class Install:
    """A program, where to paste, and the texts."""

    program: str
    about: str
    pastes: tuple[Paste, ...]


def installs(address: str) -> list[Install]:
    """Every program that has an install of its own, and the form that others understand.

    Args:
        address: where people reach this North, without a trailing slash.
    """
    url = f"{address}/mcp"
    return [
        Install(
            "Claude Code",
            "Run one of these in a terminal. To sign in afterwards, type /mcp in a session.",
            _both(
                f"claude mcp add --transport http --scope user north {url}",
                f'claude mcp add --transport http --scope user north {url} --header "Authorization: {BEARER}"',
            ),
        ),
        Install(
            "claude.ai and Cowork",
            "In Claude’s settings, under Connectors, add a custom connector named North with this address. "
            "Claude connects from its own servers, so the address must be public and start with https.",
            (Paste(SIGN_IN, url),),
        ),
        Install("VS Code", "Run one of these in a terminal.", _both(_vs_code(url), _vs_code(url, token=True))),
        Install(
            "Cursor",
            "Open one of these in a browser. With a token, Cursor reads it from NORTH_TOKEN of its environment.",
            _both(_cursor(url), _cursor(url, token=True)),
        ),
        Install(
            "Another MCP host",
            "Add one of these to its configuration file.",
            _both(_generic(url), _generic(url, Authorization=BEARER)),
        ),
    ]


SIGN_IN, TOKEN = "Signing in", "With a token"


def _both(signing_in: str, with_token: str) -> tuple[Paste, Paste]:
    return Paste(SIGN_IN, signing_in), Paste(TOKEN, with_token)


def _vs_code(url: str, *, token: bool = False) -> str:
    server: dict[str, Any] = {"name": "north", "type": "http", "url": url}
    if token:
        server["headers"] = {"Authorization": f"Bearer ${{input:{ASKED_FOR}}}"}
        server["inputs"] = [{"id": ASKED_FOR, "type": "promptString", "description": "North token", "password": True}]
    return f"code --add-mcp '{json.dumps(server)}'"


def _cursor(url: str, *, token: bool = False) -> str:
    server: dict[str, Any] = {"url": url}
    if token:
        server["headers"] = {"Authorization": "Bearer ${env:NORTH_TOKEN}"}
    config = quote(base64.b64encode(json.dumps(server).encode()).decode(), safe="")
    return f"cursor://anysphere.cursor-deeplink/mcp/install?name=north&config={config}"


def _generic(url: str, **headers: str) -> str:
    server: dict[str, Any] = {"type": "http", "url": url}
    if headers:
        server["headers"] = headers
    return json.dumps({"mcpServers": {"north": server}}, indent=2)
