"""What lawyers say about themselves, about how they want things, and about their firm.

A pattern sees one sentence with straight quotes and single spaces, without greeting and closing punctuation.
"""

from __future__ import annotations

from north.chat.offline.patterns import table
from north.chat.offline.vocabulary import (
    ADVERBS,
    HABIT,
    IMPERATIVE,
    MY,
    NAME,
    NAMES,
    NOT_A_HABIT,
    POINTS_AT,
    ROLE,
    STYLE,
    TEAM,
    WORK,
    WORKS,
)
from north.model import MemoryType

_AT_HAND = rf"(?!the (?:passive|active|oxford|serial|present|past|long|short|full|word)\b){POINTS_AT}"
"""Something at hand; "the passive voice" and its like are kinds of thing."""

IDENTITY = table(
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
            r"I (?:clerked|graduated|qualified|(?:trained|studied) (?:at|in|as|under|law)|was (?:admitted|called)"
            r"|joined (?:the|this|our) (?:[\w-]+ ){0,2}?(?:firm|group|team|office)|used to (?:work|clerk))\b"
        ),
        "work": (
            rf"I {ADVERBS}(?:work(?! best)|practi[cs]e|speciali[sz]e|report|live|speak|handle|lead|run|head|chair"
            rf"|supervise|represent|sit on|advise|do(?<=y do)) (?!{POINTS_AT}(?! (?:[\w&'-]+ ){{1,4}}{TEAM}\b))"
        ),
    },
)

PREFERENCE = table(
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
INSTRUCTION = table(
    MemoryType.INSTRUCTION,
    {
        "from now on": (
            r"(?:from now on|going forward|in (?:the )?future|henceforth|as a (?:general )?rule|by default|at all "
            r"times)\b,? \w+ \w"
        ),
        "always or never": (
            rf"(?:{_DONT} ever|never ever|always|never|you (?:should|must) (?:always|never)) "
            r"(?!mind|again|ever|funny|good|great|nice|an? |the |fun|glad|happy|worth|sure|better|say never|here|there"
            rf"|ready|\w+ing\b|{NOT_A_HABIT}\b|\w+ up\b)\w"
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
            rf"(?:{_DONT}|avoid|no) (?!{POINTS_AT}|my ).*\b(?:in|on|to|with|of) (?:(?:any|all) (?:of )?)?(?:(?:(?:my"
            rf"|your) (?:[\w-]+ ){{0,2}}?)?{WORKS}|anything|everything)\b"
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
PLAYBOOK_RULE = table(
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
