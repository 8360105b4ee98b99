"""The one tokenizer, for what is saved and for what is asked: texts meet when they share a term.

A word becomes its stem. A compound such as `HV-1001` becomes its parts and the whole written together, so
that `HV-1001`, `hv1001` and `1001` find each other. Where a script puts no spaces between words, and in
Korean, where a word carries its particles, the terms are pairs of neighbouring characters.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import Stemmer  # type: ignore[import-not-found]  # an extension module without stubs

from north.memory.text import MARKS, fold

TERM_LENGTH = 64
"""The longest term, in characters; what is longer is cut, so that it always fits an index entry."""

MAX_TERMS = 4096
"""The most terms of one text; a memory of the allowed length seldom comes near."""

MAX_QUERY_TERMS = 256
"""The most terms of one question; of a longer one, its beginning and its end are asked for."""

QUERY_CHARACTERS = 4_000
"""How much of a question is read."""

# Han, Hiragana, Katakana, Bopomofo, Thai, Lao, Myanmar, Khmer: no spaces between words. Hangul: see above.
_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecf\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109f\u1780-\u17d3\u17dd"
    "\u1100-\u11ff\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303b\u3041-\u309f\u30a1-\u30fa"
    "\u30fc-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\ua9e0-\ua9ef\ua9fa-\ua9fe"
    "\uaa60-\uaa7f\uac00-\ud7fb\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_WORD = f"(?:[^\\W_{_UNSPACED}]+|[{MARKS}]+)+"
_JOINT = r"[-'._/&]"
_EMOJI = "\u2600-\u27bf\U0001f300-\U0001f3fa\U0001f400-\U0001faff"
_TOKEN = re.compile(
    f"(?P<unspaced>[{_UNSPACED}][{_UNSPACED}{MARKS}]*)|(?P<word>{_WORD}(?:{_JOINT}{_WORD})*)"
    f"|(?P<sign>[\U0001f1e6-\U0001f1ff]{{2}}|[{_EMOJI}])"
)
_ASCII_TOKEN = re.compile(f"(?P<word>[a-z0-9]+(?:{_JOINT}[a-z0-9]+)*)")
_PART = re.compile(r"[0-9]+|[^0-9\-'._/&]+")
_CLUSTER = re.compile(f"[^{MARKS}][{MARKS}]*|[{MARKS}]+")

# What a reader writes or leaves out at will: accents, Hebrew points, Arabic vowel signs and the tatweel.
_OPTIONAL_MARK = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670]+"
)
_FORMAT = re.compile("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]+")
_FOREIGN_DIGIT = re.compile(r"[^\D0-9]")
_SPELLINGS = str.maketrans(
    {"’": "'", "ʼ": "'", "‐": "-", "‑": "-", "‒": "-", "–": "-", "−": "-", "⁄": "/"}
    | {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "æ": "ae", "œ": "oe"}
)
# Taken out before words are told apart: the ends of "client's" and "we'll", the apostrophe of "don't", and
# the commas of "1,000,000".
_INTERRUPTION = re.compile(r"(?<=\w)'(?:s|re|ve|ll|d|m)\b|(?<=n)'(?=t\b)|(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")

_FUNCTION_WORDS = """
a about am an and any are arent as at be been being but by can cant could couldnt did didnt do does
doesnt doing dont for from had hadnt has hasnt have havent having he her hers him his how i if in into is
isnt it its me my myself no nor not of on or our ours please shall she should shouldnt so some such than
that the their theirs them then there these they this those to too was wasnt we were werent what when
where which who whom whose why with wont would wouldnt you your yours
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Left out of a question. Not among them, because the law uses them: "may", "us" and "will"."""

_stemmer = Stemmer.Stemmer("english", 0)
_stemmer_lock = threading.Lock()  # a Stemmer may serve one thread at a time


class _Token(NamedTuple):
    """A word's parts, or the characters of a run without spaces."""

    unspaced: bool
    pieces: list[str]


