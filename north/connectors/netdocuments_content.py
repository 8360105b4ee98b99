"""What a document's bytes say: text is decoded and cut, and of anything else it is said that it is no text."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from httpx2 import Response

BYTES_LIMIT = 400_000
TEXT_LIMIT = 60_000
"""In characters: about 15,000 tokens of a prompt."""

_TEXT_TYPES = frozenset({"application/json", "application/xml", "application/x-ndjson", "message/rfc822"})
_TEXT_EXTENSIONS = frozenset(
    {"txt", "text", "md", "csv", "tsv", "htm", "html", "xml", "json", "eml", "log", "ini", "yaml"}
)
_UNKNOWN_TYPES = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/x-download"})
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
# Python knows codecs that are no character sets, and slow.
_CHARSET = re.compile(r"(?i)(us-)?ascii|(utf|iso|latin|windows|cp|koi|mac|big5|gb|euc|shift)[\w-]{0,20}")


@dataclass(frozen=True, slots=True)
class Content:
    """A document's content. `text` is None when it is no text; `cut` says that there is more of it."""

    text: str | None
    media_type: str
    cut: bool = False


async def read_content(response: Response, extension: str | None) -> Content:
    """Read a document's content, at most as far as the limits.

    Args:
        response: the answer, whose body was not read yet; of what is no text, it is not read at all.
        extension: the document's own, which decides where NetDocuments names no type.
    """
    media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if not _is_text(media_type, extension):
        return Content(None, media_type)
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > BYTES_LIMIT:
            break
    text = _decoded(bytes(body[:BYTES_LIMIT]), response.charset_encoding)
    if text is None:
        return Content(None, media_type)
    return Content(text[:TEXT_LIMIT], media_type, cut=len(body) > BYTES_LIMIT or len(text) > TEXT_LIMIT)


def _is_text(media_type: str, extension: str | None) -> bool:
    if media_type in _UNKNOWN_TYPES:
        return (extension or "").lower().lstrip(".") in _TEXT_EXTENSIONS
    return media_type.startswith("text/") or media_type in _TEXT_TYPES or media_type.endswith(("+xml", "+json"))


def _decoded(body: bytes, charset: str | None) -> str | None:
    """The text of `body`: by its byte-order mark, by what the answer says, as UTF-8, or as Windows-1252.

    None when it is binary after all. A character that the cut halved, or that does not decode, shows as U+FFFD.
    """
    marked = next((name for mark, name in _MARKS if body.startswith(mark)), None)
    if marked is None and b"\0" in body:
        return None
    for encoding in (marked, charset):
        if encoding is not None and _CHARSET.fullmatch(encoding):
            try:
                return body.decode(encoding, "replace")
            except LookupError:
                continue
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(body)  # a character halved by the cut is left off
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")
