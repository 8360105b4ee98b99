"""Rendering: the templates, what every page knows, and where a form leads afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from north.memory.rules import describe
from north.model import MemoryType, Origin, Scope
from north.web import import_wording, wording
from north.web.assets import asset_address
from north.web.markdown import render_markdown

THEMES = ("light", "dark", "system")
THEME_COOKIE = "north_theme"


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {
        "markdown": render_markdown,
        "relative_time": wording.relative_time,
        "short_date": wording.short_date,
        "exact_time": wording.exact_time,
        "scope_in_words": wording.scope_in_words,
        "origin_in_words": wording.origin_in_words,
        "uses_in_words": wording.uses_in_words,
        "matter_of_thread": wording.matter_of_thread,
        "rule_in_words": describe,
        "is_under_way": import_wording.is_under_way,
        "import_state": import_wording.import_state,
        "report_in_words": import_wording.report_in_words,
        "memories_in_words": import_wording.memories_in_words,
    }
    environment.globals |= {
        "asset": asset_address,
        "Scope": Scope,
        "MemoryType": MemoryType,
        "Origin": Origin,
        "TYPE_WORDS": wording.TYPE_WORDS,
        "TYPES_IN_A_RULE": wording.TYPES_IN_A_RULE,
        "SCOPES_IN_A_RULE": wording.SCOPES_IN_A_RULE,
        "ORIGIN_WORDS": wording.ORIGIN_WORDS,
        "EXPORT_FORMATS": wording.EXPORT_FORMATS,
    }
    return environment


_ENVIRONMENT = _environment()


def render(request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """Render a template for a browser. `user` is None on pages that need no login."""
    theme = request.cookies.get(THEME_COOKIE)
    context.setdefault("user", None)
    context |= {
        "theme": theme if theme in THEMES else "system",
        "here": here(request),
        "path": request.url.path,
    }
    return HTMLResponse(_ENVIRONMENT.get_template(template).render(context), status)


def render_fragment(template: str, macro: str, *arguments: Any, **options: Any) -> str:
    """Render one macro of a template, for a piece of a page."""
    return str(getattr(_ENVIRONMENT.get_template(template).module, macro)(*arguments, **options))


def is_htmx(request: Request) -> bool:
    """Whether htmx asks, and so wants the changed piece and not the page."""
    return request.headers.get("HX-Request") == "true"


def here(request: Request) -> str:
    """The address of this page on this server, with its query."""
    query = f"?{request.url.query}" if request.url.query else ""
    return f"{request.url.path}{query}"


def address(path: str, **parameters: object) -> str:
    """`path` with those query parameters that say something."""
    said = {name: str(value) for name, value in parameters.items() if value not in (None, "")}
    return f"{path}?{urlencode(said)}" if said else path


def local_address(value: str | None, default: str) -> str:
    """`value` when it is an address on this server, else `default`: a form never leads elsewhere.

    Browsers read a backslash as a slash and drop control characters, so `//host`, `/\\host` and the like
    would lead to another server.
    """
    if not value or not value.startswith("/") or value.startswith(("//", "/\\")):
        return default
    if any(ord(character) < 33 or ord(character) == 127 for character in value):
        return default
    return value


def see_other(where: str) -> Response:
    """After a form: go and look at the result."""
    return RedirectResponse(where, 303)
