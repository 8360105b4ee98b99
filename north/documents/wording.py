"""What a model reads of documents: fenced as data, and with an honest word where there is no text."""

from __future__ import annotations

from collections.abc import Sequence

from north.connectors.netdocuments_shapes import DocumentInfo
from north.documents.consulting import Document
from north.memory.fence import document_fence
from north.memory.text import visible

SOURCE = "NetDocuments"
WALLED = "This session has now read from NetDocuments, so it can save personal memory and no longer memory of a matter."


def found_text(found: Sequence[DocumentInfo]) -> str:
    """The hits of a search, one line each, with the ids to read them by."""
    if not found:
        return f"Nothing in NetDocuments matches. Try fewer or other words, or another cabinet.\n\n{WALLED}"
    fenced = document_fence("search results", SOURCE, "\n".join(map(_line, found)))
    return f"{fenced}\n\nEach line begins with the id with which the document can be read. {WALLED}"


def document_text(document: Document) -> str:
    """A document as it was read."""
    return f"{_fenced(document)}\n\n{' '.join(filter(None, (remark(document), WALLED)))}"


def remark(document: Document) -> str:
    """What has to be said of a reading: what is missing, and why. Empty when nothing is."""
    content = document.content
    if content is None:
        return f"The content could not be loaded: {document.problem}"
    if content.text is None:
        return (
            "The content is not text (a PDF or an Office file, for instance), so North cannot read it. "
            "The lawyer can open it in NetDocuments."
        )
    if content.cut:
        return "The document is longer; this is its beginning."
    return ""


def _fenced(document: Document) -> str:
    text = document.content.text if document.content else None
    return document_fence(document.info.name, SOURCE, _line(document.info) if text is None else text)


def _line(info: DocumentInfo) -> str:
    facts = [
        f"version {info.version}" if info.version else None,
        f"modified {info.modified.isoformat()}" if info.modified else None,
        f"by {info.modified_by}" if info.modified_by else None,
        f"in {info.cabinet}" if info.cabinet else None,
    ]
    more = ", ".join(fact for fact in facts if fact)
    # Each on one line before they are put together, so that no title can pass for another hit.
    return visible(f"[{info.id}] {info.name}" + (f" ({more})" if more else ""))
