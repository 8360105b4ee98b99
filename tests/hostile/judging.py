"""When a prompt holds: the judge knows nothing of how North cleans a text, and reads it in every way that it can."""

from __future__ import annotations

import html
import itertools
import re
import unicodedata
from collections.abc import Callable
from urllib.parse import unquote

import pytest

from tests.hostile.classes import FENCES

Read = Callable[[str], str]

FOLDINGS: tuple[Read, ...] = (
    str,
    *(lambda text, form=form: unicodedata.normalize(form, text) for form in ("NFC", "NFD", "NFKC", "NFKD")),
)
DECODINGS: tuple[Read, ...] = (html.unescape, unquote)

_HOMOGLYPHS = str.maketrans("\u0430\u0441\u0435\u043e\u0440\u0446\u0443\u03bf\u03c5\u0433\u03b3", "aceopuyoury")
_BRACKETS = str.maketrans(dict.fromkeys("˂‹⟨〈〈❰❮ᐸ＜﹤≮≺⧼", "<") | dict.fromkeys("˃›⟩〉〉❱❯ᐳ＞﹥≯≻⧽", ">"))
KEPT_LEAST = 150
_LINES = re.compile(r"\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")
_MEMORY = re.compile(r"- \[[0-9a-f-]{36}\] \(\w+, \d{4}-\d\d-\d\d\) \S")
_HANGUL_FILLERS = frozenset("\u115f\u1160\u3164\uffa0")


def _skeleton(text: str) -> str:
    """What the eye, or a careless reader, makes of a text: letters in ASCII, brackets sharp, nothing between them."""
    bare = "".join(each for each in text if unicodedata.category(each)[0] not in "CM" or each == "\n")
    folded = unicodedata.normalize("NFKC", bare.translate(_BRACKETS)).casefold()
    return re.sub(r"[^\S\n]", "", folded.translate(_HOMOGLYPHS).translate(_BRACKETS))


def _tags(text: str) -> dict[str, tuple[int, int]]:
    """How many opening and closing tags of each fence stand in a text, however spelled, and however they end."""
    said = _skeleton(text)
    return {tag: (said.count(f"<{tag}"), said.count(f"</{tag}")) for tag in FENCES}


def readings(text: str, times: int) -> set[str]:
    """A text folded in every way, after every series of so many decodings."""
    read = {fold(text) for fold in FOLDINGS}
    for _ in range(times):
        read = {fold(decode(each)) for each in read for decode in DECODINGS for fold in FOLDINGS}
    return {*read, *(each.casefold() for each in read)}


def broken(said: str, fences: dict[str, int], times: int = 0) -> str | None:
    """What is wrong with a prompt text that is to hold these fences; None when nothing is.

    Args:
        said: what the model reads.
        fences: the tags that North itself wrote, once each, and how many memories stand between those of memory.
        times: how many decodings the hostile text needed to spell a tag: as many must not let it spell one now.
    """
    own = {tag: (int(tag in fences), int(tag in fences)) for tag in FENCES}
    for times_decoded in range(times + 1):
        for read in readings(said, times_decoded):
            if _tags(read) != own:
                return f"tags {_tags(read)} after {times_decoded} decodings"
    brackets = 2 * len(fences)
    for read in readings(said, 0):
        if (read.count("<"), read.count(">")) != (brackets, brackets):
            return "an angle bracket that North did not write"
    if unseen := [each for each in said if each != "\n" and _is_unseen(each)]:
        return f"characters that nobody sees: {unseen[:3]!r}"
    plain = said.replace("…", "")  # North's own, where it cuts
    if unicodedata.normalize("NFKC", plain) != plain:
        return "a character that folds to another one"
    if len(_LINES.split(said)) != said.count("\n") + 1:
        return "a line end that North did not write"
    for tag, memories in fences.items():
        between = re.search(rf"^<{tag}\b[^>]*>\n(.*)\n</{tag}>$", said, re.MULTILINE | re.DOTALL)
        lines = between[1].split("\n") if between else []
        if memories == 0 and lines == ["(nothing yet)"]:
            continue
        if tag != "document" and not (len(lines) == memories and all(map(_MEMORY.match, lines))):
            return f"{len(lines)} lines in {tag}, where {memories} memories were to be"
    if re.search(r"&(?:l|g|am|#\d*|#3|lt|gt|amp|quot)?(?:…(?!;)|$)", said, re.MULTILINE):
        return "an escape cut in half"
    if max((len(list(run)) for marked, run in itertools.groupby(said, _is_mark) if marked), default=0) > 8:
        return "a stack of marks"
    return None


def _is_unseen(character: str) -> bool:
    point = ord(character)
    is_no_character = point & 0xFFFE == 0xFFFE or 0xFDD0 <= point <= 0xFDEF
    return is_no_character or unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co"}


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M"


def lost(text: str, said: str) -> str | None:
    """What a reader sees of `text` and `said`, decoded once, does not show; None when all of it is there.

    What a reader sees are the letters and digits, in their order; a text that was visibly cut may end early, and no
    text that is shorter than any limit is cut.
    """
    seen, shown = _letters(text), _letters(html.unescape(said))
    if seen in shown or ("…" in said and len(seen) > KEPT_LEAST and seen[:KEPT_LEAST] in shown):
        return None
    return f"{seen[:80]!r} is not in {shown[:200]!r}"


def _letters(text: str) -> str:
    normal = unicodedata.normalize("NFKC", text)
    return "".join(each for each in normal if unicodedata.category(each)[0] in "LN" and each not in _HANGUL_FILLERS)


def assert_holds(said: str, fences: dict[str, int], times: int = 0) -> None:
    """Fail unless a prompt text has the fences that North wrote and nothing of anybody else's."""
    if problem := broken(said, fences, times):
        pytest.fail(f"{problem} in:\n{said[:3000]!r}")


def assert_preserved(text: str, said: str) -> None:
    """Fail unless a reader of `said` sees what a reader of `text` sees."""
    if problem := lost(text, said):
        pytest.fail(problem)