def terms(text: str) -> list[str]:
    """The terms under which `text` is found, in order and with repeats; at most `MAX_TERMS`."""
    found: list[str] = []
    for token in _tokens(text):
        found += token.pieces
        if token.unspaced:
            found += _pairs(token.pieces)
        elif len(token.pieces) > 1:
            found.append("".join(token.pieces))
    return [_term(word) for word in found[:MAX_TERMS]]


def query_terms(text: str) -> list[str]:
    """The terms to look for when `text` is asked, each once; at most `MAX_QUERY_TERMS`.

    English function words are left out unless nothing else is left; a single character of a script without
    spaces is asked for only where it stands alone.
    """
    if len(text) > QUERY_CHARACTERS:
        text = f"{text[: QUERY_CHARACTERS // 2]} {text[-QUERY_CHARACTERS // 2 :]}"
    asked: list[str] = []
    for token in _tokens(text):
        if token.unspaced:
            asked += _pairs(token.pieces) or token.pieces
        else:
            asked += token.pieces
            if len(token.pieces) > 1:
                asked.append("".join(token.pieces))
    words = [word for word in asked if word not in FUNCTION_WORDS] or asked
    unique = list(dict.fromkeys(map(_term, words)))
    if len(unique) > MAX_QUERY_TERMS:
        unique = unique[: MAX_QUERY_TERMS // 2] + unique[-MAX_QUERY_TERMS // 2 :]
    return unique


def has_words(text: str) -> bool:
    """Whether there is a word in it that a phrase could match."""
    return next(_tokens(text), None) is not None


def matches_phrase(phrase: str, text: str) -> bool:
    """Whether the words of `phrase` stand one after another in `text`, in any case and inflection.

    Compounds match by their parts and written together: "e-mail" and "email" match each other, and "mail"
    matches "e-mail". A phrase without a word matches nothing; nothing in it is a pattern.
    """
    wanted, given = list(_tokens(phrase)), list(_tokens(text))
    return _stands_in(_apart(wanted), _apart(given)) or _stands_in(_together(wanted), _together(given))


def _apart(tokens: list[_Token]) -> list[str]:
    return [_term(piece) for token in tokens for piece in token.pieces]


def _together(tokens: list[_Token]) -> list[str]:
    return [_term(word) for token in tokens for word in (token.pieces if token.unspaced else ["".join(token.pieces)])]


def _stands_in(wanted: list[str], given: list[str]) -> bool:
    return bool(wanted) and any(
        given[start : start + len(wanted)] == wanted for start in range(len(given) - len(wanted) + 1)
    )


def _tokens(text: str) -> Iterator[_Token]:
    folded = _INTERRUPTION.sub("", _plain(text))
    for match in (_ASCII_TOKEN if folded.isascii() else _TOKEN).finditer(folded):
        if match.lastgroup == "unspaced":
            yield _Token(True, _CLUSTER.findall(match[0]))
        elif match[0].isalpha():
            yield _Token(False, [match[0]])
        else:
            yield _Token(False, _PART.findall(match[0]))


def _plain(text: str) -> str:
    """`text` as it would be typed in a hurry: no case, accents, invisible characters or foreign digits."""
    folded = fold(text)
    if folded.isascii():
        return folded
    folded = _FORMAT.sub("", folded.translate(_SPELLINGS))
    folded = unicodedata.normalize("NFC", _OPTIONAL_MARK.sub("", unicodedata.normalize("NFD", folded)))
    return _FOREIGN_DIGIT.sub(lambda digit: str(unicodedata.decimal(digit[0])), folded)


def _pairs(characters: list[str]) -> list[str]:
    return [first + second for first, second in pairwise(characters)]


def _term(word: str) -> str:
    return _stem(word[:TERM_LENGTH])


@lru_cache(maxsize=32_768)
def _stem(word: str) -> str:
    """The stem of a Latin word (Snowball English, for every language alike), and anything else as it is."""
    if not (word.isascii() and word.isalpha()):
        return word
    with _stemmer_lock:
        return str(_stemmer.stemWord(word))
