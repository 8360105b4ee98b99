"""The static files, addressed by the hash of their content so that a browser may hold them for good."""

from __future__ import annotations

import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.responses import Response

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).parent / "static"


@dataclass(frozen=True, slots=True)
class Asset:
    """One static file. `address` changes with its content."""

    address: str
    content: bytes
    media_type: str


def asset_address(name: str) -> str:
    """The address of the static file `name`; a name that does not exist is a programming error."""
    return _assets()[name].address


@router.get("/static/{digest}/{name}")
async def static_file(digest: str, name: str) -> Response:
    """Serve a static file. An address with an old hash is gone rather than silently new."""
    asset = _assets().get(name)
    if asset is None or asset.address != f"/static/{digest}/{name}":
        raise HTTPException(404)
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(asset.content, media_type=asset.media_type, headers=headers)


@cache
def _assets() -> dict[str, Asset]:
    return {path.name: _read(path) for path in (*sorted(FOLDER.iterdir()), _htmx())}


def _read(path: Path) -> Asset:
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()[:16]
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return Asset(f"/static/{digest}/{path.name}", content, media_type)


def _htmx() -> Path:
    """htmx as django-htmx ships it. The package is located and not imported: it would import Django."""
    package = find_spec("django_htmx")
    if package is None or package.origin is None:
        raise FileNotFoundError("The package django-htmx is not installed.")
    return Path(package.origin).parent / "static" / "django_htmx" / "htmx-2.min.js"
