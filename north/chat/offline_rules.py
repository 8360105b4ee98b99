"""What in a message is worth keeping, changing or forgetting: the offline assistant's reading of a chat message.

Pure functions over text. They prefer silence to a wrong save: a sentence is kept only when a pattern of
`offline_patterns` says what it is, or when the lawyer asks for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from north.chat.offline_dates import DATE, absolute_days
from north.chat.offline_patterns import NOT_DURABLE, ONE_OFF, STATEMENTS
from north.chat.offline_sentences import own_words, sentences, straight
from north.chat.offline_wording import about_assistant, about_firm, about_lawyer, about_matter, as_sentence
from north.model import MemoryType, Scope

_SENTENCE_LIMIT = 600  # characters; a longer sentence is prose, not a statement to keep

PERSONAL = frozenset(
    {MemoryType.IDENTITY, MemoryType.PREFERENCE, MemoryType.INSTRUCTION, MemoryType.PLAYBOOK_RULE}
)
"""Types that are about the lawyer or the firm, also when they are said on a matter."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """Something that a message asks to keep, change or forget.

    `content` stands alone, except in an update such as "It is due 14 June.", which takes its subject from the
    memory that it corrects. `about` names that memory, in an update or a forget; None means the one spoken of
    last. `evidence` is the verbatim sentence of the message.
    """

    content: str
    type: MemoryType
    scope: Scope
    kind: Literal["save", "update", "forget"]
    about: str | None
    evidence: str


def recognise(text: str, *, on_matter: bool, now: datetime) -> list[Recognised]:
    """What `text`, a lawyer's chat message sent at `now`, asks to keep, change or forget, in its order.

    Without a matter (`on_matter` false) everything is `user_private`. Firm practice is `user_private` too:
    firm scope is never injected. Days relative to `now` come out as dates.
    """
    own = own_words(text)
    if _KEEP_NOTHING.search(straight(own)):
        return []
    found: list[Recognised] = []
    correcting = False
    for sentence in sentences(own):
        reading = _Reading(sentence, on_matter, now)
        read = _read(reading, correcting=correcting)
        correcting = not read and _CORRECTS.fullmatch(reading.said) is not None
        found.extend(read)
    return found


def is_question(sentence: str) -> bool:
    """Whether a sentence asks something, with or without a question mark."""
    said = _stripped(straight(sentence))
    return not _is_lasting_request(said) and (said.endswith("?") or _ASKS.match(said) is not None)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One sentence with what its reading depends on."""

    evidence: str
    on_matter: bool
    now: datetime

    @property
    def said(self) -> str:
        return _stripped(straight(self.evidence))


