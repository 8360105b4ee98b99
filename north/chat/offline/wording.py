"""A statement rewritten so that it stands alone: who is meant.

Only pronouns and the verb beside them change; all other words stay the lawyer's.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from north.chat.offline.dates import CALENDAR_DATE, DATE

_SHORT = (
    (re.compile(r"\bI'm\b", re.IGNORECASE), "I am"),
    (re.compile(r"\bI've\b", re.IGNORECASE), "I have"),
    (re.compile(r"\bI'd\b", re.IGNORECASE), "I would"),
    (re.compile(r"\bI'll\b", re.IGNORECASE), "I will"),
    (re.compile(r"\b(I|we|you) don't\b", re.IGNORECASE), r"\1 do not"),
    (re.compile(r"\bwe're\b", re.IGNORECASE), "we are"),
    (re.compile(r"\bwe've\b", re.IGNORECASE), "we have"),
    (re.compile(r"\byou're\b", re.IGNORECASE), "you are"),
)
_UNCHANGED_WORDS = """
    can could will would shall should may might must cannot can't won't wouldn't shouldn't mustn't was had did
    went wrote took made got said left came became began grew taught clerked
"""
_UNCHANGED = frozenset(_UNCHANGED_WORDS.split())
_IRREGULAR = {"am": "is", "are": "is", "have": "has", "do": "does", "go": "goes", "were": "was", "haven't": "hasn't"}
_BASE_IN_ED = frozenset({"need", "feed", "proceed", "exceed", "succeed", "speed", "heed"})
_VERB_IN_LY = frozenset({"rely", "apply", "reply", "supply", "comply", "imply", "fly", "multiply"})
_ADVERBS = (
    "always",
    "never",
    "no longer",
    "also",
    "only",
    "often",
    "still",
    "now",
    "just",
    "sometimes",
    "rather",
    "seldom",
    "much",
)
_ADVERB = rf"(?:{'|'.join(_ADVERBS)}|[a-z]+ly)"
_SHARED_VERBS = (
    "prefer|like|love|want|work|live|use|hate|need|speak|write|bill|handle|run|lead|do|am|have|practi[cs]e|report"
    "|read|sign|cite|draft|ask|quote|prepare|send|answer|are|summari[sz]e|mention|take|expect|avoid|require|charge"
    "|file|insist|keep"
)
_I = re.compile(
    rf"\b(?:(?P<object>me|myself)|(?P<own>my|mine)|I(?P<rest>(?:\s(?:{_ADVERB}))*\s[a-z']+)?)\b", re.IGNORECASE
)
_WE = re.compile(
    (
        rf"\b(?:(?P<own>our|ours)(?!\sfirm)|(?P<firm>us|(?:our|this|the)\sfirm)"
        rf"|we(?P<rest>(?:\s(?:{_ADVERB}))*\s[a-z']+)?)\b"
    ),
    re.IGNORECASE,
)
_YOU = re.compile(rf"\b(?:(?P<own>your)|you(?P<rest>(?:\s(?:{_ADVERB}))*\s(?:{_SHARED_VERBS}))?)\b", re.IGNORECASE)
_SECOND_VERB = re.compile(
    rf"(?<=\s)(?P<joint>(?:and|but)(?:\s(?:{_ADVERB}))*\s)(?P<verb>{_SHARED_VERBS})\b", re.IGNORECASE
)
_OUR_CLIENT = re.compile(r"\b(?:my|our) (client|case|matter|opponent)\b", re.IGNORECASE)
_CALL_ME = re.compile(r"^(?:you (?:can|may|should) )?(call|address) me (.+)$", re.IGNORECASE)
_PRONOUN_SUBJECT = re.compile(r"^(?:it|that|this|they|he|she)(?:'(?P<short>s|re)\b|(?=\s))", re.IGNORECASE)
_PREDICATE = re.compile(
    (
        r"\s(?:is|are|was|were|has|have|must|will|closes|runs|starts|begins|ends|expires|wants|prefers|does"
        r"|should)\b"
    ),
    re.IGNORECASE,
)
_TALK_OF_DATES_WORDS = """
    it that this is s are was due on by at the a to deadline date has have been be moved postponed extended
    changed meant rescheduled continued adjourned pushed back set for now no until of in scheduled i actually
