"""What a sentence is besides a statement: courtesy, a question, a moment, somebody else's words.

All patterns see one sentence with straight quotes and single spaces.
"""

from __future__ import annotations

import re

from north.chat.offline.vocabulary import IMPERATIVE, any_of

_COURTESY = re.compile(
    r"^(?:(?:hi|hello|hey|good (?:morning|afternoon|evening))(?: (?:there|north|all|again))?\s*[,.!:–—-]\s*"
    r"|(?:thanks|thank you|ok(?:ay)?|great|perfect|right|well|oh|yes|first|second|third|finally|one more thing|hallo"
    r"|hola|bonjour|in addition|additionally|again|for the record|as you know|as (?:discussed|agreed)|by the way|btw"
    r"|for what it's worth|fwiw|(?:on|in) this (?:matter|case)|so far|on another note|personally|honestly|generally"
    r"|in general|to be clear|as a firm|übrigens) ?[,!:–—-]\s*|(?-i:[A-Z])\w+ here ?[,–—-] ?|(?:for what it's worth"
    r"|by the way|btw|as a firm|also|and|so|please|but|plus|then),? )",
    re.IGNORECASE,
)
_PARTING = re.compile(
    (
        r"(?:[,;] ?(?:please|thanks|thank you|by the way|btw|fyi|ok(?:ay)?\??|right\?|north)| please| thx| "
        r"thanks)\s*[.!]*$"
    ),
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"(?:(?:what|who|whom|whose|when|where|why|how|which)(?:'s|'re)? (?:\w+ ){0,3}?(?:is|are|was|were|do|does|did"
    r"|can|could|should|shall|will|would|must|has|have|had|am|may)\b|who \w+(?:s|ed)\b|which (?:\w+ ){1,2}\w+s\b"
    r"|how (?:many|much|long|often)\b|(?:what|who|where|when|how)'s\b|(?:do|does|did|is|are|was|were|can|could"
    r"|should|shall|will|would|have|has|am|may) (?:I|we|you|he|she|they|it|the|our|my|there|this|that|any)\b"
    r"|(?:remind me|tell me|show me|list) )",
    re.IGNORECASE,
)
_LASTING_REQUEST = re.compile(
    r"^(?:can|could|would|will) you (?:please |kindly )?(?=.*\b(?:always|never|from now on)\b)", re.IGNORECASE
)

KEEP_NOTHING = re.compile(
    r"\b(?:(?:don't|do not|never|no need to|not to|without|stop|you needn't|you need not) (?:remember|remembering"
    r"|save|saving|note|store|storing|keep|record|memori[sz]e|write) (?:this|it|any of this|anything of this|what "
    r"follows|that (?:down|anywhere)|that ?[:,])|off the record|(?:just |strictly )?between (?:us|you and me),|not "
    r"for the record)(?!\W*$)",
    re.IGNORECASE,
)
"""A message with this in it is not to be remembered, whatever else it says."""

_REPORTS = any_of(
    """
    claims|claimed|says|said|argues|argued|alleges|alleged|contends|contended|insists|asserts|asserted|told|tells me
    telling me|wrote|writes|testified|states|stated|suggests|demands|thinks|believes|maintains|opined|opines|put it
    keeps? saying|estimates
    """
)
_REPORTED = (
    rf"(?!(?:I|we|our|the firm's|firm) .{{0,40}}(?:policy|rule|practice|standard|guide))(?!(?:I"
    rf"|we)\b).{{0,60}}?\b{_REPORTS}\b(?! (?:is|are|was)\b)"
    r"|(?:they|others|(?:\w+ & )?\w+s?) (?:claim|say|argue|allege|contend|insist|assert|maintain|think|believe)\b"
    r"|.*\b(?:claim|say|argue|allege|contend|insist|assert|maintain|testify|state|suggest|write)(?:s|d|ed)? that\b"
    r"|.*\baccording to\b|.*\b(?:allegedly|supposedly|reportedly|apparently)\b|in (?:their|his|her) view\b|I('ve)? "
    r"(?:heard|read) |(?:[\w']+ )?(?:plaintiff|defendant|opponent|other side|opposing counsel|claimant"
    r"|respondent)(?:'s|s') (?:position|argument|theory|view|case)\b"
)
_HYPOTHETICAL = (
    r"(?:suppose|supposing|assum(?:e|ing)|let us assume|imagine|hypothetically|pretend|what if|let's (?:say|assume"
    r"|pretend|imagine)|say (?:the|our|that|we)|in theory|in principle|in a world|for the sake of|were|should (?:we"
    r"|they|the|it|our))\b|.*\bif\b.*\b(?:were|would|lose|win|could)\b|.*\bwould be\b|.*\bhypothetical|.*\bwould .* "
    r"if\b"
)
_CONDITION = (
    r"(?:if|unless|in case)\b(?!.*, (?:always|never|please|don't|do not) )"
    rf"(?! (?:an?|any|no|I|you|there|something|in doubt)\b.*, {IMPERATIVE} )(?! I (?:say|write|mention|ask for) .*, "
    rf"I )"
)
_UNSURE = (
    r".*\b(?:might|could|may(?= be| have| need)|maybe|perhaps|probably|possibly|presumably|not (?:quite |entirely "
    r")?(?:sure|certain|clear)|unsure|unclear)\b|.*\bI (?:\w+ly )?(?:think|guess|suppose|wonder|believe|doubt|assume"
    r"|suspect|(?:don't|do not) (?:know|remember|think|recall))\b|it (?:seems|looks|appears)\b|.*\bused to (?!work"
    r"|clerk)|if I (?:remember|recall)|as far as I (?:know|remember|recall)"
)
_JOKE = (
    r".*(?:(?:^|\s)/s\b|\b(?:lol|haha+|just kidding|kidding|joking|yeah right|rofl|lmao)\b|[🙄😂🤣😜😏]|\bobviously$)"
    r"|(?:oh )?(?:sure|great|wonderful|wow),? .*\b(?:more|again)\b"
)
_QUOTES = r'"|.*\b(?:say|says|said|wrote|write|reads?|add|that|as|following|line|answer|reply)[:,]? "[^"]{15,}"'
_MOMENT = (
    r".*\b(?:weather|coffee|weekend|lunch|dinner|break)$|.*\bso (?:tired|bored|done)\b|.*\ba (?:long|rough|hard"
    r"|bad) (?:day|night|week|time)\b"
)
_OTHER_VOICE = (
    r"(?:the|their|your) (?:letter|e-?mail|draft|memo|bio|speech|statement|reply|text|sentence) (?:should|must|has "
    r"to|needs to) (?:say|read|state)\b"
)

