"""A zip whose maker is not trusted: its members as streams, or the reason why it is refused.

Nothing is ever written to disk. What the headers say about sizes is believed only where it speaks against the archive;
what counts is how many bytes really come out.
"""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from north.connectors.chat_history.document import Document, Unreadable
from north.errors import ExportRefused

MOST_MEMBERS = 50_000
LARGEST_INFLATED = 20 * 1024**3
"""Bytes that may come out of one archive, all members together: ten times the largest file that is taken."""
STEEPEST = 100
"""How many times its packed size a member may have; conversations have 5 to 20 times."""
_ALWAYS_ALLOWED = 64 * 1024 * 1024
"""Bytes of a member below which its ratio says nothing."""
_LARGEST_READ = 8 * 1024 * 1024
"""Bytes that one read may ask for: the archive's directory is read at once, so this bounds it, too."""
_FIRST_CHUNK = 4 * 1024
"""Enough to see what most members are: pictures are not inflated further."""
_CHUNK = 64 * 1024
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, struct.error)
"""What `zipfile` raises when headers or data are not what they should be."""
_PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_EMPTY_ZIP = b"PK\x05\x06"
_ARCHIVES = (
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!",
    b"BZh",
    b"\xfd7zXZ",
    b"\x28\xb5\x2f\xfd",
)
_OFFICE_PARTS = (b"[Content_Types].xml", b"_rels/", b"docProps/", b"word/", b"xl/", b"ppt/", b"mimetype", b"META-INF/")
"""First names within documents that are zips by their format: they are documents to us, not archives."""
_FIRST_NAME = 30
_TAR_MARK = 257


class ExportFile(io.BufferedReader):
    """The file, which remembers how far it has been read and never reads much at once."""

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path))
        self.size = path.stat().st_size
        self.position = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Up to `size` bytes.

        Raises:
            ExportRefused: so much at once is asked for only when the archive's directory is too large.
        """
        rest = self.size - self.tell()
        wanted = rest if size is None or size < 0 else min(size, rest)
        if wanted > _LARGEST_READ:
            raise _too_many()
        data = super().read(max(wanted, 0))
        self.position = max(self.position, self.tell())
        return data


def whole(file: ExportFile) -> Iterator[bytes]:
    """The file from its beginning."""
    file.seek(0)
    while chunk := file.read(_CHUNK):
        yield chunk


def is_zip(beginning: bytes) -> bool:
    """Whether a file that begins so is a zip, an office document among them."""
    return beginning.startswith((b"PK\x03\x04", _EMPTY_ZIP))


def is_archive(beginning: bytes) -> bool:
    """Whether a file that begins so is an archive of any kind, and no office document."""
    if beginning.startswith(b"PK\x03\x04"):
        return not beginning[_FIRST_NAME:].startswith(_OFFICE_PARTS)
    return beginning.startswith(_ARCHIVES) or beginning[_TAR_MARK : _TAR_MARK + 5] == b"ustar"


def documents(file: ExportFile) -> list[Document]:
    """The members in the order in which they lie in the file, without those that a Mac adds.

    Raises:
        ExportRefused: the archive is damaged, encrypted, packed in an unusual way, has too many members or too large
            ones, or a member's name leads out of it.
    """
    try:
        archive = zipfile.ZipFile(file)
    except (*_DAMAGE, OSError) as error:
        raise ExportRefused(reason="the zip is damaged or not complete. Download it again.") from error
    members = sorted(archive.infolist(), key=lambda member: member.header_offset)
    if len(members) > MOST_MEMBERS:
        raise _too_many()
    if sum(member.file_size for member in members) > LARGEST_INFLATED:
        raise _bomb()
    inflated = _Inflated()
    for member in members:
        _check(member)
    return [
        Document(member.filename, partial(_member, archive, member, inflated))
        for member in members
        if not member.is_dir() and not _is_of_a_mac(member.filename)
    ]


class _Inflated:
    """How many bytes have come out of an archive; what is read again from a member's beginning counts once."""

    def __init__(self) -> None:
        self.total = 0
        self._of_members: dict[zipfile.ZipInfo, int] = {}

    def note(self, member: zipfile.ZipInfo, size: int) -> None:
        """So many bytes have come out of a member by now."""
        before = self._of_members.get(member, 0)
        if size > before:
            self._of_members[member] = size
            self.total += size - before


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, inflated: _Inflated) -> Iterator[bytes]:
    """What comes out of a member, counted as it comes.

    Raises:
        Unreadable: its headers or its data are not what they should be.
        ExportRefused: too much comes out.
    """
    own = 0
    try:
        with archive.open(member) as stream:
            while chunk := stream.read(_CHUNK if own else _FIRST_CHUNK):
                own += len(chunk)
                inflated.note(member, own)
                if own > max(_ALWAYS_ALLOWED, STEEPEST * member.compress_size) or inflated.total > LARGEST_INFLATED:
                    raise _bomb()
                yield chunk
    except _DAMAGE as error:
        raise Unreadable from error


def _check(member: zipfile.ZipInfo) -> None:
    name = member.orig_filename
    if name.startswith("/") or "\\" in name or "\0" in name or name[1:2] == ":" or ".." in name.split("/"):
        raise ExportRefused(reason="a name in the zip leads out of it. Unpack it and make a new zip of the files.")
    if stat.S_ISLNK(member.external_attr >> 16):
        raise ExportRefused(reason="the zip holds a link instead of a file. Make a new zip of the files themselves.")
    if member.flag_bits & 0x1:
        raise ExportRefused(reason="the zip is encrypted. Unpack it, and send what is in it or a zip without password.")
    if member.compress_type not in _PLAIN:
        raise ExportRefused(reason="the zip is packed in an unusual way. Unpack it and make a usual zip of the files.")


def _is_of_a_mac(name: str) -> bool:
    parts = name.split("/")
    return "__MACOSX" in parts or parts[-1] == ".DS_Store" or parts[-1].startswith("._")


def _bomb() -> ExportRefused:
    return ExportRefused(reason="the zip inflates beyond measure. Unpack it and send the conversations alone.")


def _too_many() -> ExportRefused:
    return ExportRefused(reason=f"the zip has more than {MOST_MEMBERS:,} files. Send the conversations alone.")
