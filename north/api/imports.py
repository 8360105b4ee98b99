"""Bringing in what other assistants know: send an export, watch it being read, cancel or undo it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query, Response, status
from pydantic import Field
from starlette.requests import Request

from north import errors
from north.api.callers import Running, SignedIn, calls, known_id
from north.api.description import failures
from north.api.shapes import ImportShape, Shape, import_shape
from north.connectors.uploads import open_upload
from north.memory.imports import IMPORT_LIMIT, cancel_import, get_import, list_imports, receive, undo_import

router = calls("/v1/imports", "imports")

RECEIVING = (
    errors.FormUnreadable,
    errors.FileMissing,
    errors.UploadBroken,
    errors.ImportEmpty,
    errors.ImportTooLarge,
    errors.TooManyImports,
)

BINARY = {"schema": {"type": "string", "format": "binary"}}
BODY: dict[str, Any] = {
    "required": True,
    "description": f"The file, as the field `file` of a form, or as the body itself whatever its type. At most "
    f"{IMPORT_LIMIT:,} bytes in all.",
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["file"],
                "properties": {"file": {"type": "string", "format": "binary"}},
            }
        },
        "application/zip": BINARY,
        "application/json": BINARY,
        "text/csv": BINARY,
        "text/html": BINARY,
        "text/plain": BINARY,
        "application/octet-stream": BINARY,
    },
}

ACCEPTED: dict[str, Any] = {
    "description": "The file has arrived, and will be read.",
    "headers": {"Location": {"description": "Where the import is to be asked for.", "schema": {"type": "string"}}},
}

NAME_DESCRIPTION = "What to call the file; a form says it by itself. What it is, is seen from what it holds."

ImportId = Annotated[str, Path(alias="id", description="An import's id.")]


class ImportList(Shape):
    """Your imports, newest first; at most 50."""

    imports: list[ImportShape] = Field(description="Colleagues' imports are theirs alone.")


@router.post(
    "",
    summary="Import a file",
    status_code=status.HTTP_202_ACCEPTED,
    responses=failures(*RECEIVING) | {202: ACCEPTED},
    openapi_extra={"requestBody": BODY},
)
async def create(
    request: Request,
    response: Response,
    backend: Running,
    caller: SignedIn,
    name: Annotated[str, Query(description=NAME_DESCRIPTION)] = "",
) -> ImportShape:
    """Send an export of ChatGPT, Claude, Claude Code, Copilot or Gemini, or a list of memories, to be read.

    It is read afterwards: ask for the import at `Location` until its `status` is one of an end. Everything lands in
    your personal memory. The same file again, or a later export that contains it, imports only what is new.
    """
    upload = await open_upload(request, IMPORT_LIMIT, name)
    received = await receive(backend, caller, upload.name, upload.chunks)
    response.headers["Location"] = f"{request.url.path}/{received.id}"
    return import_shape(received)


@router.get("", summary="List your imports", responses=failures())
async def list_all(backend: Running, caller: SignedIn) -> ImportList:
    """Your imports with their reports, newest first."""
    return ImportList(imports=[import_shape(each) for each in await list_imports(backend, caller)])


@router.get("/{id}", summary="Get an import", responses=failures(errors.ImportNotFound))
async def get_one(import_id: ImportId, backend: Running, caller: SignedIn) -> ImportShape:
    """How far an import is, and its report so far; a colleague's does not exist for you."""
    return import_shape(await get_import(backend, caller, known_id(import_id, errors.ImportNotFound)))


@router.post("/{id}/cancel", summary="Cancel an import", responses=failures(errors.ImportNotFound, errors.ImportEnded))
async def cancel(import_id: ImportId, backend: Running, caller: SignedIn) -> ImportShape:
    """Stop reading a file. What was saved of it stays, and can be undone."""
    return import_shape(await cancel_import(backend, caller, known_id(import_id, errors.ImportNotFound)))


@router.post("/{id}/undo", summary="Undo an import", responses=failures(errors.ImportNotFound, errors.ImportRunning))
async def undo(import_id: ImportId, backend: Running, caller: SignedIn) -> ImportShape:
    """Delete everything that an import brought and that is still live. Undoing it again changes nothing.

    It counts as never imported: the same file can be imported again.
    """
    return import_shape(await undo_import(backend, caller, known_id(import_id, errors.ImportNotFound)))
