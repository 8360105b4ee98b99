"""Bytes that are no text, no JSON, or JSON that two readers read in two ways; and bodies without an end."""

from __future__ import annotations

from collections.abc import AsyncIterator

MEGABYTE = 1_000_000
HOLE = b"@@@"
"""Where in a body, between quotation marks or in place of a value, a payload goes."""

IN_A_STRING: dict[str, bytes] = {
    "NUL as an escape": rb"a\u0000b",
    "NUL as a byte": b"a\0b",
    "control characters as bytes": b"a\x08\x1b[2Jb",
    "line break as a byte": b"a\r\nb",
    "high surrogate": rb"a\ud83d",
    "low surrogate": rb"\ude00b",
    "surrogates the wrong way round": rb"\ude00\ud83d",
    "half an escape": rb"a\u00",
    "unknown escape": rb"a\x41",
    "overlong UTF-8, two bytes": b"a\xc0\xbc",
    "overlong UTF-8, three bytes": b"a\xe0\x80\xbc",
    "overlong NUL": b"a\xc0\x80",
    "surrogates in UTF-8": b"\xed\xa0\xbd\xed\xb8\x80",
    "beyond Unicode": b"\xf4\x90\x80\x80",
    "five bytes for one character": b"\xf8\x88\x80\x80\x80",
    "Latin-1": b"M\xfcller",
    "half a character": b"\xf0\x9f\x98",
}
"""Each makes the string, and so the request, unusable."""

FOR_A_VALUE: dict[str, bytes] = {
    "NaN": b"NaN",
    "Infinity": b"Infinity",
    "minus Infinity": b"-Infinity",
    "a number beyond doubles": b"1e999",
    "a huge whole number": b"9" * 10_000,
    "a long whole number": b"9" * 400,
    "a deep list": b"[" * 100_000 + b"]" * 100_000,
    "a deep object": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "an endless list": b"[" * 400_000,
    "a list in a list": b"[[[[1]]]]",
    "nothing": b"",
    "a bare word": b"undefined",
    "single quotation marks": b"'a'",
    "a hexadecimal number": b"0x41",
}

WHOLE_BODIES: dict[str, bytes] = {
    "a name twice": b'{"content": "first", "content": "second", "type": "fact", "scope": "user_private"}',
    "a name twice, once escaped": rb'{"content": "1", "\u0063ontent": "2", "type": "fact", "scope": "user_private"}',
    "a comma at the end": b'{"content": "a", "type": "fact", "scope": "user_private",}',
    "a comment": b'{"content": "a" /* b */, "type": "fact", "scope": "user_private"}',
    "two objects": b'{"content": "a", "type": "fact", "scope": "user_private"} {"content": "b"}',
    "UTF-16": '{"content": "a", "type": "fact", "scope": "user_private"}'.encode("utf-16"),
    "UTF-32": '{"content": "a", "type": "fact", "scope": "user_private"}'.encode("utf-32-le"),
    "a byte order mark": b'\xef\xbb\xbf{"content": "a", "type": "fact", "scope": "user_private"}',
    "two megabytes": b" " * 2 * MEGABYTE + b'{"content": "a", "type": "fact", "scope": "user_private"}',
    "ten megabytes": b'{"content": "' + b"a" * 10 * MEGABYTE + b'", "type": "fact", "scope": "user_private"}',
    "ten megabytes of white space": b" " * 10 * MEGABYTE,
}


async def in_pieces(body: bytes) -> AsyncIterator[bytes]:
    """A body whose length is not announced."""
    for start in range(0, len(body), 65_536):
        yield body[start : start + 65_536]