_GREETING = re.compile(
    r"^(?:(?:hi|hello|hey|good\s(?:morning|afternoon|evening))(?:\s(?:there|north|all|again))?\s*[,.!:–—-]\s*"
    r"|(?:thanks|thank\syou|ok(?:ay)?|great|perfect|right|well|oh|yes|first|second|third|finally|one\smore\sthing"
    r"|by\sthe\sway|btw|in\saddition|additionally|again|for\sthe\srecord|as\syou\sknow|hallo|hola|bonjour|übrigens"
    r"|in\sthis\smatter|on\sthis\smatter|in\sthis\scase|so\sfar)\s*[,!:–—-]\s*"
    r"|(?:also|and|so|please|but|plus|then),?\s+)",
    re.IGNORECASE,
)
_FAREWELL = re.compile(
    r"[,;]?\s*(?:,\s?(?:please|thanks|thank\syou|by\sthe\sway|btw|fyi|ok(?:ay)?|okay\?|right\?|north)|please|\bthx|\bthanks)\s*[.!]*$",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"^(?:(?:what|who|whom|whose|when|where|why|how|which)(?:'s|'re)?\s(?:\w+\s){0,3}?"
    r"(?:is|are|was|were|do|does|did|can|could|should|shall|will|would|must|has|have|am|may)\b"
    r"|how\s(?:many|much|long|often)\b|(?:what|who|where|when|how)'s\b"
    r"|(?:do|does|did|is|are|was|were|can|could|should|shall|will|would|have|has|am|may)\s"
    r"(?:I|we|you|he|she|they|it|the|our|my|there|this|that|any)\b|remind\sme\b|tell\sme\b|show\sme\b)",
    re.IGNORECASE,
)
_POLITE = re.compile(r"^(?:can|could|would|will)\syou\s(?:please\s|kindly\s)?(?=.*\b(?:always|never)\b|from\snow\son\b)", re.IGNORECASE)
_EXPLICIT = re.compile(
    r"^(?:(?:I\s(?:want|need|would\slike|'d\slike)\syou\sto\s|(?:can|could|would)\syou\s)?(?:please\s)?"
    r"(?:(?:remember|note|keep\sin\smind|bear\sin\smind|(?:don't|do\snot)\sforget|make\sa\snote|take\snote|save|record|know|memori[sz]e)"
    r"(?:\s(?:down|for\slater|for\snext\stime|for\sthe\sfuture))?(?P<that>\s*,?\s*that\s|\s*:\s*|\s*,\s*)"
    r"|(?:remember|note|keep\sin\smind|bear\sin\smind|(?:don't|do\snot)\sforget)\s(?!to\b|when\b|what\b|how\b|me\b|us\b|last\b|this\b))"
    r"|(?P<fyi>fyi|for\syour\sinformation|for\s(?:future|your)\sreference|just\sso\syou\sknow|just\sfyi|you\sshould\sknow(?:\sthat)?"
    r"|nb|n\.b\.|note\sto\sself|important|reminder)\s*[,:–—-]?\s+)",
    re.IGNORECASE,
)
_KEEP_NOTHING = re.compile(
    r"\b(?:(?:don't|do\snot|never|no\sneed\sto|not\sto|without|stop|you\sneedn't|you\sneed\snot)\s"
    r"(?:remember|remembering|save|saving|note|store|storing|keep|record|memori[sz]e|write)\s"
    r"(?:this|it|any\sof\sthis|anything\sof\sthis|what\sfollows|that\s(?:down|anywhere)|that\s*[:,])|off\sthe\srecord"
    r"|(?:just|strictly)\sbetween\s(?:us|you\sand\sme)|not\sfor\sthe\srecord)(?!\W*$)",
    re.IGNORECASE,
)
_FORGET = re.compile(
    r"^(?:(?:can|could|would)\syou\s)?(?:please\s)?(?:"
    r"(?:forget|(?:don't|do\snot)\sremember|unlearn|stop\sremembering)\s(?:that(?:\sagain)?|what\sI\s(?:just\s)?(?:said|told\syou)|the\slast\s(?:one|thing|memory))"
    r"|(?:delete|remove|erase|discard)\s(?:that|this|the\slast)\s(?:memory|note|entry)"
    r"|(?:forget|(?:don't|do\snot)\sremember|unlearn|stop\sremembering)\s(?:(?:everything|all|anything|the\sthing|what|the\s(?:memory|note|fact|preference|rule))\s)?"
    r"(?:(?:you\s(?:know|remember)|I(?:'ve|\shave)?\s(?:said|told\syou|mentioned))\s)?(?:about|regarding|on|that)\s(?P<about>(?!it$|them$).+)"
    r"|forget\s(?:the|my|our)\s(?P<thing>.+?)\s(?:thing|memory|note|rule|preference|deadline|instruction|fact)"
    r"|(?:delete|remove|erase|discard)\s(?:the|my|that|your)\s(?:memory|memories|note|entry|preference|rule)\s(?:about|regarding|on|of|that|for)\s(?P<entry>.+)"
    r")\s*[.!?]*$",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"(?:(?:no|nope|actually|wait|sorry|apologies|correction|update|scratch\sthat|strike\sthat|not\squite|my\smistake|on\ssecond\sthought"
    r"|(?:that(?:'s|\sis|\swas)|you(?:'re|\sare))\s(?:wrong|not\sright|not\scorrect|incorrect|mistaken|outdated|no\slonger\s(?:true|right|correct))"
    r"|I\s(?:was\swrong|misspoke|made\sa\smistake)|I\s?(?:'ve|have)?\schanged\smy\smind|I\smeant(?:\sto\ssay)?)(?:\s*[,.;:!–—-]+\s*|\s+|$))+",
    re.IGNORECASE,
)
_CHANGED_MIND = re.compile(r"changed\smy\smind|second\sthought", re.IGNORECASE)
_PRONOUN_STATEMENT = re.compile(
    rf"^(?:it|that|this|they|he|she)(?:'s|'re|\s(?:is|are|was|were|should\sbe|will\sbe|has\sbeen|closes|runs|starts|begins|ends|expires))\s"
    rf"(?:.*{DATE}|.*\d|(?:\w+\s){{0,4}}(?-i:(?!OK|Ok)[A-Z]))",
    re.IGNORECASE,
)
_BARE_DATE = re.compile(rf"^(?:on\s|by\s|at\s|the\s)?{DATE}(?:,?\snot\s.+)?$", re.IGNORECASE)
_MOVED = re.compile(
    r"^(?:the|our|my)\s(?P<about>[\w' -]{3,60}?)\s(?:(?:has|have)\sbeen\s|was\s|were\s|is\s(?:now\s)?|got\s|has\s)?"
    r"(?:moved|postponed|continued|adjourned|extended|rescheduled|pushed|changed|brought\sforward|increased|reduced|renamed|amended)"
    rf"\s(?:back\s|out\s|forward\s)?(?:from\s.+\s)?(?:to|until|by)\s.*(?:{DATE}|\d|(?-i:[A-Z]))",
    re.IGNORECASE,
)
_NO_LONGER = re.compile(r"^(?:I|we|our|the|my|(?-i:[A-Z])).*\b(?:no\slonger|any\s?more|any\slonger)\b", re.IGNORECASE)
_STOP = re.compile(
    r"^(?:stop|quit)\s(?:using|citing|writing|adding|putting|including|starting|ending|signing|calling|addressing|formatting|sending|giving|abbreviating)\s"
    r"(?P<about>(?!this|that|it|these|those|the\b).+)$",
    re.IGNORECASE,
)
_NOT_BUT = re.compile(r"^(?:it|that|the|my|our)(?:'s|\s.*?\b(?:is|are))\s.+,\snot\s(?P<about>.+)$", re.IGNORECASE)
_INSTEAD = re.compile(r"^(?:please\s)?(?:use|switch\sto|go\swith)\s(?!the\b|this|that|an?\b).+\s(?:instead\sof|rather\sthan|not)\s(?P<about>.+)$", re.IGNORECASE)
_ORDER = re.compile(r"^(?:use|switch\sto|go\swith|write|cite|keep|call|make|send|put|avoid)\s(?!the\sattached|this|that|it\b)", re.IGNORECASE)
_JOINT = re.compile(
    r";\s+|,?\s+(?:and|but)\s+(?:also\s+)?(?=(?:I|I'm|I've|my|we|we've|our|please|call\sme|never|always|the|opposing|discovery|trial)\b)", re.IGNORECASE
)


