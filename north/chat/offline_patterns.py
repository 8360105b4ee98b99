"""The tables by which the offline assistant knows a durable statement from everything else that is said in a chat.

Each table is a tuple of named patterns and is read from the top. A pattern sees one sentence with straight
quotes, without its greeting, and ignores case except where a name is expected.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from north.chat.offline_dates import DATE
from north.model import MemoryType


class Pattern(NamedTuple):
    """One named recogniser; `type` is what a match says about the statement."""

    name: str
    regex: re.Pattern[str]
    type: MemoryType


NAME = r"(?-i:[A-Z][\w.'&-]*)"
_ADVERB = r"(?:(?:also|really|just|still|strongly|generally|usually|normally|typically|always|much|very|now|mostly|actually|personally|would|do)\s)*"
_HABIT = r"(?:always|never|usually|normally|typically|generally|only|rarely|seldom|mostly|often|routinely|tend\sto|avoid|refuse\sto|insist\son)"
_PAST = (
    r"(?:(?!need|feed|proceed|exceed|succeed)\w+ed|said|got|saw|thought|knew|heard|meant|had|was|were|did|went|made|took|told|gave|felt"
    r"|found|came|lost|won|forgot|forget|know|understand|understood|mind|feel|enjoy|wonder|imagine|lose|win|miss|seem|get|been|loved)\b"
)
_WORK = (
    r"(?:memo(?:randum)?s?|drafts?|letters?|e-?mails?|briefs?|citations?|cites?|footnotes?|endnotes?|bullets?|bullet\spoints?|jargon"
    r"|legalese|latin|phrases?|voice|sentences?|paragraphs?|summar(?:y|ies)|answers?|replies|responses?|tables?|prose|fonts?|headings?"
    r"|headers?|spelling|commas?|dash(?:es)?|exclamation\smarks?|emojis?|abbreviations?|calls?|meetings?|reports?|redlines?|track\schanges"
    r"|pdfs?|word|tone|english|style|format(?:ting)?|quotes?|quotations?|cases?|authorit(?:y|ies)|statutes?|contracts?|agreements?"
    r"|documents?|filings?|pleadings?|motions?|research|lists?|outlines?|chronolog(?:y|ies)|timelines?|invoices?|dates?|deadlines?"
    r"|numbers?|subject\slines?|signatures?|attachments?|exhibits?|bluebook|oscola|chicago|form|capitals|bold|italics|notes?)"
)
_POINTS_AT = r"(?:this|that|these|those|it|him|her|them|the|how|where|your|his|their)\b"
_NOT_STYLE_THE = (
    r"(?:the\s(?!(?:passive|active|oxford|serial|present|past|long|short|full|word)\b)|(?!the\b)" + _POINTS_AT + ")"
)
IMPERATIVE = (
    r"(?:use|start|begin|give|put|cite|write|add|include|list|end|ask|send|keep|answer|reply|respond|show|mark|avoid|check|draft|quote"
    r"|attach|call|copy|cc|bcc|format|sign|state|mention|name|number|apply|assume|spell|capitali[sz]e|leave|make|address|refer|treat"
    r"|highlight|summari[sz]e|note|follow|prefer|round|translate|flag|save|file|label|title|explain|set|run|get|have|omit|skip|separate"
    r"|define|number|date|be|confirm|indicate|append|order|sort|lead|open|close|redact|print|tell|remind|propose|suggest)"
)
_STYLE = (
    r"(?:spelling|english|bluebook|oscola|chicago|citations?|cites?|style|formatt?(?:ing)?|tone|fonts?|oxford\scomma|bullet\spoints?|bullets"
    r"|footnotes?|headings?|voice|tense|single\sspacing|double\sspacing|numbered\slists?|plain\slanguage|sentences|paragraphs|emojis?"
    r"|exclamation\smarks?|latin|legalese|jargon|abbreviations|contractions|dates?|24-hour|tables|italics|em[\s-]dashes|adverbs)"
)
_ROLE = (
    r"(?:partner|associate|(?:of\s)?counsel|paralegal|lawyer|attorney|litigator|solicitor|barrister|clerk|secretary|head|chair|chairman"
    r"|chairwoman|member|director|manager|assistant|trainee|notary|advocate|prosecutor|judge|specialist|trustee|librarian|conveyancer"
    r"|administrator|professor|intern|deputy|officer|vegetarian|vegan|native\s\w+\sspeaker)"
)
_PERSONAL_NOUN = (
    r"(?:names?|nickname|assistant|secretary|paralegal|associate|trainee|boss|supervisor|mentor|office|e-?mail(?:\saddress)?|phone"
    r"|mobile|extension|number|bar\snumber|employee\snumber|address|practice(?:\sarea)?|title|role|group|team|pronouns?|time\s?zone|birthday"
    r"|initials|signature|wife|husband|spouse|partner|native\slanguage|mother\stongue|first\slanguage|specialty|specialism|department"
    r"|backup|delegate|deputy|billing\s(?:rate|code|number)|hourly\srate|rate|timekeeper\s(?:id|number)|working\shours|office\shours)"
)
PARTY = (
    r"(?:plaintiffs?|defendants?|claimants?|respondents?|appellants?|appellees?|petitioners?|judge|magistrate|mediator|arbitrators?"
    r"|experts?|expert\switness|witness|sellers?|buyers?|purchaser|vendor|lender|borrower|guarantor|insurer|insured|adjuster"
    r"|counterparty|other\sside|(?:opposing\s|co-|local\s|lead\s|general\s|outside\s)?counsel|gc|contact(?:\sperson)?"
    r"|point\sof\scontact|trustee|executor|debtor|creditor|landlord|tenant|licensor|licensee|employer|employee|ceo|cfo|bank|agent"
    r"|broker|clients?|target|beneficiary|settlor|testator|franchisor|franchisee|owner|contractor|subcontractor|opponent|prosecutor)"
)
_THING = (
    r"(?:contract|agreement|lease|loan|policy|note|will|trust|patent|trademark|licen[cs]e|deed|deal|merger|transaction|company|property"
    r"|premises|(?:purchase\s)?price|claim|case(?:\snumber)?|matter|docket(?:\snumber)?|court|forum|venue|seat(?:\sof\sarbitration)?"
    r"|jurisdiction|governing\slaw|amount(?:\sin\sdispute)?|damages|liability|cap|indemnity|escrow|warranty|accident|incident|injury"
    r"|invoice|settlement(?:\soffer|\samount)?|complaint|arbitration|retainer|fee|tribunal|estate|engagement|guarantee|mortgage|building|site"
    r"|board|jury|motion|order|judgment|verdict|software|product|shares|bond|budget|earn-?out|survival\speriod|notice\speriod|term)"
)
_OF_MATTER = rf"(?:(?:the|our|my|this)\s(?:[\w-]+'s?\s)?(?:[\w-]+\s){{0,3}}?(?:{PARTY}|{_THING})(?:\sof\s[\w\s-]{{1,30}}?)?|{NAME}(?:\s(?:&\s)?{NAME}){{0,4}})"
_SOLID = (
    rf"(?:(?:an?|the|one\sof)\s(?!mess|nightmare|pain|joke|bit|disaster|good|great|lot|little|shame|problem|pity|bad|big)\w|not\san?\s|{NAME}|[$€£]?\d"
    r"|(?:now\s|also\s|wholly\s|jointly\s|currently\s|originally\s)?(?:governed|based|located|incorporated|organi[sz]ed|headquartered|registered"
    r"|owned|dated|pending|worth|insured|married|divorced|signed|executed|formed|filed|founded|held|leased|subject|limited|capped|privileged"
    r"|confidential|unenforceable|void|valid|exempt|bound|liable|entitled|represented|resident|domiciled|bankrupt|insolvent|publicly|privately"
    r"|listed|licensed|secured|built|bought|sold|born|employed|terminated|amended|assigned|denied|granted|dismissed|in\s(?-i:[A-Z])|under\s\w))"
)
_FACT_VERB = (
    r"(?:owns?|operates?|employs?|leases?|makes?|sells?|holds?|manufactures?|resides?|lives?|provides?|requires?|contains?|excludes?|covers?|caps?"
    r"|limits?|includes?|allows?|prohibits?|permits?|names?|denied|granted|ordered|ruled|dismissed|sanctioned|signed|executed|acquired|paid"
    r"|received|breached|terminated|filed|bought|sold|inherited|invented|runs?|imposes?|survives?|speaks?|carries|lacks?|does\snot|never|happened"
    r"|occurred|supplies|imports?|exports?|distributes?|guarantees?|guaranteed|waived|sits)"
)
_DECIDES = (
    r"(?:settle|pursue|appeal|file|drop|withdraw|arbitrate|mediate|litigate|call|depose|seek|move|plead|assert|object|waive|sue|accept|reject"
    r"|offer|counter|join|remove|proceed|go\s(?:with|to|ahead)|stay|retain|hire|use|sign|close|terminate|renew|disclose|argue|rely|contest"
    r"|oppose|amend|challenge|raise|bring|serve|subpoena|concede|stipulate|bifurcate|request|defend|dropping|walk)"
)
_DUE_WORD = r"(?:deadline|due\sdate|cut-?off|bar\sdate|limitations?|trial|hearing|closing|long\sstop\sdate|mediation|deposition|discovery)"
_PLACE = r"(?:https?://|www\.|[A-Z]:[/\\]|\\\\|/\w+/|\w+\.(?:docx?|pdf|xlsx?)\b|folder|drive|sharepoint|imanage|netdocuments|intranet|wiki|workspace|data\sroom|library|directory|cabinet|dropbox|onedrive|teams)"


def _table(type_: MemoryType, *rows: tuple[str, str]) -> tuple[Pattern, ...]:
    return tuple(Pattern(name, re.compile(pattern, re.IGNORECASE), type_) for name, pattern in rows)


STATEMENTS: tuple[Pattern, ...] = (
    *_table(
        MemoryType.REFERENCE,
        ("where it lives", rf"^(?:the|our|my|all)\s.+\s(?:lives?|is|are|sits?|(?:is|are)\s(?:kept|stored|saved|located|filed|found))\s(?:at|in|on|under)\s.*{_PLACE}"),
        ("where to find it", r"^(?:you\s(?:can|will|'ll)\s)?find\s(?:the|our|my|all)\s.+\s(?:at|in|on|under)\s"),
        ("found at", rf"^(?:the|our|my|all)\s.+\scan\sbe\sfound\s(?:at|in|on|under)\s|^[\w\s-]{{3,40}}:\s*https?://\S+$"),
    ),
    *_table(
        MemoryType.DEADLINE,
        ("due on a day", rf"^(?!I\b).*\b(?:is|are|falls|(?:was|has\sbeen|have\sbeen|were)\s(?:set|scheduled|fixed|listed))\s(?:now\s|also\s)?(?:(?:due|payable|set|scheduled|fixed|listed|calendared|on|by|for)\b).*{DATE}"),
        ("deadline is", rf"\b{_DUE_WORD}\b.*\b(?:is|are|runs|ends|expires|falls)\b.*{DATE}"),
        ("closes on a day", rf"^(?!I\b).+\s(?:closes?|ends?|expires?|runs?(?:\sout)?|lapses?|begins?|starts?|opens?|matures?|renews?)\s(?:on\s|in\s|at\s|by\s|until\s|from\s|the\s)*{DATE}"),
        ("must by a day", rf"^(?:we|they|{_OF_MATTER})\s(?:must|have|has|need|needs|are\srequired|is\srequired)\b.*\b(?:by|before|until|no\slater\sthan|within|on)\b.*{DATE}"),
    ),
    *_table(
        MemoryType.IDENTITY,
        ("name", rf"^my\s(?:[\w-]+\s)?{_PERSONAL_NOUN}(?:'s|\s(?:is|are))\s(?!hurt|ach|late|sick|out|here|wrong|missing|down|broken|closed|full|not\b)"),
        ("how to address", rf"^(?:you\s(?:can|may|should)\s)?(?:call|address)\sme\s(?:as\s)?{NAME}|^everyone\scalls\sme\s"),
        ("role", rf"^I(?:'m|\sam)\s(?:now\s|also\s|still\s)?(?:an?\s|the\s|one\sof\s)?(?:[\w-]+\s){{0,4}}?{_ROLE}\b"),
        ("past role", rf"^I(?:'ve|\shave)\sbeen\s(?:an?|the|with|at|in)\b.*\b(?:{_ROLE}|for|since)\b"),
        ("belongs", r"^I(?:'m|\sam)\s(?:based|admitted|barred|licensed|qualified|called|fluent|colou?r-?blind|left-handed|dyslexic|allergic|deaf)\b"),
        ("named", rf"^I(?:'m|\sam)\s(?!(?-i:OK|Ok|PM|I)\b){NAME}(?:\s{NAME})*(?=$|[\s,.]*(?:,|from|a\s|an\s|the\s|$))"),
        ("group", r"^I(?:'m|\sam)\s(?:in|on|with|at)\s(?:the|our)\s(?:[\w&-]+\s){1,4}(?:group|team|practice|department|office|firm|committee|board|desk)\b"),
        ("work", rf"^I\s{_ADVERB}(?:work|practi[cs]e|speciali[sz]e|report|live|speak|handle|lead|run|head|supervise|clerked|trained|graduated|qualified|represent|sit\son)\s(?!{_POINTS_AT[:-2]}\b(?!\s\w+\s(?:practice|group|office|team|department|desk|committee)))"),
    ),
    *_table(
        MemoryType.PREFERENCE,
        ("prefer", rf"^I(?:'d)?\s{_ADVERB}(?:prefer|favou?r)\s(?!(?:{_POINTS_AT[:-2]})\b(?!\s(?:passive|active|oxford|serial|long|short)))"),
        ("rather", r"^I(?:'d|\swould)\s(?:much\s)?rather\s(?!not\b|this|that|these|those|it\b|wait|be\b|skip|go\b)"),
        ("habit", rf"^I\s(?:\w+ly\s)?{_HABIT}\s(?:ever\s)?(?!{_PAST})\w"),
        ("likes", rf"^I\s{_ADVERB}(?:like|love|hate|dislike|detest|loathe|can't\s(?:stand|bear)|cannot\s(?:stand|bear)|don't\s(?:really\s)?like|do\snot\slike)\s(?!{_NOT_STYLE_THE}).*\b{_WORK}\b"),
        ("wants as a rule", rf"^I(?:'d|\swould|\sonly|\sreally)?\s(?:want|need|expect|require|like|(?:do\snot|don't)\s(?:want|need))\s.*(?:\b(?:always|never|every|each|all|any|whenever)\b|\b(?:in|to|of|with)\s(?:my|your|all)\b.*{_WORK})"),
        ("wants style", rf"^I\s(?:want|expect|require|(?:do\snot|don't)\s(?:want|need))\s(?!{_POINTS_AT})(?:\w+\s){{0,2}}{_WORK}\s(?:in|with|without|as|to\sbe)\s(?!the\b|this|that)"),
        ("does not", rf"^I\s(?:don't|do\snot|won't|will\snot|cannot|can't)\s(?:ever\s)?(?:use|work|take|bill|accept|sign|cite|read|send|schedule|answer|attend|travel|eat|drink|write|include|abbreviate|represent)\s(?!{_POINTS_AT}|you|any(?:thing|body|one))"),
        ("favourite", rf"^my\s(?:[\w-]+\s){{0,2}}?(?:preferred|favou?rite|default|usual|preference)\b.*\b(?:is|are)\b|^my\s(?:[\w-]+\s)?{_WORK}\s(?:should|must|need\sto|are\salways|are\snever)\b"),
        ("German", r"^ich\s(?:bevorzuge|möchte\s(?:immer|nie|keine|grundsätzlich)|mag\s(?:keine|lieber)|will\s(?:immer|nie)|verwende\s(?:immer|nie)|zitiere\s(?:immer|nie))\b"),
        ("Spanish", r"^(?:yo\s)?(?:prefiero|siempre\s(?:quiero|uso|cito|prefiero)|nunca\s(?:quiero|uso|cito)|no\sme\sgustan?|me\sgustan?\smás)\b"),
        ("French", r"^je\s(?:préfère|veux\stoujours|n'aime\spas|souhaite\stoujours|n'utilise\sjamais|cite\stoujours|ne\sveux\sjamais)\s?"),
    ),
    *_table(
        MemoryType.INSTRUCTION,
        ("from now on", r"^(?:from\snow\son|going\sforward|in\s(?:the\s)?future|henceforth|as\sa\s(?:general\s)?rule|by\sdefault|at\sall\stimes)\b,?\s\w+\s\w"),
        ("always or never", r"^(?:please\s)?(?:(?:don't|do\snot)\sever|never\sever|always|never|you\s(?:should|must|can)\s(?:always|never))\s(?!mind|again|ever|funny|good|great|nice|an?\b|the\b|fun|glad|happy|worth|sure|better|say\snever|\w+(?:ing|ed)\b)\w"),
        ("whenever", rf"^(?:whenever|every\stime|each\stime|when|if|before|after|unless)\s(?!.*\b(?:chance|a\s(?:moment|minute|second)|have\stime|(?:are|'re)\s(?:done|finished|ready|free)|next\stime|attached)\b)[^,]+,\s(?:then\s)?(?:please\s)?(?:always|never|don't|do\snot|you\s(?:should|must)|{IMPERATIVE})\s"),
        ("marked as lasting", rf"^{IMPERATIVE}\b.*\b(?:always|from\snow\son|going\sforward|in\s(?:the\s)?future|by\sdefault|every\stime|in\sall\s(?:my|our)|at\sall\stimes|in\s(?:everything|anything)|without\sexception)\b"),
        ("style", rf"^(?:use|prefer|avoid|write\sin|spell|format|(?:don't|do\snot)\s(?:use|write|include|add|cite|put)|no|only\suse)\s(?!{_NOT_STYLE_THE}|my\b|an?\b)(?:[^,.]*\b)?{_STYLE}\b"),
        ("keep mine", rf"^(?:keep|sign|address|format|end|start|begin|number|mark|label|title|date|copy|write|draft)\s(?:my|all|every|each|any|all\smy|your)\s[\w-]+"),
        ("never in mine", rf"^(?:don't|do\snot|avoid|no)\s(?!{_POINTS_AT}|my\b).*\b(?:in|on|to|with)\s(?:any\s(?:of\s)?|all\s(?:of\s)?)?(?:my|your|anything|everything|letters|e-?mails|memos|briefs|drafts|answers)\b"),
        ("for a kind of work", rf"^(?:for|in|with|on)\s(?:my\s|all\s(?:my\s)?|any\s|every\s)?(?!the\b|this|that|now\b)(?:[\w-]+\s){{0,2}}?{_WORK}(?:\s(?:to|for|with)\s[\w\s]{{3,30}})?,\s(?:please\s)?(?:always|never|don't|do\snot|{IMPERATIVE})\s"),
        ("address me", r"^(?:address\sme\sas|call\sme)\s"),
    ),
    *_table(
        MemoryType.DECISION,
        ("decided", r"^(?:we|I|our\s\w+|the\s(?:client|board|team|partners?|committee))(?:'ve|'s|\shave|\shas)?\s(?:now\s|also\s|jointly\s)?(?:decided|agreed|chosen|resolved|elected|opted)\s(?:to|not|on|against|that|in|for|upon|with)\b"),
        ("will", rf"^(?:we|I)(?:'re|\sare|'ll|\swill|\swon't|'m|\sam)\s(?:now\s|not\s|no\slonger\s|also\s|instead\s)*(?:going\sto\s)?(?:not\s)?{_DECIDES}\b"),
        ("doing", r"^we(?:'re|\sare)\s(?:now\s|not\s|also\s)*(?:going\s(?:with|ahead|for)|dropping|pursuing|settling|appealing|withdrawing|seeking|proceeding|filing|moving|rejecting|accepting)\b(?!.*\b(?:today|now)\b)"),
        ("client's will", r"^(?:the|our|my)\s(?:[\w'-]+\s)?(?:client|board|company|insurer)(?:\shas|\shave)?\s(?:now\s|also\s|finally\s)?(?:approved|authori[sz]ed|instructed|rejected|accepted|wants?|does\snot\swant|doesn't\swant|prefers?|refuses?|insists?|won't|will\snot|is\swilling|is\sunwilling)\b(?!\s(?:a\scall|you|me|this|the\sdraft|an?\supdate))"),
    ),
    *_table(
        MemoryType.PLAYBOOK_RULE,
        ("firm does", rf"^(?:we|(?:the|our|this)\s(?:firm|team|group|office|department|practice(?:\sgroup)?)|everyone\s(?:here|at\sthe\sfirm))\s(?:always|never|usually|normally|typically|generally|only|rarely|routinely|as\sa\srule|must\salways|must\snever|(?:do\snot|don't|does\snot|doesn't)\s(?:take|accept|use|represent|file|allow|charge|bill|sign|disclose|agree|act|offer|share|negotiate|send|cite|serve|permit)|requires?|uses?|bills?|charges?|insists?|expects?|prefers?)\s(?!{_PAST}|{_POINTS_AT[:-2]}\b(?!\s\w+\s(?:form|template|style|rule)))\w"),
        ("policy", r"^(?:our|the\sfirm's|firm|the\soffice|office|house)\s(?:[\w-]+\s){0,2}?(?:policy|practice|standard|style|playbook|rule|approach|procedure|protocol|convention|default|template|rates?|retention|fallback|custom)\b.*\b(?:is|are|requires|says|calls|applies|forbids|allows)\b"),
        ("standing", r"^(?:it(?:'s|\sis)\s(?:our|firm|the\sfirm's|standard|house)\s(?:\w+\s)?(?:policy|practice|custom|rule|style)|(?:at|in)\s(?:our|the|this)\s(?:firm|office|group|practice|department)\b,?)\s\w"),
    ),
    *_table(
        MemoryType.PARTY,
        ("who is", rf"^(?:the\s|our\s|my\s|their\s)?(?:[\w'-]+\s){{0,3}}?{PARTY}(?:\s(?:in|on|for)\s[\w\s]{{3,30}})?\s(?:is|are)\s(?:now\s)?{NAME}"),
        ("represents", rf"^{NAME}(?:\s(?:&\s|and\s)?{NAME}){{0,5}}\s(?:represents?|acts?\sfor|appears?\sfor|is\s(?:the|our|their)\s(?:[\w-]+\s)?{PARTY}\b)"),
        ("assigned", rf"\b(?:is|are|was|were|been)\s(?:represented\sby|assigned\sto|(?:being\s)?heard\sby|before)\s(?:judge\s|justice\s|magistrate\s)?{NAME}"),
    ),
    *_table(
        MemoryType.FACT,
        ("is", rf"^{_OF_MATTER}(?:'s|\s(?:is|are|was|were|has\sbeen))\s{_SOLID}"),
        ("has", rf"^{_OF_MATTER}\s(?:has|have|had)\s(?!asked|called|a\squestion|questions|been|not\s|to\b|just|already\s(?:asked|called))\w"),
        ("does", rf"^{_OF_MATTER}\s(?:also\s|already\s|only\s)?{_FACT_VERB}\s(?!you\b|me\b)\w"),
    ),
)  # fmt: skip
"""What is worth keeping, by type. Deadlines come before facts, names before roles: the narrower reading wins."""

NOT_DURABLE: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("hypothetical", r"^(?:suppose|supposing|assum(?:e|ing)|imagine|hypothetically|pretend|what\sif|let's\s(?:say|assume|pretend|imagine)|say\s(?:the|our|that|we)|in\stheory|in\sprinciple|for\sthe\ssake\sof)\b|\bif\b.*\b(?:were|would|lose|win|could)\b|\bwould\sbe\b.*\bif\b|\bhypothetical"),
        ("condition", r"^(?:if|unless|in\scase)\b(?!.*,\s(?:always|never|please|use|start|cite|put|mark|add|keep|ask|write|don't|do\snot))"),
        ("unsure", r"\b(?:might|maybe|perhaps|probably|possibly|presumably|not\s(?:quite\s)?sure|unsure|unclear)\b|\bI\s(?:\w+ly\s)?(?:think|guess|suppose|wonder|believe|doubt|assume|suspect|don't\s(?:know|remember|think|recall))\b|\bused\sto\b(?!\s\w+ing)"),
        ("somebody else says", r"\b(?:claim|say|argue|allege|contend|insist|assert|maintain|testif(?:y|ie)|state|suggest|demand|write|believe|think)(?:s|d|ed|es)?\sthat\b|^(?!I\b|we\b).{0,60}?\b(?:claims?|claimed|says?|said|argues?|argued|alleges?|alleged|contends?|insists?|asserts?|told|wrote|testified|states|suggests|demands?|thinks?|believes?|writes|maintains)\b|\baccording\sto\b|\b(?:allegedly|supposedly|reportedly|apparently)\b"),
        ("quotation", r'"[^"]{15,}"'),
        ("joke", r"(?:^|\s)/s\b|\b(?:lol|haha+|just\skidding|kidding|joking|yeah\sright|as\sif|rofl|lmao)\b|[🙄😂🤣😜😏]|^(?:oh\s)?(?:sure|great|wonderful),?\s.*\b(?:more|again)\b"),
        ("mood", r"\b(?:mondays?|weather|coffee|weekend|lunch)\b$|\bso\s(?:tired|bored|done)\b"),
    )
)  # fmt: skip
"""What keeps a sentence from being saved, unless the lawyer asks for it with "remember that"."""

ONE_OFF = re.compile(
    r"\b(?:for|in|on|with|about)\s(?:this|that|these|the\scurrent|the\sattached|today's)\s(?!matter|case\b|firm|office|client|team)[\w-]+|\bthis\s(?:time|once|one)\b"
    r"|\b(?:just|only)\s(?:this\s)?once\b|\bfor\s(?:now|today|the\smoment)\b|\b(?:right|just)\snow\b|\bat\sthe\smoment\b"
    r"|\b(?:today|tonight)\b|\bthis\s(?:morning|afternoon|evening|week)\b|\bthe\sattached\b|\b(?:here|yet)$"
    r"|\b(?:the|that)\s(?:first|second|third|last|former|latter|other|shorter|longer|original|new|old|previous)\s(?:one|version|option|draft|wording|paragraph|sentence|clause)\b"
    r"|\boption\s[A-Z\d]\b",
    re.IGNORECASE,
)
"""Marks of a wish for the work at hand; they say nothing against a fact or a deadline."""
