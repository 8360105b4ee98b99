"""The tables by which the offline assistant knows a durable statement, by type.

A pattern sees one sentence with straight quotes and single spaces, without greeting and closing punctuation.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from north.chat.offline.dates import DATE
from north.chat.offline.vocabulary import (
    ADVERBS,
    DECIDES,
    DOES,
    DUE,
    HABIT,
    IMPERATIVE,
    IS_SO,
    MY,
    NAME,
    NAMES,
    NOT_A_HABIT,
    OF_MATTER,
    PARTY,
    PLACE,
    POINTS_AT,
    ROLE,
    SETTLED,
    STYLE,
    TEAM,
    WORK,
    WORKS,
)
from north.model import MemoryType


class Statement(NamedTuple):
    """One named pattern; `type` is what a match says about the sentence."""

    name: str
    regex: re.Pattern[str]
    type: MemoryType


def _table(type_: MemoryType, patterns: dict[str, str]) -> tuple[Statement, ...]:
    return tuple(Statement(name, re.compile(regex, re.IGNORECASE), type_) for name, regex in patterns.items())


_AT_HAND = rf"(?!the (?:passive|active|oxford|serial|present|past|long|short|full|word)\b){POINTS_AT}"
"""Something at hand; "the passive voice" and its like are kinds of thing."""

REFERENCE = _table(
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

IDENTITY = _table(
    MemoryType.IDENTITY,
    {
        "mine": (
            rf"my (?:[\w-]+(?:'s)? )?{MY}(?:'s name)?(?:'s| is| are) "
            "(?!hurt|ach|late|sick|out|here|wrong|missing|down|broken|closed|full|not |ill|away|off|busy|on (?:leave"
            "|vacation|holiday|the phone|a call|my way))"
        ),
        "how to address": (
            rf"(?:you (?:can|may|should) )?(?:call|address|refer to) me (?:as )?{NAME}|every(?:one|body) calls me "
        ),
        "role": rf"I(?:'m| am) (?:now |also |still )?(?:an? |the |one of )?(?:[\w-]+ ){{0,4}}?{ROLE}\b",
        "past role": rf"I(?:'ve| have) been (?:an?|the|with|at|in)\b.*\b(?:{ROLE}|for|since)\b",
        "belongs": (
            r"I(?:'m| am) (?:based|admitted|barred|licensed|[\w-]*qualified|called|fluent|colou?r-?blind|left-handed"
            r"|dyslexic|allergic|deaf)\b"
        ),
        "named": rf"I(?:'m| am) {NAMES}(?=$|,| from | a | an | the )",
        "team": rf"I(?:'m| am) (?:in|on|with|at) (?:the|our) (?:[\w&'-]+ ){{1,4}}{TEAM}\b",
        "career": (
            r"I (?:clerked|trained|graduated|qualified|studied|joined|was (?:admitted|called)|moved here|used to "
            r"(?:work|clerk))\b"
        ),
        "work": (
            rf"I {ADVERBS}(?:work(?! best)|practi[cs]e|speciali[sz]e|report|live|speak|handle|lead|run|head|chair"
            rf"|supervise|represent|sit on|advise|do(?<=y do)) (?!{POINTS_AT}(?! (?:[\w&'-]+ ){{1,4}}{TEAM}\b))"
        ),
    },
)

PREFERENCE = _table(
    MemoryType.PREFERENCE,
    {
        "prefer": rf"I(?:'d)? {ADVERBS}(?:prefer|favou?r) (?!{_AT_HAND})",
        "rather": r"I(?:'d| would) (?:much )?rather (?!not |this|that|these|those|it |wait|be |skip|go )",
        "habit": rf"I (?:\w+ly )?{HABIT} (?:ever )?(?!{NOT_A_HABIT}\b)\w",
        "way of working": (
            rf"I (?:bill|read|cite|draft|write|sign|dictate|review|proofread|edit|format|spell|use|work best|take "
            rf"calls) (?!{_AT_HAND}|you\b)\w"
        ),
        "particular": (
            r"I(?:'m| am) (?:\w+ )?(?:particular|picky|strict|fussy|a stickler|(?:not )?a (?:big )?fan|allergic to"
            r"|sensitive)\b"
        ),
        "likes": (
            rf"I (?!would ){ADVERBS}(?:like|love|hate|dislike|detest|loathe|(?:can't|cannot) (?:stand|bear)|(?:don't"
            rf"|do not) (?:really )?like) (?!{_AT_HAND}|you\b).*\b{WORK}\b"
        ),
        "wants as a rule": (
            r"I(?:'d| would| only| really)? (?:want|need|expect|require|like|(?:do not|don't) (?:want|need)) "
            rf"(?:.*\b(?:always|never|every|each|whenever|all(?! of)|any(?! of the))\b|.*\b(?:in|to|of|with) (?:my"
            rf"|your|all) .*{WORK})"
        ),
        "wants a style": (
            rf"I (?:want|expect|require|(?:do not|don't) (?:want|need)) (?!{POINTS_AT})(?:\w+ ){{0,2}}{WORK} (?:in"
            rf"|with|without|as|to be)"
            " (?!the |this|that)"
        ),
        "does not": (
            r"I (?:don't|do not|won't|will not|cannot|can't) (?:ever )?"
            "(?:use|work|take|bill|accept|sign|cite|read|send|schedule|answer|attend|travel|eat|drink|write|include"
            "|abbreviate|represent)"
            rf" (?!{POINTS_AT}|you|any(?:thing|body|one))"
        ),
        "favourite": (r"my (?:[\w-]+ ){0,2}?(?:preferred|favou?rite|default|usual|preference)\b.*\b(?:is|are)\b"),
        "mine should": rf"my (?:[\w-]+ )?{WORK} (?:should|must|need to|are always|are never) ",
        "German": (
            r"ich (?:bevorzuge|möchte (?:immer|nie|keine|grundsätzlich)|mag (?:keine|lieber)|(?:will|verwende"
            r"|zitiere) (?:immer|nie)) "
        ),
        "Spanish": (
            r"(?:yo )?(?:prefiero|siempre (?:quiero|uso|cito|prefiero)|nunca (?:quiero|uso|cito)|no me gustan?|me "
            r"gustan? más) "
        ),
        "French": (
            r"je (?:préfère|veux toujours|n'aime pas|souhaite toujours|n'utilise jamais|cite toujours|ne veux "
            r"jamais) "
        ),
    },
)

_DONT = r"(?:don't|do not)"
INSTRUCTION = _table(
    MemoryType.INSTRUCTION,
    {
        "from now on": (
            r"(?:from now on|going forward|in (?:the )?future|henceforth|as a (?:general )?rule|by default|at all "
            r"times)\b,? \w+ \w"
        ),
        "always or never": (
            rf"(?:{_DONT} ever|never ever|always|never|you (?:should|must|can) (?:always|never)) "
            r"(?!mind|again|ever|funny|good|great|nice|an? |the |fun|glad|happy|worth|sure|better|say never"
            r"|\w+(?:ing|ed)\b)\w"
        ),
        "whenever": (
            r"(?:whenever|every time|each time|when|if|before|after|unless) (?!.*\b(?:chance|a (?:moment|minute"
            r"|second)|have time|(?:are|'re) (?:done|finished|ready|free)|next time|attached)\b)"
            rf"[^,]+, (?:then )?(?:please )?(?:always|never|{_DONT}|you (?:should|must)|{IMPERATIVE}) "
        ),
        "marked as lasting": (
            rf"{IMPERATIVE} .*\b(?:always|from now on|going forward|in (?:the )?future|by default|every time|in all "
            rf"(?:my|our)"
            r"|at all times|in (?:everything|anything)|without exception)\b"
        ),
        "style": (
            rf"(?:use|only use|prefer|avoid|write in|spell|format|no|{_DONT} (?:use|write|include|add|cite|put)) "
            rf"(?!{_AT_HAND}|my |an? )(?:[^,.]* )?{STYLE}\b"
        ),
        "kinds of work": (
            rf"{IMPERATIVE} {WORKS} (?:as|in|with|without|like|at|on|before|after|by) (?!the |this|that)"
        ),
        "mine": (
            r"(?:keep|sign|address|format|end|start|begin|number|mark|label|title|date|copy|write|draft) (?:my"
            r"|all(?! of (?:the|these))|every|each|any|your) [\w-]+"
        ),
        "when I say": (
            r"(?:when|if|whenever) I (?:say|write|mention|ask for|refer to) .+, I (?:mean|want|expect|need) "
        ),
        "never in mine": (
            rf"(?:{_DONT}|avoid|no) (?!{POINTS_AT}|my ).*\b(?:in|on|to|with|of) (?:(?:any|all) (?:of )?)?"
            r"(?:(?:my|your|anything|everything|letters|e-?mails|memos|briefs|drafts|answers)\b)"
        ),
        "for a kind of work": (
            r"(?:for|in|with|on) (?:my |your |all (?:my )?|any |every )?(?!the |this|that|now )(?:[\w-]+ ){0,2}?"
            rf"{WORK}(?: (?:to|for|with) [\w ]{{3,30}})?, (?:please )?(?:always|never|{_DONT}|{IMPERATIVE}) "
        ),
        "address me": (
            r"(?:(?:address|refer to) me as|call me) (?!back|when|if|later|tomorrow|today|on |at |in |again|asap)"
        ),
    },
)

_FIRM = r"(?:the|our|this) (?:firm|team|group|office|department|practice(?: group)?|partnership)"
_NOT_DONE = (
    "(?:know|have|think|want|need|see|like|remember|care|get|understand|believe|mind|agree|expect|own|owe|seem|feel)"
)
PLAYBOOK_RULE = _table(
    MemoryType.PLAYBOOK_RULE,
    {
        "firm's habit": (
            rf"(?:we|{_FIRM}|everyone (?:here|at the firm)|\w+s (?:here|at (?:the|our) firm)|our (?:[\w-]+ "
            rf"){{0,3}}\w+s) (?:must )?(?:{HABIT}|as a rule) (?!{NOT_A_HABIT}\b|{_AT_HAND})\w"
        ),
        "firm does": (
            rf"(?:we|{_FIRM}) (?:(?:requires?|uses?|bills?|charges?|insists?|expects?|prefers?|cites?)|(?:do not"
            rf"|don't|does not|doesn't) (?:ever )?(?!{_NOT_DONE}\b)\w+) (?!this |that |these |those |it |him |her "
            rf"|them )\w"
        ),
        "policy": (
            r"(?:our|the firm's|firm|the office|office|house|standard) (?:[\w-]+ ){0,2}?(?:policy|practice|standard"
            r"|style|playbook|rule|approach|procedure|protocol|convention|default|template|rates?|retention|fallback"
            r"|custom)\b.*\b(?:is|are|requires|says|calls|applies|forbids|allows)\b"
        ),
        "all of ours": (
            r"(?:all|each|every one) (?:of )?our [\w -]{2,30} (?:have|has|are|is|must|includes?|contains?|gets?|goes"
            r"|go) "
        ),
        "standing": (
            r"(?:it(?:'s| is) (?:our|firm|the firm's|standard|house) (?:\w+ )?(?:policy|practice|custom|rule|style)"
            r"|(?:at|in) (?:our|the|this) (?:firm|office|group|practice|department)\b,?) \w"
        ),
    },
)

_BY = r"(?:by|before|until|no later than|within|on)"
DEADLINE = _table(
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

PARTIES = _table(
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

FACT = _table(
    MemoryType.FACT,
    {
        "is": (
            rf"{OF_MATTER}(?:'s| is| are| was| were| has been) (?:{IS_SO}|{NAME}|(?:(?:now|also|wholly|jointly"
            rf"|currently|originally) )?{SETTLED}\b)"
        ),
        "has": (
            rf"{OF_MATTER} (?:has|have|had) (?!asked|called|a question|questions|been|not |to |just|already (?:asked"
            rf"|called))\w"
        ),
        "does": rf"{OF_MATTER} (?:also |already |only )?{DOES} (?!you |me )\w",
        "there is": (r"there (?:is|are|was|were) (?:an?|no|\w+) .*\b(?:in|between|under|against|on) (?:the|our) \w"),
    },
)

DECISION = _table(
    MemoryType.DECISION,
    {
        "decided": (
            r"(?:we|I|our \w+|the (?:client|board|team|partners?|committee))(?:'ve|'s| have| has)? (?:now |also "
            r"|jointly )?(?:decided|agreed|chosen|resolved|elected|opted|voted) (?:to|not|on|against|that|in|for"
            r"|upon|with) "
        ),
        "chose": r"we (?:chose|picked|selected|opted for) (?!this|that|it )\w",
        "will": (
            r"(?:we|I)(?:'re| are|'ll| will| won't|'m| am) (?:(?:now|not|no longer|also|instead) )*(?:going to "
            r")?(?:not )?"
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

LABELS = {
    MemoryType.DEADLINE: re.compile(
        r"(?:deadline|due|due date|hearing|trial|closing)\b[\w ]{0,40}: .*\d", re.IGNORECASE
    ),
    MemoryType.PARTY: re.compile(rf"(?:the )?{PARTY}: {NAME}", re.IGNORECASE),
    MemoryType.DECISION: re.compile(r"(?:decision|strategy|plan|agreed|decided): \S+ \S", re.IGNORECASE),
    MemoryType.FACT: re.compile(r"(?:key )?facts?: \S+ \S|(?:case|docket|claim) (?:no|number): \S", re.IGNORECASE),
    MemoryType.PLAYBOOK_RULE: re.compile(
        r"(?:house|firm|office) (?:rule|policy|practice|style): \S+ \S", re.IGNORECASE
    ),
    MemoryType.PREFERENCE: re.compile(r"(?:my )?preferences?: \S", re.IGNORECASE),
}
"""Notes of the form "Judge: Maria Chen"."""

STATEMENTS: tuple[Statement, ...] = (
    *REFERENCE,
    *(Statement("label", regex, type_) for type_, regex in LABELS.items()),
    *DECISION,
    *DEADLINE,
    *IDENTITY,
    *PREFERENCE,
    *INSTRUCTION,
    *PLAYBOOK_RULE,
    *PARTIES,
    *FACT,
)
"""What is worth keeping. The first match wins, so the narrower readings stand first."""
