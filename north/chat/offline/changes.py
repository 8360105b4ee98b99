"""How a lawyer asks to keep, correct or forget something: the words around a statement."""

from __future__ import annotations

import re

from north.chat.offline.dates import DATE

EXPLICIT = re.compile(
    r"(?:(?:I (?:want|need|would like|'d like) you to |(?:can|could|would) you )?(?:please )?(?:(?:remember|note"
    r"|keep in mind|bear in mind|(?:don't|do not) forget|make a note|take note|save|record|know|memori[sz]e)(?: down"
    r"| for (?:later|next time|the future))?(?P<that>,? that | ?: ?| ?, ?)|(?:remember|note|keep in mind|bear in "
    r"mind|(?:don't|do not) forget) (?!to |when |what |how |me |us |last |this ))|(?P<fyi>fyi|for your information"
    r"|for (?:future|your) reference|just so you know|just fyi|you should know(?: that)?|nb|n\.b\.|note to self"
    r"|important|reminder) ?[,:–—-]? )",
    re.IGNORECASE,
)
"""The lawyer asks to keep what follows. Only after `that` or `fyi` is it a sentence of its own for certain."""

_POLITE = r"(?:(?:(?:can|could|would) you|you (?:can|may|should)) )?(?:please )?"
_UNLEARN = r"(?:forget|(?:don't|do not) remember|unlearn|stop remembering)"
_DELETE = r"(?:delete|remove|erase|discard|forget)"
FORGET = re.compile(
    rf"{_POLITE}(?:{_UNLEARN} (?:that(?: again)?|what I (?:just )?(?:said|told you)|the last (?:one|thing|memory))"
    rf"|{_DELETE} (?:that|this|the last) (?:memory|note|entry)|{_UNLEARN} (?:(?:everything|all|anything|the thing"
    rf"|what|the (?:memory|note|fact|preference|rule)) )?"
    r"(?:(?:you (?:know|remember)|I(?:'ve| have)? (?:said|told you|mentioned)) )?(?:about|regarding|on|that) "
    r"(?P<about>(?!it$|them$|this$).+)"
    rf"|{_DELETE} (?:the|my|our) (?P<thing>.+?) (?:thing|memory|note|rule|preference|instruction|fact)|{_DELETE} "
    rf"(?:the|my|that|your) (?:memory|memories|note|entry|preference|rule) (?:about|regarding|on|of|that|for) "
    rf"(?P<entry>.+)"
    r")[.!? ]*$",
    re.IGNORECASE,
)

_AFTER = r"(?: ?[,.;:!–—-]+ ?| |$)"
CORRECTS = re.compile(
    r"(?:(?:no|nope|actually|wait|sorry|apologies|correction|update|change of plan|scratch that|strike that|not "
    r"quite|my mistake|on second thought|(?:that(?:'s| is| was)|you(?:'re| are)) (?:wrong|not right|not correct"
    r"|incorrect|mistaken|outdated|no longer (?:true|right|correct))(?: (?:about|on|there)(?: (?:that|this))?)?"
    rf"|I (?:was wrong|misspoke|made a mistake)|I ?(?:'ve|have)? ?changed my mind|I meant(?: to say)?){_AFTER})+",
    re.IGNORECASE,
)
"""The beginning of a correction."""

CHANGED_MIND = re.compile(r".*(?:changed my mind|second thought)", re.IGNORECASE)

_IS = r"(?:'s|'re| (?:is|are|was|were|should be|will be|has been|closes|runs|starts|begins|ends|expires))"
PRONOUN_STATEMENT = re.compile(
    rf"(?:it|that|this|they|he|she){_IS} (?:.*{DATE}|.*\d|(?:\w+ ){{0,4}}(?-i:(?!OK|Ok)[A-Z]))", re.IGNORECASE
)
"""A concrete statement about something named before."""

BARE_DATE = re.compile(rf"(?:on |by |at |the )?{DATE}(?:,? not .+)?$", re.IGNORECASE)

MOVED = re.compile(
    r"(?:the|our|my) (?P<about>[\w' -]{3,60}?) (?:(?:has|have) been |was |were |is (?:now )?|got |has )?(?:moved"
    r"|postponed|continued|adjourned|extended|rescheduled|pushed|put off|slipped|shifted|changed|brought forward"
    r"|increased"
    rf"|reduced|renamed|amended) (?:back |out |forward )?(?:from .+ )?(?:to|until|by) .*(?:{DATE}|\d|(?-i:[A-Z]))",
    re.IGNORECASE,
)
NO_LONGER = re.compile(
    r"(?:(?:I|we|our|the|my)\b|(?-i:[A-Z])).*\b(?:no longer\b|(?:not|\w+n't)\b.*\b(?:any ?more|any longer)$)",
    re.IGNORECASE,
)
NOT_BUT = re.compile(
    r"(?:it|that|the|my|our)(?:'s|.*? (?:is|are|should be)) .+, not (?!just|only|merely|simply|always"
    r"|really)(?P<about>.+)$",
    re.IGNORECASE,
)
STOP = re.compile(
    r"(?:stop|quit) (?:using|citing|writing|adding|putting|including|starting|ending|signing|calling|addressing"
    r"|formatting|sending|giving|abbreviating) (?P<about>(?!this|that|it |these|those|the ).+)$",
    re.IGNORECASE,
)
INSTEAD = re.compile(
    r"(?:use|switch to|go with) (?!the |this|that|an? ).+ (?:instead of|rather than) (?P<about>.+)$", re.IGNORECASE
)
ORDER = re.compile(
    r"(?:use|switch to|go with|write|cite|keep|call|make|send|put|avoid) (?!the attached|this|that|it )", re.IGNORECASE
)