def _read(reading: _Reading, *, correcting: bool) -> list[Recognised]:
    said = reading.said
    if len(said) > _SENTENCE_LIMIT or not said:
        return []
    if forget := _FORGET.match(said):
        about = next((part for part in forget.groups() if part), None)
        return [_recognised(reading, "", None, kind="forget", about=about)]
    if is_question(reading.evidence):
        return []
    explicit = _EXPLICIT.match(said)
    statement = said[explicit.end() :] if explicit else said
    if not explicit and any(pattern.search(said) for _, pattern in NOT_DURABLE):
        return []
    change = _change(reading, statement, correcting=correcting)
    if change:
        return [change]
    parts = [_statement(reading, _stripped(part)) for part in _JOINT.split(statement)]
    if len(parts) > 1 and all(parts):
        return [part for part in parts if part]
    whole = _statement(reading, statement)
    if whole is None and explicit and (explicit["that"] or explicit["fyi"]):
        whole = _as_asked(reading, statement)
    return [whole] if whole else []


def _statement(reading: _Reading, said: str) -> Recognised | None:
    said = _POLITE.sub("", said).rstrip("?")
    for _, pattern, type_ in STATEMENTS:
        if pattern.match(said) if pattern.pattern.startswith("^") else pattern.search(said):
            if type_ in PERSONAL and ONE_OFF.search(said):
                return None
            return _recognised(reading, said, type_)
    return None


