"""The two NetDocuments tools of the chat, offered where NetDocuments is set up. What they return is fenced as data."""

from __future__ import annotations

from pydantic_ai import RunContext

from north.chat.tools import Answer, Turn
from north.documents.consulting import read_document, search_documents
from north.documents.wording import document_text, found_text
from north.errors import InvalidInput, NetDocumentsUnavailable, NorthError, NotFound, Refused

_EXPECTED = (InvalidInput, NotFound, Refused, NetDocumentsUnavailable)


async def netdocuments_search(run: RunContext[Turn], query: str, cabinet: str | None = None) -> Answer:
    """Search the lawyer's documents in NetDocuments.

    Args:
        run: the turn.
        query: words of the document's name or content.
        cabinet: the name or id of a cabinet, when the lawyer named one; otherwise all are searched.
    """
    turn = run.deps
    try:
        found = await search_documents(turn.backend, turn.caller, query, cabinet or None)
    except _EXPECTED as error:
        return _failed(error)
    return {"outcome": "found", "text": found_text(found)}


async def netdocuments_read(run: RunContext[Turn], document_id: str) -> Answer:
    """Read a document in NetDocuments.

    Args:
        run: the turn.
        document_id: the id that netdocuments_search gave, or that the lawyer typed.
    """
    turn = run.deps
    try:
        document = await read_document(turn.backend, turn.caller, document_id)
    except _EXPECTED as error:
        return _failed(error)
    return {"outcome": "read", "text": document_text(document)}


DOCUMENT_TOOLS = (netdocuments_search, netdocuments_read)


def _failed(error: NorthError) -> Answer:
    return {"outcome": "failed", "message": f"{error} Tell the lawyer in one sentence."}
