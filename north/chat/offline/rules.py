"""What in a message is worth keeping, changing or forgetting: the offline assistant's reading of a chat message.

Pure functions over text. They prefer silence to a wrong save: a sentence is kept only when a pattern of
`statements` says what it is, or when the lawyer asks for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from north.chat.offline import changes, gates
from north.chat.offline.dates import DATE, absolute_days
from north.chat.offline.sentences import own_words, sentences, straight
from north.chat.offline.statements import STATEMENTS
from north.chat.offline.wording import about_firm, about_lawyer, about_matter, as_sentence
from north.model import MemoryType, Scope

_SENTENCE_LIMIT = 600  # characters; a longer sentence is prose, not a statement to keep

PERSONAL = frozenset({MemoryType.IDENTITY, MemoryType.PREFERENCE, MemoryType.INSTRUCTION, MemoryType.PLAYBOOK_RULE})
"""Types that are about the lawyer or the firm, also when they are said on a matter."""

Kind = Literal["save", "update", "forget"]


@dataclass(frozen=True, slots=True)
class Recognised:
    """Something that a message asks to keep, change or forget.

    `content` stands alone, except in an update such as "It is due 14 June.", which takes its subject from the
    memory that it corrects, and in a forget, where it is empty. `about` names that memory; None means the one
    spoken of last. `evidence` is the verbatim sentence of the message.
    """

    content: str
    type: MemoryType
    scope: Scope
    kind: Kind
    about: str | None
    evidence: str


@dataclass(frozen=True, slots=True)
class _Sentence:
    """One sentence of a message: verbatim, as it is read, and what its reading depends on."""

    evidence: str
    said: str
    on_matter: bool
    now: datetime


def recognise(text: str, *, on_matter: bool, now: datetime) -> list[Recognised]:
    """What `text`, a lawyer's chat message sent at `now`, asks to keep, change or forget, in its order.

    Without a matter (`on_matter` false) everything is `user_private`. Firm practice is `user_private` too:
    firm scope is never injected. Days relative to `now` come out as dates.
    """
    own = own_words(text)
    if gates.KEEP_NOTHING.search(_plain(own)):
        return []
    found: list[Recognised] = []
    correcting = False
    for evidence in sentences(own):
        said = gates.without_polite_question(gates.stripped(_plain(evidence)))
        sentence = _Sentence(evidence, said, on_matter, now)
        read = _read(sentence, correcting=correcting)
        correcting = not read and changes.CORRECTS.fullmatch(sentence.said) is not None
        found.extend(read)
    return found


def questions(text: str) -> list[str]:
    """The questions that `text` asks in the lawyer's own words, verbatim."""
    return [sentence for sentence in sentences(own_words(text)) if gates.asks(gates.stripped(_plain(sentence)))]


def _plain(text: str) -> str:
    return " ".join(straight(text).split())


def _read(sentence: _Sentence, *, correcting: bool) -> list[Recognised]:
    said = sentence.said
    if not said or len(said) > _SENTENCE_LIMIT:
        return []
    if forget := changes.FORGET.match(said):
        about = next((part for part in forget.groups() if part), None)
        return [Recognised("", MemoryType.FACT, Scope.USER_PRIVATE, "forget", about, sentence.evidence)]
    if gates.asks(said):
        return []
    if explicit := changes.EXPLICIT.match(said):
        certain = explicit["that"] or explicit["fyi"]
        return _as_asked(sentence, gates.stripped(said[explicit.end() :]), certain=bool(certain))
    if not gates.is_durable(said):
        return []
    change = _change(sentence, correcting=correcting)
    return [change] if change else _statements(sentence, said)


def _as_asked(sentence: _Sentence, said: str, *, certain: bool) -> list[Recognised]:
    """What the lawyer asks to keep; when no pattern knows it, it is about them or a plain fact."""
    known = _statements(sentence, said)
    if known or not certain or len(said.split()) < 3:
        return known
    about_them = re.match(r"(?:I|I'm|I've|I'd|my)\b", said, re.IGNORECASE)
    return [_recognised(sentence, said, MemoryType.IDENTITY if about_them else MemoryType.FACT)]


