"""What a lawyer brings from another assistant: one file or a zip of them, read as a stream of items."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Self

from north.connectors.chat_history import messages, pasted
from north.connectors.chat_history.archive import ExportFile, documents, is_archive, is_zip, whole
from north.connectors.chat_history.document import Document
from north.connectors.chat_history.recognise import Reader, recognise
from north.connectors.chat_history.shapes import Broken, Item
from north.errors import ExportNotRecognised, ExportRefused

_FIRST_LOOK = 512
_ANYBODYS = (messages.SOURCE, pasted.SOURCE)
_DAMAGED = "archive"


class Export:
    """An opened export; iterate over it once for its items, and close it."""

    def __init__(self, file: ExportFile, readers: list[tuple[Document, str, Reader]]) -> None:
        self._file = file
        self._readers = readers
        self._ended = False
        file.position = 0  # what was read to find out what is in it does not count

    @property
    def size(self) -> int:
        """Bytes to read in all."""
        return self._file.size

    @property
    def position(self) -> int:
        """Bytes read so far; may be asked from another thread."""
        return self.size if self._ended else min(self._file.position, self.size)

    def __iter__(self) -> Iterator[Item]:
        """The items, as they are read; memory stays flat.

        Raises:
            ExportRefused: only now it shows that the archive inflates beyond measure. What was given before stands.
        """
        for document, source, read in self._readers:
            last: Item | None = None
            for last in read(document):
                yield last
            if document.damaged and not isinstance(last, Broken):
                yield Broken(source, document.name, "The zip is damaged in the middle of this file. Download it again.")
        self._ended = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def open_export(path: Path, name: str | None = None) -> Export:
    """Open an export and find out what is in it.

    Args:
        path: the file.
        name: what the lawyer calls it, for messages alone; the path's last part when left out.

    Raises:
        ExportNotRecognised: nothing in it has a shape that is known.
        ExportRefused: it is an archive that is dangerous, encrypted, damaged, or of another kind than zip.
    """
    file = ExportFile(path)
    try:
        readers = _readers(file, name or path.name)
        if not readers:
            raise ExportNotRecognised
    except BaseException:
        file.close()
        raise
    return Export(file, readers)


def _readers(file: ExportFile, name: str) -> list[tuple[Document, str, Reader]]:
    beginning = file.read(_FIRST_LOOK)
    if not is_zip(beginning):
        if is_archive(beginning):
            raise ExportRefused(reason="it is an archive, but no zip. Unpack it, and send the files or a zip of them.")
        return _recognised([Document(name, partial(whole, file))])
    members = documents(file)
    for member in members:
        if is_archive(member.beginning(_FIRST_LOOK)):
            raise ExportRefused(reason="there is another archive in the zip. Unpack that, and send its files.")
    return _recognised(members)


def _recognised(members: list[Document]) -> list[tuple[Document, str, Reader]]:
    """What can be read. Beside a provider's conversations, lists that anybody may have written are files that were
    attached to them, and are left out. What cannot be recognised because it is damaged is told.
    """
    found = [(member, *recognised) for member in members if (recognised := recognise(member))]
    providers = [reading for reading in found if reading[1] not in _ANYBODYS]
    known = {id(member) for member, *_ in found}
    damaged = [(member, _DAMAGED, _nothing) for member in members if member.damaged and id(member) not in known]
    return [*(providers or found), *damaged]


def _nothing(document: Document) -> Iterator[Item]:
    """Of a member that is damaged at its beginning nothing can be read; that it is damaged is told with all others."""
    yield from ()
