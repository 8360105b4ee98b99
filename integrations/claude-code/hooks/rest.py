"""What the hooks share: one call to North, with the address and the token of the environment.

`NORTH_URL` is North's address (default http://127.0.0.1:8400), `NORTH_TOKEN` an access token from Settings →
Connections. Only Python's standard library is used, so that a hook runs wherever Python 3 does.
"""

from __future__ import annotations

import json
import os
import urllib.request
from http.client import HTTPException
from typing import Any

DEFAULT_URL = "http://127.0.0.1:8400"
SECONDS = 4.0


class Away(Exception):
    """North did not answer, or did not accept the call."""


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the token is for North's own address."""

    def redirect_request(self, *_: Any) -> None:
        """Make a redirect an error."""


def is_set_up() -> bool:
    """Whether there is a token to call with."""
    return bool(os.environ.get("NORTH_TOKEN"))


def call(method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Call North's REST API.

    Args:
        method: the HTTP method.
        path: what follows `/api/v1`.
        body: what is sent as JSON.

    Raises:
        Away: there is no usable answer within a few seconds.
    """
    address = (os.environ.get("NORTH_URL") or DEFAULT_URL).rstrip("/")
    if not address.startswith(("https://", "http://")):
        raise Away
    headers = {"Authorization": f"Bearer {os.environ.get('NORTH_TOKEN', '')}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    try:
        request = urllib.request.Request(f"{address}/api/v1{path}", data, headers, method=method)  # noqa: S310 — checked
        with urllib.request.build_opener(NoRedirects).open(request, timeout=SECONDS) as reply:
            answer: dict[str, Any] = json.load(reply)
            return answer
    except (OSError, ValueError, HTTPException) as error:
        raise Away from error


def tell(event: str, context: str) -> None:
    """Give Claude text to read, as a hook of this event does."""
    print(json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}))
