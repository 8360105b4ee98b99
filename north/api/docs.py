"""The API's description for people: Swagger UI from an installed package, with nothing loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response

from north.api.description import describe_api
from north.api.problems import title_of
from north.errors import CallNotFound, NorthError

router = APIRouter(include_in_schema=False)

OWN = Path(__file__).parent / "static"

# Swagger UI colours by inline style properties of script, which a policy does not see, and draws its arrows from data.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)


@router.get("/docs")
async def docs_page() -> Response:
    """The page itself."""
    headers = {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer"}
    return FileResponse(OWN / "docs.html", headers=headers)


@router.get("/docs/{name}")
async def docs_file(name: str) -> Response:
    """A style sheet or a script of the page."""
    path = _files().get(name)
    if path is None:
        raise CallNotFound
    return FileResponse(path, headers={"Cache-Control": "public, max-age=3600"})


@router.get("/openapi.json")
async def description(request: Request) -> Response:
    """The description for programs."""
    return JSONResponse(_description(request))


@router.get("/problems/{code}")
async def describe_problem(code: str) -> Response:
    """Where a problem's `type` leads: what it means, in the words in which it is reported."""
    kinds = [kind for kind in _tree(NorthError) if kind.code == code]
    if not kinds:
        raise CallNotFound
    sentences = [" ".join((kind.__doc__ or "").split()) for kind in kinds]
    return PlainTextResponse("\n\n".join([title_of(kinds[0]), *sentences]) + "\n")


def _tree(kind: type[NorthError]) -> Iterator[type[NorthError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _tree(child)


def _description(request: Request) -> dict[str, Any]:
    state = request.app.state
    if not hasattr(state, "description"):
        state.description = describe_api(request.app, request.scope["root_path"])
    described: dict[str, Any] = state.description
    return described


@cache
def _files() -> dict[str, Path]:
    """What the page loads. The package of Swagger UI is located and not imported: it would import Django."""
    package = find_spec("drf_spectacular_sidecar")
    if package is None or package.origin is None:
        raise FileNotFoundError("The package drf-spectacular-sidecar is not installed.")
    swagger = Path(package.origin).parent / "static" / "drf_spectacular_sidecar" / "swagger-ui-dist"
    return {path.name: path for path in (swagger / "swagger-ui.css", swagger / "swagger-ui-bundle.js", OWN / "docs.js")}