NOT_DURABLE: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "somebody else says": _REPORTED,
        "hypothetical": _HYPOTHETICAL,
        "condition": _CONDITION,
        "unsure": _UNSURE,
        "joke": _JOKE,
        "quotation": _QUOTES,
        "moment": _MOMENT,
        "another voice": _OTHER_VOICE,
    }.items()
}
"""What keeps a sentence from being saved, unless the lawyer asks for it with "remember that"."""

ONE_OFF = re.compile(
    r"\b(?:for|in|on|with|about) (?:this|that|these|the current|the attached|today's) (?!matter|case\b|firm|office"
    r"|client|team)[\w-]+|\bthis (?:time|once|one)\b|\b(?:just |only )?(?:this )?once\b|\bfor (?:now|today|the "
    r"moment)\b|\b(?:right|just) now\b|\bat the moment\b|\b(?:today|tonight|tomorrow)\b|\bthis (?:morning|afternoon"
    r"|evening|week)\b|\bthe attached\b|\b(?:here|yet)$|\b(?:the|that) (?:first|second|third|last|former|latter"
    r"|other|shorter|longer|original|new|old|previous) (?:one|version|option|draft|wording|paragraph|sentence"
    r"|clause)\b|\boption [A-Z\d]\b|\b(?:paragraph|section|clause|page|line) \d|\bin the (?:reply|letter|memo|draft"
    r"|e-?mail|brief|motion|answer|caption)$|\ball day$|\bof (?:this|that|it|these)$",
    re.IGNORECASE,
)
"""Marks of a wish for the work at hand; they say nothing against a fact or a deadline."""


WORK_ORDER = re.compile(
    r"(?:draft|write|tell|send|e-?mail|ask|prepare|inform|let|summari[sz]e|explain|notify|remind|add|insert|change"
    r"|move|check|confirm|make sure|find|put|say|include|state|mention|reply|respond|call|argue|note) ",
    re.IGNORECASE,
)
"""An order to do something now; what it says about the matter is for the work, not a statement."""


def stripped(said: str) -> str:
    """`said` without greeting, courtesy and closing punctuation; a question mark stays."""
    before = None
    while said != before:
        before = said
        said = _COURTESY.sub("", said.strip())
        said = _PARTING.sub("", said).rstrip(" .!…")
    return said


def without_polite_question(said: str) -> str:
    """A lasting wish put as a question ("Could you always …?") as the wish itself; else `said`."""
    wish = _LASTING_REQUEST.sub("", said)
    return wish if wish == said else wish.rstrip("? ")


def asks(said: str) -> bool:
    """Whether a sentence asks something, with or without a question mark."""
    if _LASTING_REQUEST.match(said):
        return False
    return said.endswith("?") or _ASKS.match(said) is not None


def is_durable(said: str) -> bool:
    """Whether nothing speaks against keeping the sentence."""
    return not any(pattern.match(said) for pattern in NOT_DURABLE.values())
