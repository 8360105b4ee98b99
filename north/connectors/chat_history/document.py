"""One file of an export as text: decoded while it is read, a piece or a line at a time."""

from __future__ import annotations

import codecs
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO

LONGEST = 16 * 1024 * 1024
"""Characters that one conversation, one line or one statement may take in the file; no more is held at once."""
_READ = 64 * 1024
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Document:
    """A file, or a member of an archive, that can be opened from its beginning any number of times."""

    def __init__(self, name: str, open_bytes: Callable[[], IO[bytes]]) -> None:
        self.name = name
        self.damaged = False
        """Whether reading stopped before the end, because the archive is damaged there."""
        self._open = open_bytes

    def beginning(self, size: int) -> bytes:
        """At most its first `size` bytes; fewer when it is shorter or damaged."""
        with self._open() as file:
            try:
                return file.read(size)
            except (zipfile.BadZipFile, zlib.error, EOFError):
                return b""

    def pieces(self) -> Iterator[str]:
        """Its text in order, in pieces of no particular size. What is not valid text becomes U+FFFD."""
        with self._open() as file:
            data = self._read(file)
            decoder = codecs.getincrementaldecoder(encoding_of(data))(errors="replace")
            while data:
                if text := decoder.decode(data):
                    yield text
                data = self._read(file)
            if text := decoder.decode(b"", True):
                yield text

    def lines(self) -> Iterator[str | None]:
        """Its lines with their line feeds; None for one of more than `LONGEST` characters."""
        rest, skipping = "", False
        for piece in self.pieces():
            *complete, rest = (rest + piece).split("\n")
            for line in complete:
                yield None if skipping or len(line) > LONGEST else line + "\n"
                skipping = False
            if len(rest) > LONGEST:
                rest, skipping = "", True
        if rest or skipping:
            yield None if skipping else rest

    def _read(self, file: IO[bytes]) -> bytes:
        try:
            return file.read(_READ)
        except (zipfile.BadZipFile, zlib.error, EOFError):
            self.damaged = True
            return b""


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
