"""Every route of an application, however its parts are put together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from starlette.routing import BaseRoute, Mount

AUTOMATIC = {"HEAD", "OPTIONS"}
"""Methods that a framework answers by itself, from the route's own one."""
MCP = "/mcp"


def routes_of(app: FastAPI) -> set[str]:
    """Each as `METHOD /path/{with}/{names}`; MCP's one address by the one method that is its protocol."""
    found = set()
    for methods, path in _walk(app.routes, ""):
        if path == MCP:
            methods = {"POST"}
        assert methods, f"{path} has no methods: say in this module which they are"
        found |= {f"{method} {path}" for method in methods if method not in AUTOMATIC}
    return found


def _walk(routes: Sequence[BaseRoute], prefix: str) -> Iterator[tuple[set[str], str]]:
    for context in iter_route_contexts(routes):
        original = context.original_route
        if isinstance(original, Mount):
            yield from _walk(original.routes, prefix + original.path)
        else:
            # A plain route stands in no router that was included, and has its path itself.
            route: Any = context if context.path else (context.starlette_route or original)
            yield set(route.methods or ()), prefix + route.path