"""
_TALK_OF_DATES = frozenset(_TALK_OF_DATES_WORDS.split())


def about_lawyer(text: str) -> str:
    """First person → the lawyer: "I always want …" becomes "The lawyer always wants …"."""
    if call := _CALL_ME.match(text):
        return f"The lawyer wants to be {'called' if call[1].lower() == 'call' else 'addressed'} {call[2]}"
    text = _written_out(text)
    starts_with_lawyer = re.match(r"I\b", text, re.IGNORECASE) is not None
    named = False

    def third(found: re.Match[str]) -> str:
        nonlocal named
        first, named = not named, True
        if found["own"]:
            return "the lawyer's" if first else "their"
        if found["object"]:
            return "the lawyer" if first else "them"
        rest = found["rest"] or ""
        return "the lawyer" + _last_word(rest, conjugated) if first else "they" + _last_word(rest, _plural)

    text = about_assistant(_I.sub(third, text))
    if not starts_with_lawyer:
        return text
    return _SECOND_VERB.sub(lambda verb: verb["joint"] + conjugated(verb["verb"]), text)


def about_firm(text: str) -> str:
    """The firm's practice: "We always file …" becomes "The firm always files …"."""

    def third(found: re.Match[str]) -> str:
        if found["own"]:
            return "the firm's"
        return "the firm" + _last_word(found["rest"] or "", conjugated)

    return about_lawyer(_WE.sub(third, _written_out(text)))


def about_matter(text: str) -> str:
    """A statement on a matter, for every member of it: "our client" becomes "the client"; "we" stays."""
    return about_lawyer(_OUR_CLIENT.sub(r"the \1", text))


def about_assistant(text: str) -> str:
    """Second person → North: "your answers" becomes "North's answers"."""

    def third(found: re.Match[str]) -> str:
        return "North's" if found["own"] else "North" + _last_word(found["rest"] or "", conjugated)

    return _YOU.sub(third, _written_out(text))


def _written_out(text: str) -> str:
    for short, full in _SHORT:
        text = short.sub(full, text)
    return text


def _last_word(phrase: str, change: Callable[[str], str]) -> str:
    head, space, verb = phrase.rpartition(" ")
    return f"{head}{space}{change(verb)}" if verb else phrase


def _plural(verb: str) -> str:
    return {"am": "are", "was": "were"}.get(verb.lower(), verb)


def conjugated(verb: str) -> str:
    """The third person singular of a verb's base form; past forms, modal verbs and adverbs stay as they are."""
    lower = verb.lower()
    if lower in _IRREGULAR:
        return _IRREGULAR[lower]
    is_past = lower.endswith("ed") and lower not in _BASE_IN_ED
    is_adverb = lower.endswith("ly") and lower not in _VERB_IN_LY
    if lower in _UNCHANGED or is_past or is_adverb or lower in _ADVERBS:
        return verb
    if re.search(r"(?:s|x|z|ch|sh|o)$", lower):
        return verb + "es"
    return verb[:-1] + "ies" if re.search(r"[^aeiou]y$", lower) else verb + "s"


def as_sentence(text: str) -> str:
    """`text` with a capital at the start and a full stop at the end."""
    text = text.strip().rstrip(",;:–—- ")
    text = text[:1].upper() + text[1:]
    return text if not text or text[-1] in ".!?…" else text + "."


def needs_subject(content: str) -> bool:
    """Whether a correction such as "It is due 14 June." or "14 June." says too little to stand alone."""
    return (
        _PRONOUN_SUBJECT.match(content) is not None
        or re.fullmatch(rf"(?:on |by |at |the )?{DATE}(?:,? not .+)?\.?", content, re.IGNORECASE) is not None
    )


def standing_alone(correction: str, corrected: str) -> str:
    """A correction such as "It is due 14 June." with what it leaves out, taken from the memory it corrects.

    A bare date replaces the memory's only date; a pronoun is replaced by the memory's subject. Otherwise
    the correction stays as it is.
    """
    new = re.findall(DATE, correction, re.IGNORECASE)
    old = re.findall(CALENDAR_DATE, corrected, re.IGNORECASE)
    if len(new) == len(old) == 1 and _adds_nothing(correction.replace(new[0], ""), corrected):
        return corrected.replace(old[0], new[0])
    pronoun, predicate = _PRONOUN_SUBJECT.match(correction), _PREDICATE.search(corrected)
    if pronoun is None or predicate is None:
        return correction
    verb = {"s": " is", "re": " are"}.get((pronoun["short"] or "").lower(), "")
    return corrected[: predicate.start()] + verb + correction[pronoun.end() :]


def _adds_nothing(correction: str, corrected: str) -> bool:
    return _words(correction) <= _words(corrected) | _TALK_OF_DATES


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
