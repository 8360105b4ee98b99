"""Searching and reading at NetDocuments. Each is a consultation: recorded and committed before anything is handed over.

A consultation bars its session from writing what the firm shares, so nobody gets to see a document unrecorded: when the
record fails, there is no content.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from north.connectors.netdocuments import NetDocuments
from north.connectors.netdocuments_content import Content
from north.connectors.netdocuments_oauth import http_client, registration
from north.connectors.netdocuments_shapes import DocumentInfo
from north.documents.connection import PROVIDER, LawyersAccess
from north.errors import NetDocumentsDenied, NetDocumentsNotConnected, NetDocumentsUnavailable
from north.memory.backend import Backend
from north.memory.input import check_line
from north.memory.wall import record_consultation, session_hash
from north.model import Caller

QUERY_LIMIT = 500
CABINET_LIMIT = 200
ID_LIMIT = 200
WHOLE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Document:
    """A document that was read. Without `content` it could not be loaded, and `problem` says why."""

    info: DocumentInfo
    content: Content | None
    problem: str | None = None


def is_set_up(backend: Backend) -> bool:
    """Whether this North offers NetDocuments.

    Raises:
        Misconfigured: it is set up by half, or for no region.
    """
    return registration(backend.settings) is not None


async def search_documents(
    backend: Backend, caller: Caller, query: str, cabinet: str | None = None
) -> list[DocumentInfo]:
    """The lawyer's documents that match, best first, at most 20.

    Args:
        backend: the running North.
        caller: with `thread_id` for a chat, `session` and `client` for a host.
        query: words, or NetDocuments' own search syntax; at most 500 characters.
        cabinet: a cabinet's id or name; None searches all of the lawyer's.

    Raises:
        InvalidInput: the query or the cabinet is empty, too long, or cannot be used.
        CabinetNotFound: the lawyer has no such cabinet.
        NetDocumentsNotConnected: the lawyer has to connect in Settings.
        NetDocumentsDenied: their account may not do this.
        NetDocumentsUnavailable: it cannot be reached, or is over its rate limit.
        SessionUnknown: the caller's session handle is not theirs.
    """
    words = check_line(query, "query", QUERY_LIMIT)
    where = check_line(cabinet, "cabinet", CABINET_LIMIT) if cabinet else None
    async with _netdocuments(backend, caller) as netdocuments:
        found = await netdocuments.search(words, where)
    await record_consultation(backend, caller, PROVIDER)
    return found


async def read_document(backend: Backend, caller: Caller, document_id: str) -> Document:
    """A document with its content, as far as it is text.

    Its profile and its content are two calls. When one of them fails and the other does not, that is a reading too.

    Args:
        backend: the running North.
        caller: with `thread_id` for a chat, `session` and `client` for a host.
        document_id: as a search gave it.

    Raises:
        InvalidInput: the id is empty or too long.
        DocumentNotFound: the account sees no such document.
        NetDocumentsNotConnected: the lawyer has to connect in Settings.
        NetDocumentsDenied: their account may not do this.
        NetDocumentsUnavailable: it cannot be reached, or is over its rate limit.
        SessionUnknown: the caller's session handle is not theirs.
    """
    key = check_line(document_id, "document's id", ID_LIMIT)
    async with _netdocuments(backend, caller) as netdocuments:
        document = await _read(netdocuments, key)
    await record_consultation(backend, caller, PROVIDER)
    return document


async def _read(netdocuments: NetDocuments, document_id: str) -> Document:
    try:
        info = await netdocuments.info(document_id)
    except NetDocumentsUnavailable:
        return Document(DocumentInfo(document_id, document_id), await netdocuments.content(document_id))
    try:
        return Document(info, await netdocuments.content(document_id, info.extension))
    except (NetDocumentsUnavailable, NetDocumentsDenied) as error:
        return Document(info, None, str(error))


@asynccontextmanager
async def _netdocuments(backend: Backend, caller: Caller) -> AsyncIterator[NetDocuments]:
    known = registration(backend.settings)
    if known is None:
        raise NetDocumentsNotConnected
    session_hash(backend, caller)  # a handle that cannot be recorded is refused before anything is read
    async with http_client() as http:
        try:
            async with asyncio.timeout(WHOLE_SECONDS):
                yield NetDocuments(http, known.api_url, LawyersAccess(backend, caller, known))
        except TimeoutError:
            raise NetDocumentsUnavailable(reason="did not answer in time") from None
