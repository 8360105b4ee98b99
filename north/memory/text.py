"""What a memory's text is: what is stored, what of it can be seen, and when two texts are the same."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable

from north.errors import ContentEmpty, ContentNotText, ContentTooLong
from north.model import CONTENT_LIMIT

MARK_LIMIT = 4
"""How many combining marks stay on one character; no living orthography stacks more."""

_COMPOSED_FROM_AT_MOST = 4  # code points that NFC joins into one: a Greek vowel with three marks


def character_class(wanted: Callable[[str], bool]) -> str:
    """The inside of a regular expression's `[…]` for the characters of planes 0 and 1 that are `wanted`.

    The planes above hold ideographs, tags, variation selectors and private use only: callers name those
    as ranges.
    """
    ranges: list[list[int]] = []
    for codepoint in range(0x20000):
        if wanted(chr(codepoint)):
            if ranges and ranges[-1][1] == codepoint - 1:
                ranges[-1][1] = codepoint
            else:
                ranges.append([codepoint, codepoint])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


MARKS = character_class(lambda character: unicodedata.category(character)[0] == "M")
"""Combining marks, for use inside `[…]`."""

# Not seen, though Unicode calls them letters, marks or symbols: the grapheme joiner, Hangul fillers, Khmer
# inherent vowels, Mongolian and other variation selectors, the blank braille pattern, the object replacement
# character, and code points reserved for more of the kind.
_IGNORABLE = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufffc\U000e0000-\U000e0fff"
)
_PRIVATE = "\ue000-\uf8ff\U000f0000-\U0010ffff"
_NONCHARACTERS = "\ufdd0-\ufdef" + "".join(chr(end - 2) + chr(end - 1) for end in range(0x10000, 0x100000, 0x10000))
_CONTROL_OR_FORMAT = character_class(lambda character: unicodedata.category(character) in {"Cc", "Cf", "Cs"})

_INVISIBLE = re.compile(f"[{_CONTROL_OR_FORMAT}{_IGNORABLE}{_PRIVATE}{_NONCHARACTERS}]+")
# The half-width voiced marks of Katakana turn into combining marks under NFKC.
_MARK_STACK = re.compile(f"([{MARKS}\uff9e\uff9f]{{{MARK_LIMIT}}})[{MARKS}\uff9e\uff9f]+")
_SURROGATE = re.compile("[\ud800-\udfff]")


def normalise(text: str) -> str:
    """The form in which a memory is stored: what was said, in one spelling.

    Line ends become `\\n`, characters are composed (NFC, which changes no meaning), and white space around
    the text goes. Everything else stays as it was typed: cleaning happens where a text is shown.
    """
    return unicodedata.normalize("NFC", _one_line_end(text)).strip()


def check_content(text: str) -> str:
    """The normalised `text`, when it can be a memory: 1 to `CONTENT_LIMIT` characters, some of them visible.

    Raises:
        ContentNotText: it holds a NUL, which Postgres cannot store, or half of a surrogate pair.
        ContentEmpty: nothing of it can be seen.
        ContentTooLong: with `length` and `limit`.
    """
    check_storable(text)
    # Composing takes quadratic time on stacks of marks, so what is hopelessly long is refused before it.
    length = len(_one_line_end(text).strip())
    if length > CONTENT_LIMIT * _COMPOSED_FROM_AT_MOST:
        raise ContentTooLong(length=length, limit=CONTENT_LIMIT)
    content = normalise(text)
    if len(content) > CONTENT_LIMIT:
        raise ContentTooLong(length=len(content), limit=CONTENT_LIMIT)
    if not visible(content):
        raise ContentEmpty
    return content


def check_storable(text: str) -> None:
    """Raise ContentNotText when `text` holds a NUL, which Postgres cannot store, or half of a surrogate pair."""
    if "\0" in text:
        raise ContentNotText(what="NUL character")
    if _SURROGATE.search(text):
        raise ContentNotText(what="lone surrogate")


def content_key(text: str) -> bytes:
    """32 bytes (SHA-256), equal for texts that differ in compatibility form, case or white space alone."""
    return hashlib.sha256(" ".join(fold(text).split()).encode()).digest()


def fold(text: str) -> str:
    """`text` without differences of case and of compatibility form (NFKC, full case folding)."""
    if text.isascii():
        return text.lower()
    # Folding can undo composition, hence the second pass.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def visible(text: str) -> str:
    """What a reader sees of `text`, on one line, in compatibility form (NFKC).

    Removed are control, format, bidirectional, tag, private-use and surrogate characters, noncharacters,
    variation selectors and other blanks that are not spaces, and combining marks beyond `MARK_LIMIT` on one
    character. All white space, line ends included, becomes single spaces. Applied again it changes nothing.
    """
    if text.isascii() and text.isprintable():  # most texts, at a tenth of the time
        return " ".join(text.split())
    before = None
    while text != before:  # a removal can bring together what then composes
        before = text
        text = _MARK_STACK.sub(r"\1", _INVISIBLE.sub("", " ".join(text.split())))
        text = " ".join(unicodedata.normalize("NFKC", text).split())
    return text


def _one_line_end(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