_JOINT = re.compile(
    r"; |,? (?:and|but) (?:also )?(?=(?:I|I'm|I've|my|we|we've|our|please|call me|(?:never|always) (?!in |on |at "
    r"|with |for |to )|the|opposing|discovery|trial)\b)",
    re.IGNORECASE,
)


def _statements(sentence: _Sentence, said: str) -> list[Recognised]:
    """The statements in `said`: its halves, when each is one, else the whole."""
    halves = [_statement(sentence, gates.stripped(half)) for half in _JOINT.split(said)]
    found = [half for half in halves if half is not None]
    if len(found) > 1 and len(found) == len(halves):
        return found
    whole = _statement(sentence, said)
    return [whole] if whole else []


def _statement(sentence: _Sentence, said: str) -> Recognised | None:
    for statement in STATEMENTS:
        if statement.regex.match(said):
            not_kept = gates.ONE_OFF.search if statement.type in PERSONAL else gates.WORK_ORDER.match
            return None if not_kept(said) else _recognised(sentence, said, statement.type)
    return None


def _change(sentence: _Sentence, *, correcting: bool) -> Recognised | None:
    """The sentence as a correction of something said before, or None."""
    said = sentence.said
    if gates.ONE_OFF.search(said) is None:
        for pattern, type_ in (
            (changes.MOVED, _type_by_date(said)),
            (changes.NOT_BUT, _type_by_date(said)),
            (changes.STOP, MemoryType.INSTRUCTION),
            (changes.INSTEAD, MemoryType.INSTRUCTION),
        ):
            if found := pattern.match(said):
                right = _NOT_THE_OLD.sub("", said)
                return _recognised(sentence, right, type_, kind="update", about=found["about"])
    if changes.NO_LONGER.match(said):
        return _recognised(sentence, said, _type_by_subject(said), kind="update", about=said)
    lead = changes.CORRECTS.match(said)
    if lead is None and not correcting:
        return None
    changed_mind = lead is not None and changes.CHANGED_MIND.match(lead.group()) is not None
    return _correction(sentence, gates.stripped(said[lead.end() :] if lead else said), changed_mind=changed_mind)


_NOT_THE_OLD = re.compile(r", not .+$", re.IGNORECASE)


def _correction(sentence: _Sentence, said: str, *, changed_mind: bool) -> Recognised | None:
    """What follows "no", "actually" or "I changed my mind"."""
    if statement := _statement(sentence, said):
        return replace(statement, kind="update", about=None if changed_mind else said)
    if changes.BARE_DATE.match(said) or changes.PRONOUN_STATEMENT.match(said):
        return _recognised(sentence, said, _type_by_date(said), kind="update")
    if changed_mind and changes.ORDER.match(said) and not gates.ONE_OFF.search(said):
        return _recognised(sentence, said, MemoryType.INSTRUCTION, kind="update")
    return None


def _type_by_date(said: str) -> MemoryType:
    return MemoryType.DEADLINE if re.search(DATE, said, re.IGNORECASE) else MemoryType.FACT


def _type_by_subject(said: str) -> MemoryType:
    if re.match(r"I(?:'m| am| work| report)\b", said, re.IGNORECASE):
        return MemoryType.IDENTITY
    if re.match(r"I\b", said, re.IGNORECASE):
        return MemoryType.PREFERENCE
    return MemoryType.PLAYBOOK_RULE if re.match(r"(?:we|our)\b", said, re.IGNORECASE) else MemoryType.FACT


def _recognised(
    sentence: _Sentence, said: str, type_: MemoryType, *, kind: Kind = "save", about: str | None = None
) -> Recognised:
    on_matter = sentence.on_matter and type_ not in PERSONAL
    content = _standing_alone(said, type_, sentence.now)
    return Recognised(content, type_, Scope.MATTER if on_matter else Scope.USER_PRIVATE, kind, about, sentence.evidence)


_REWORD = {
    MemoryType.IDENTITY: about_lawyer,
    MemoryType.PREFERENCE: about_lawyer,
    MemoryType.INSTRUCTION: about_lawyer,
    MemoryType.PLAYBOOK_RULE: about_firm,
}


def _standing_alone(said: str, type_: MemoryType, now: datetime) -> str:
    dated = said if type_ in PERSONAL else absolute_days(said, now)  # in a habit a weekday means every week
    return as_sentence(_REWORD.get(type_, about_matter)(dated))