def _as_asked(reading: _Reading, said: str) -> Recognised | None:
    """A statement that the lawyer asks to keep and no pattern knows: about them, or a plain fact."""
    if len(said.split()) < 3:
        return None
    first_person = re.match(r"(?:I|I'm|I've|I'd|my)\b", said, re.IGNORECASE)
    return _recognised(reading, said, MemoryType.IDENTITY if first_person else MemoryType.FACT)


def _change(reading: _Reading, said: str, *, correcting: bool) -> Recognised | None:
    """The sentence as a correction of something said before, or None."""
    for pattern, type_ in ((_MOVED, None), (_NOT_BUT, None), (_STOP, MemoryType.INSTRUCTION), (_INSTEAD, MemoryType.INSTRUCTION)):
        if (found := pattern.match(said)) and not ONE_OFF.search(said):
            return _recognised(reading, said, type_ or _type_by_date(said), kind="update", about=found["about"])
    if _NO_LONGER.match(said):
        return _recognised(reading, said, _type_by_subject(said), kind="update", about=said)
    lead = _CORRECTS.match(said)
    if lead is None and not correcting:
        return None
    rest = _stripped(said[lead.end() :] if lead else said)
    statement = _statement(reading, rest)
    if statement:
        return replace(statement, kind="update", about=rest)
    if _BARE_DATE.match(rest) or _PRONOUN_STATEMENT.match(rest):
        return _recognised(reading, rest, _type_by_date(rest), kind="update")
    changed_mind = lead is not None and _CHANGED_MIND.search(lead.group())
    if changed_mind and _ORDER.match(rest) and not ONE_OFF.search(rest):
        return _recognised(reading, rest, MemoryType.INSTRUCTION, kind="update", about=rest)
    return None


def _type_by_date(said: str) -> MemoryType:
    return MemoryType.DEADLINE if re.search(DATE, said, re.IGNORECASE) else MemoryType.FACT


def _type_by_subject(said: str) -> MemoryType:
    if re.match(r"I(?:'m|\sam|\swork|\sreport)\b", said, re.IGNORECASE):
        return MemoryType.IDENTITY
    if re.match(r"I\b", said, re.IGNORECASE):
        return MemoryType.PREFERENCE
    return MemoryType.PLAYBOOK_RULE if re.match(r"(?:we|our)\b", said, re.IGNORECASE) else MemoryType.FACT


def _recognised(
    reading: _Reading,
    said: str,
    type_: MemoryType | None,
    *,
    kind: Literal["save", "update", "forget"] = "save",
    about: str | None = None,
) -> Recognised:
    type_ = type_ or MemoryType.FACT
    personal = type_ in PERSONAL
    first_person = re.match(r"(?:I|my)\b", said, re.IGNORECASE) is not None and type_ is not MemoryType.DECISION
    scope = Scope.MATTER if reading.on_matter and not personal and not first_person else Scope.USER_PRIVATE
    return Recognised(_standing_alone(said, type_, reading.now), type_, scope, kind, about, reading.evidence)


def _standing_alone(said: str, type_: MemoryType, now: datetime) -> str:
    reword = {
        MemoryType.IDENTITY: about_lawyer,
        MemoryType.PREFERENCE: about_lawyer,
        MemoryType.INSTRUCTION: about_lawyer,
        MemoryType.PLAYBOOK_RULE: about_firm,
    }.get(type_, about_matter)
    return as_sentence(reword(absolute_days(said, now, weekdays=type_ not in PERSONAL)))


def _is_lasting_request(said: str) -> bool:
    return _POLITE.match(said) is not None


def _stripped(said: str) -> str:
    """`said` without greeting, courtesy and closing punctuation; a question mark stays."""
    before = None
    while said != before:
        before = said
        said = _GREETING.sub("", said.strip())
        said = _FAREWELL.sub("", said).rstrip(" .!…")
    return said
