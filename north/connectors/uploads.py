"""A file in the body of a request, piece by piece as it arrives: alone, or as a field of a form.

The framework's own parser of forms writes a file to the disk whole before a call sees its first byte. Here nothing is
held but the piece that has just come, so that 2 GiB cost no more memory than 2 KB, and no disk.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect, Request

from north.errors import FileMissing, FormUnreadable, ImportTooLarge, UploadBroken

FORM = b"multipart/form-data"
FILE = "file"


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that is arriving. `name` is what the sender calls it, or empty; `field` is where it stood in a form."""

    name: str
    chunks: AsyncIterator[bytes]
    field: str | None = None


async def open_upload(request: Request, limit: int, name: str = "", fields: Collection[str] = (FILE,)) -> Upload:
    """Begin to read the file that a request brings.

    Args:
        request: its body is a form (`multipart/form-data`), or else the file itself, whatever its type.
        limit: the most bytes of the body, form and all. A body that is announced as larger is refused unread.
        name: what to call the file, instead of what the form says.
        fields: which fields of a form can hold it; the first of them to come is taken, others are passed over.

    Raises:
        ImportTooLarge: at once, or from `chunks` when the length was not announced.
        FormUnreadable, FileMissing: the form is not one, or has no such field.
        UploadBroken: at once or from `chunks`; the body ended too early.
    """
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limit:
        raise ImportTooLarge(limit=limit)
    body = _limited(request, limit)
    media_type, options = parse_options_header(request.headers.get("content-type"))
    if not media_type.startswith(b"multipart/"):
        return Upload(name, body)
    if media_type != FORM or not options.get(b"boundary"):
        raise FormUnreadable(reason="it has no boundary, or is of another kind than multipart/form-data")
    form = _Form(options[b"boundary"], fields)
    async for data in body:
        form.write(data)
        if form.field is not None:
            return Upload(name or form.file_name, _pieces(form, body), form.field)
    form.close()
    raise FileMissing


async def _limited(request: Request, limit: int) -> AsyncIterator[bytes]:
    size = 0
    try:
        async for data in request.stream():
            size += len(data)
            if size > limit:
                raise ImportTooLarge(limit=limit)
            if data:
                yield data
    except ClientDisconnect as gone:
        raise UploadBroken from gone


async def _pieces(form: _Form, body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The file's bytes, beginning with those that came together with its name."""
    if piece := form.taken():
        yield piece
    async for data in body:
        form.write(data)
        if piece := form.taken():
            yield piece
    form.close()


class _Form:
    """A form of which one field is read."""

    def __init__(self, boundary: bytes, fields: Collection[str]) -> None:
        self.field: str | None = None
        self.file_name = ""
        self._fields = fields
        self._reading = False
        self._whole = False
        self._pieces: list[bytes] = []
        self._header, self._value = b"", b""
        self._disposition = b""
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._part_begins,
                    "on_header_field": self._header_comes,
                    "on_header_value": self._value_comes,
                    "on_header_end": self._header_ends,
                    "on_headers_finished": self._headers_end,
                    "on_part_data": self._data_comes,
                    "on_part_end": self._part_ends,
                    "on_end": self._form_ends,
                },
            )
        except FormParserError as error:
            raise FormUnreadable(reason="its boundary is too long") from error

    def write(self, data: bytes) -> None:
        """Read on."""
        try:
            self._parser.write(data)
        except FormParserError as error:
            raise FormUnreadable(reason="a boundary or a header is not where it should be") from error

    def taken(self) -> bytes:
        """What has come of the file since this was asked last."""
        piece = b"".join(self._pieces)
        self._pieces.clear()
        return piece

    def close(self) -> None:
        """The body is at its end, which must be the form's."""
        if not self._whole:
            raise UploadBroken

    def _part_begins(self) -> None:
        self._header, self._value, self._disposition = b"", b"", b""

    def _header_comes(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _value_comes(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_ends(self) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition = self._value
        self._header, self._value = b"", b""

    def _headers_end(self) -> None:
        _, options = parse_options_header(self._disposition)
        field = _text(options.get(b"name", b""))
        if field not in self._fields:
            return
        if self.field is not None:
            raise FormUnreadable(reason="it holds more than one file; send one at a time")
        self.field, self.file_name = field, _text(options.get(b"filename", b""))
        self._reading = True

    def _data_comes(self, data: bytes, start: int, end: int) -> None:
        if self._reading:
            self._pieces.append(data[start:end])

    def _part_ends(self) -> None:
        self._reading = False

    def _form_ends(self) -> None:
        self._whole = True


def _text(raw: bytes) -> str:
    """A name as browsers write it into the header of a part: UTF-8; quotes, line breaks escaped (HTML, 4.10.22.8)."""
    text = raw.decode("utf-8", "replace")
    return text.replace("%22", '"').replace("%0D", " ").replace("%0A", " ")
