"""What stands between a browser and the pages: headers on every reply, and no writes from other sites."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from north.errors import CrossSiteRequest, TooManyRequests
from north.turns import Turns, in_turn
from north.web.error_pages import error_page

OTHER_SURFACES = (
    "/api", "/mcp", "/.well-known", "/token", "/register", "/revoke", "/healthz", "/readyz", "/metrics",
)  # fmt: skip
"""Paths that no page lives under; who calls them sends a bearer token and no cookie."""

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

SESSION_COOKIE = "north_session"

POPUP_PAGES = frozenset({"/authorize", "/login"})
"""Pages that a program may open in a window of its own, which has to find its opener again when it is led back."""

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

PAGE_HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def is_page(path: str) -> bool:
    """Whether a path belongs to the web surface, and to no other one."""
    return not any(path == prefix or path.startswith(f"{prefix}/") for prefix in OTHER_SURFACES)


def is_cross_site(headers: Headers, address: str) -> bool:
    """Whether a browser sent this write on behalf of another site.

    `Sec-Fetch-Site` decides where a browser sends it (over https, and on this machine); else `Origin`
    must be this server's, by its public `address` or by the host that was asked. A request with neither
    comes from no browser in use, and a program has no cookie that another site could borrow.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in {"same-origin", "none"}
    origin = headers.get("origin")
    if origin is None:
        return False
    return origin != _origin_of(address) and urlsplit(origin).netloc != headers.get("host")


def _origin_of(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


class PageSecurity:
    """Middleware that refuses cross-site writes to the pages and completes the headers of their replies."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or not is_page(scope["path"]):
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if scope["path"] in POPUP_PAGES:
                    headers.setdefault("Cross-Origin-Opener-Policy", "unsafe-none")
                complete_headers(headers, _is_https(scope))
            await send(message)

        request = Request(scope)
        if request.method not in SAFE_METHODS and is_cross_site(request.headers, _address(scope)):
            await error_page(request, CrossSiteRequest())(scope, receive, send_with_headers)
            return
        try:
            await in_turn(_turns(scope), _session(request), self.app, scope, receive, send_with_headers)
        except TooManyRequests as error:
            page = error_page(request, error)
            page.headers["Retry-After"] = str(error.detail["seconds"])
            await page(scope, receive, send_with_headers)


def complete_headers(headers: MutableHeaders, https: bool) -> None:
    """Add the headers that every reply to a browser carries, unless the reply has its own."""
    for name, value in PAGE_HEADERS.items():
        headers.setdefault(name, value)
    if https:
        headers.setdefault("Strict-Transport-Security", "max-age=31536000")


def policy_with_form_target(target: str) -> str:
    """The policy of a page whose form's answer leads the browser on to `target`, a source expression.

    Chromium holds a redirect after a form to `form-action` too.
    """
    return CONTENT_POLICY.replace("form-action 'self'", f"form-action 'self' {target}")


def _session(request: Request) -> str | None:
    """Whose turn a page takes; what every page carries, such as its script, takes none."""
    return None if request.url.path.startswith("/static/") else request.cookies.get(SESSION_COOKIE)


def _turns(scope: Scope) -> Turns:
    turns: Turns = scope["app"].state.backend.turns
    return turns


def _address(scope: Scope) -> str:
    address: str = scope["app"].state.backend.settings.address
    return address


def _is_https(scope: Scope) -> bool:
    return _address(scope).startswith("https:")
