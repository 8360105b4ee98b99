"""One file of an export as text: decoded while it is read, a piece or a line at a time."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator

LONGEST = 16 * 1024 * 1024
"""Characters that one conversation, one line or one statement may take in the file; no more is held at once."""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Unreadable(Exception):
    """What comes next of a member cannot be taken out of its archive."""


class Document:
    """A file, or a member of an archive, that can be read from its beginning any number of times."""

    def __init__(self, name: str, chunks: Callable[[], Iterator[bytes]]) -> None:
        self.name = name
        self.damaged = False
        """Whether reading stopped before the end, because the archive is damaged there."""
        self._chunks = chunks

    def beginning(self, size: int) -> bytes:
        """At most its first `size` bytes; fewer when it is shorter or damaged."""
        held = bytearray()
        for chunk in self._undamaged():
            held += chunk
            if len(held) >= size:
                break
        return bytes(held[:size])

    def pieces(self) -> Iterator[str]:
        """Its text in order, in pieces of no particular size. What is not valid text becomes U+FFFD."""
        decoder: codecs.IncrementalDecoder | None = None
        for chunk in self._undamaged():
            decoder = decoder or codecs.getincrementaldecoder(encoding_of(chunk))(errors="replace")
            if text := decoder.decode(chunk):
                yield text
        if decoder and (text := decoder.decode(b"", True)):
            yield text

    def lines(self) -> Iterator[str | None]:
        """Its lines with their line feeds; None for one of more than `LONGEST` characters."""
        parts: list[str] = []
        length = 0
        for piece in self.pieces():
            first, *others = piece.split("\n")
            for line in others:
                yield "".join([*parts, first, "\n"]) if length + len(first) <= LONGEST else None
                parts, length, first = [], 0, line
            length += len(first)
            parts = [*parts, first] if length <= LONGEST else []
        if length:
            yield "".join(parts) if length <= LONGEST else None

    def _undamaged(self) -> Iterator[bytes]:
        try:
            yield from self._chunks()
        except Unreadable:
            self.damaged = True


def encoding_of(data: bytes) -> str:
    """The codec for text that begins so: by its byte order mark, by where its zero bytes stand, else UTF-8."""
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return codec
    if data[:1] == b"\0" and data[1:2] != b"\0":
        return "utf-16-be"
    if data[1:2] == b"\0" and data[:1] != b"\0":
        return "utf-16-le"
    return "utf-8"
