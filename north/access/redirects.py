"""Redirect URIs: which ones a program may have, and when two of them are the same."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlencode, urlsplit

from north.errors import InvalidInput

LENGTH_LIMIT = 500
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
APP_SCHEMES = frozenset({"cursor", "vscode", "vscode-insiders", "windsurf", "zed"})
"""Schemes of known programs that have no dot, as RFC 8252 (7.1) would have it."""

_CHARACTERS = re.compile(r"[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]+")
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


def check_redirect(uri: str) -> str:
    """`uri`, when an answer may be sent there.

    That is: https; http to this computer itself (RFC 8252, 7.3); or the scheme of a program on this computer, which
    is a known one or a reversed domain name (RFC 8252, 7.1).

    Raises:
        InvalidInput: with what is wrong.
    """
    if not _CHARACTERS.fullmatch(uri) or len(uri) > LENGTH_LIMIT:
        raise InvalidInput(reason=f"a redirect URI has at most {LENGTH_LIMIT} URL characters and no fragment")
    try:
        parts = urlsplit(uri)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise InvalidInput(reason="a redirect URI has a host or a port that cannot be read") from None
    if "@" in parts.netloc:
        raise InvalidInput(reason="a redirect URI names no user")
    if parts.scheme == "https" and _HOST.fullmatch(host):
        return uri
    if parts.scheme == "http" and host in LOOPBACK:
        return uri
    if parts.scheme in APP_SCHEMES or "." in parts.scheme:
        return uri
    raise InvalidInput(
        reason="a redirect URI is https, http on this computer (127.0.0.1, [::1] or localhost), or an app's own scheme"
    )


def is_allowed(uri: str) -> bool:
    """Whether an answer may be sent to `uri`."""
    try:
        check_redirect(uri)
    except InvalidInput:
        return False
    return True


def is_registered(uri: str, registered: tuple[str, ...]) -> bool:
    """Whether an answer may be sent to `uri`, and it is one of those registered, character for character.

    On this computer alone any port will do, since a program cannot know beforehand which one it gets (RFC 8252, 7.3).
    """
    if not is_allowed(uri):
        return False
    return uri in registered or any(_is_same_but_for_the_port(uri, other) for other in registered)


def _is_same_but_for_the_port(uri: str, other: str) -> bool:
    first, second = urlsplit(uri), urlsplit(other)
    return first.scheme == "http" and _without_port(first) == _without_port(second) and first.hostname in LOOPBACK


def _without_port(parts: SplitResult) -> SplitResult:
    return parts._replace(netloc=parts.hostname or "")


def host_of(uri: str) -> str:
    """Where an answer goes, for people: a host's name, or that it stays on this computer."""
    parts = urlsplit(uri)
    if parts.scheme == "https":
        return parts.netloc
    return "this computer" if parts.scheme == "http" else f"this computer ({parts.scheme}:)"


def form_target(uri: str) -> str:
    """The source expression that lets a form's answer lead to `uri` (Content-Security-Policy, `form-action`)."""
    parts = urlsplit(uri)
    # An address in brackets is no host source: there the scheme has to do.
    has_host_source = parts.scheme in ("http", "https") and "[" not in parts.netloc
    return f"{parts.scheme}://{parts.netloc}" if has_host_source else f"{parts.scheme}:"


def with_answer(uri: str, answer: dict[str, str]) -> str:
    """`uri` with an answer in its query; what is there already stays as it is."""
    return f"{uri}{'&' if '?' in uri else '?'}{urlencode(answer)}"
