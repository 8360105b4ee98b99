"""Which part of a chat message is the lawyer's own, and its sentences: the offline assistant's first step.

Everything here works on verbatim spans, so that a sentence can serve as evidence of what was said.
"""

from __future__ import annotations

import re

_OWN_WORDS_LIMIT = 1500  # characters; nobody types more in one go, so a longer text was pasted
_STRAIGHT = str.maketrans("’‘‛“”„«»", '\'\'\'"""""')

_PASTE = re.compile(
    r"""
      ```
    | ^\ {0,3}>\s
    | ^[^\w\n]{0,9}-{2,9}\s*(?:original|forwarded)\b
    | ^(?:from|to|cc|sent|subject|date|re|von|an|betreff):\s
    | ^on\ [^\n]{5,90}\ wrote:\s*$
    | ^dear\ [^\n]{0,60},?\s*$
    | ^q[.:]\s
    | ^\|.*\|\s*$
    | ^(?-i:[A-Z]{2,}(?:[ ,.&]+[A-Z]{2,}){2,})[\s.,:]*$
    | ^\#{1,6}[ ]
    | ^(?:whereas|now,?\ therefore|in\ witness\ whereof)\b
    | ^[ \t]*(?:article|section|clause|§)\s*[\dIVX]+\b
    | ^[ \t]*\d+\.\d+\.?\s+(?-i:[A-Z])
    | ^[ \t]*[{<][\w"/!?]
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_INTRODUCES_TEXT = re.compile(
    r"""
    (?:^|[.!?\n][ \t]*)(?:(?:please|now|can\ you|could\ you|would\ you)[ \t]+)*
    (?: here(?:'s|\ is|\ are)|below\ is|see\ below
      | (?:draft|write|rewrite|rephrase|summari[sz]e|translate|turn|convert|proofread|review|edit|explain|shorten
          |improve|fix|check|polish|reply|respond|say|type|insert|compose)\b )
    [^.!?\n:]*:\s
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SIGNED = re.compile(
    (
        r"^(?:(?:best|kind|warm|with (?:best|kind))? ?regards|sincerely|yours \w+|best wishes|cordially|mit "
        r"freundlichen grüßen)[,.]?\s*\n\s*\w"
    ),
    re.IGNORECASE | re.MULTILINE,
)
_LEGALESE = re.compile(r"\b(?:shall|hereby|hereto|herein|hereinafter|thereof|witnesseth)\b", re.IGNORECASE)
_LEGALESE_LIMIT = 2  # a lawyer may type one `shall`; three make a clause

_QUOTED = re.compile(r'"[^"\n]*"')
_END = re.compile(r"[.!?…]+[\"')\]]*(?=\s)|[。！？]|\n+")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:(?:mr|mrs|ms|dr|prof|st|jr|sr|hon|no|nos|art|sec|para|vs?|etc|approx|ca|cf|dept|est|fed|civ|crim"
    r"|app|supp|ch|vol|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|abs|nr|bzw)|[a-z]|(?:[a-z]\.)+[a-z]|\d{1,2})\.$",
    re.IGNORECASE,
)
_COMPANY = re.compile(r"\b(?:inc|corp|co|ltd|llc|bros|plc)\.$", re.IGNORECASE)
_STARTS_SENTENCE = re.compile(r"\s*(?:the|our|we|i|i'm|my|they|it|please|their|this|he|she|\n)\b", re.IGNORECASE)
_BULLET = re.compile(r"\s*(?:[-*•–]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+")


def straight(text: str) -> str:
    """`text` with straight quotes, character for character, so that positions stay the same."""
    return text.translate(_STRAIGHT)


def own_words(text: str) -> str:
    """The beginning of `text` that the lawyer typed themselves; empty when all of it was pasted or dictated.

    It ends where a quoted mail, a heading, a clause, code or a text that they introduce ("Here is the
    draft: …") begins. What follows is somebody's words, or the lawyer's in a role.
    """
    text = text[: _OWN_WORDS_LIMIT + 1]  # a later beginning of a paste makes no difference
    plain = straight(text)
    ends = [len(text)]
    if paste := _PASTE.search(plain):
        ends.append(paste.start())
    if introduction := _INTRODUCES_TEXT.search(plain):
        ends.append(introduction.end())
    own = text[: min(ends)]
    if len(own) > _OWN_WORDS_LIMIT or _SIGNED.search(own) or len(_LEGALESE.findall(own)) > _LEGALESE_LIMIT:
        return ""
    return own


def sentences(text: str) -> list[str]:
    """The sentences of `text` as verbatim spans, without list bullets; quoted passages are never split."""
    masked = _QUOTED.sub(lambda quote: "_" * len(quote.group()), straight(text))
    spans, start = [], 0
    for end in _END.finditer(masked):
        if _really_ends(masked, start, end):
            spans.append((start, end.end()))
            start = end.end()
    spans.append((start, len(text)))
    found = (_without_bullet(text[first:last]) for first, last in spans)
    return [sentence for sentence in found if sentence]


def _really_ends(text: str, start: int, end: re.Match[str]) -> bool:
    if not end.group().startswith(".") or len(end.group()) > 1:
        return True
    before = text[start : end.end()]
    if _COMPANY.search(before):
        return _STARTS_SENTENCE.match(text, end.end()) is not None
    return _ABBREVIATION.search(before) is None


def _without_bullet(span: str) -> str:
    bullet = _BULLET.match(span)
    return span[bullet.end() if bullet else 0 :].strip()
