"""What is said on a matter: its deadlines, parties, facts and decisions, and where things are kept.

A pattern sees one sentence with straight quotes and single spaces, without greeting and closing punctuation.
"""

from __future__ import annotations

from north.chat.offline.dates import DATE
from north.chat.offline.patterns import table
from north.chat.offline.vocabulary import (
    COMPANY,
    DEALS,
    DECIDES,
    DOES,
    DUE,
    IS_SO,
    NAME,
    NAMES,
    OF_MATTER,
    PARTY,
    PLACE,
    SETTLED,
)
from north.model import MemoryType

REFERENCE = table(
    MemoryType.REFERENCE,
    {
        "where it lives": (
            r"(?:the|our|my|all) .+ (?:lives?|is|are|sits?|(?:is|are) (?:kept|stored|saved|located|filed|found)) "
            r"(?:at|in|on|under) "
            rf".*{PLACE}"
        ),
        "where to find it": r"(?:you (?:can|will|'ll) )?find (?:the|our|my|all) .+ (?:at|in|on|under) ",
        "can be found": r"(?:the|our|my|all) .+ can be found (?:at|in|on|under) ",
        "address": r"[\w -]{3,40}: https?://\S+$",
    },
)

_BY = r"(?:by|before|until|no later than|within|on)"
DEADLINE = table(
    MemoryType.DEADLINE,
    {
        "due on a day": (
            r"(?!I\b).*\b(?:is|are|falls|(?:was|has been|have been|were) (?:set|scheduled|fixed|listed)) (?:now "
            r"|also )?"
            rf"(?:due|payable|set|scheduled|fixed|listed|calendared|on|by|for)\b.*{DATE}"
        ),
        "due": rf"(?:(?:the|our) )?(?!I\b)(?:[\w-]+ ){{1,4}}due (?:on |by )?{DATE}",
        "deadline is": rf".*\b{DUE}\b.*\b(?:is|are|runs|ends|expires|falls)\b.*{DATE}",
        "closes on a day": (
            r"(?!I\b).+ (?:closes?|ends?|expires?|runs?(?: out)?|lapses?|begins?|starts?|opens?|matures?|renews?) "
            rf"(?:(?:on|in|at|by|until|from|the) )*(?:{DATE}|20\d\d\b)"
        ),
        "must by a day": (
            rf"(?:we|they|{OF_MATTER}) (?:must|have|has|need|needs|are required|is required|wants|expects"
            rf"|ordered)\b.*\b{_BY}\b.*{DATE}"
        ),
        "set by the court": (
            rf"(?:the )?(?:court|judge|{NAMES}) (?:set|scheduled|fixed|moved) .+ (?:for|on|to) {DATE}"
        ),
        "must be done by a day": (rf"(?!I\b).+ (?:must|has to|have to|needs? to|shall) be \w+ .*\b{_BY}\b.*{DATE}"),
    },
)

PARTIES = table(
    MemoryType.PARTY,
    {
        "who is": (
            rf"(?:(?:the|our|my|their) )?(?:[\w'-]+ ){{0,3}}?{PARTY}(?: (?:in|on|for|at) [\w ]{{3,30}})? (?:is|are) "
            rf"(?:now )?{NAME}"
        ),
        "represents": (
            rf"{NAMES} (?:represents?|acts? for|appears? for|is presiding|presides|is (?:the|our|their) (?:[\w-]+ "
            rf")?{PARTY}\b)"
        ),
        "assigned": (
            rf".*\b(?:is|are|was|were|been) (?:represented by|assigned to|(?:being )?heard by|before) (?:(?:judge"
            rf"|justice|magistrate) )?{NAME}"
        ),
    },
)

FACT = table(
    MemoryType.FACT,
    {
        "is": (
            rf"{OF_MATTER}(?:'s| is| are| was| were| has been) (?:{IS_SO}|{NAME}|(?:(?:now|also|wholly|jointly"
            rf"|currently|originally) )?{SETTLED}\b)"
        ),
        "deals": rf"{NAME} (?:also |already )?(?:{DEALS} \w|(?:is|was) an? (?:[\w-]+ ){{0,4}}?{COMPANY}\b)",
        "has": (
            rf"{OF_MATTER} (?:has|have|had) (?!asked|called|a question|questions|been|not |to |just|already (?:asked"
            rf"|called))\w"
        ),
        "does": rf"{OF_MATTER} (?:also |already |only )?{DOES} (?!you |me )\w",
        "there is": (
            r"(?!.* I )there (?:is|are|was|were) (?:an?|no|\w+) .*\b(?:in|between|under|against|on) (?:the|our) \w"
        ),
    },
)

DECISION = table(
    MemoryType.DECISION,
    {
        "decided": (
            r"(?:we|I|our \w+|the (?:client|board|team|partners?|committee))(?:'ve|'s| have| has)? (?:now |also "
            r"|jointly )?(?:decided|agreed|chosen|resolved|elected|opted|voted) (?:to|not|on|against|that|in|for"
            r"|upon|with) "
        ),
        "chose": r"we (?:chose|picked|selected|opted for) (?!this|that|it )\w",
        "will": (
            r"we(?:'re| are|'ll| will| won't|'m| am) (?:(?:now|not|no longer|also|instead) )*(?:going to )?(?:not )?"
            rf"{DECIDES}\b(?! you\b)"
        ),
        "doing": (
            r"we(?:'re| are) (?:(?:now|not|also) )*(?:going (?:with|ahead|for)|dropping|pursuing|settling|appealing"
            r"|withdrawing|seeking|proceeding|filing|moving|rejecting|accepting)\b"
        ),
        "client's will": (
            r"(?:the|our|my) (?:[\w'-]+ )?(?:client|board|company|insurer)(?: has| have)? (?:now |also |finally "
            r")?(?:approved|authori[sz]ed|instructed|rejected|accepted|wants?|does not want|doesn't want|prefers?"
            r"|refuses?|insists?|won't|will not|is willing|is unwilling)\b(?! (?:a call|you|me|this|the draft|an? "
            r"update))"
        ),
    },
)
