"""The word lists that the offline assistant's patterns are built from.

Each is a regular expression's group, to be read without regard to case, over text with single spaces.
"""

from __future__ import annotations


def any_of(words: str) -> str:
    """A group that matches one of the `words`, given with `|` or line ends between them."""
    listed = (word.strip() for line in words.splitlines() for word in line.split("|"))
    return f"(?:{'|'.join(word for word in listed if word)})"


_OPENS_A_SENTENCE = """
    we it he she they you this that these those there here the our my your his her their its a an one nobody
    everyone everything nothing something someone what which who when where why how if then so yes no not never
    always please also and but or as at in on for from by with to of all any some each every both only just still
    now today tomorrow yesterday great thanks hello hi hey sure well maybe perhaps let because since until after
    before while than very ok
"""
_NOT_A_NAME = "|".join(["I", "OK", *(word.capitalize() for word in _OPENS_A_SENTENCE.split())])
NAME = rf"(?-i:(?!(?:{_NOT_A_NAME})\b|\w+n't\b)[A-Z][\w.'&-]*)"
"""One capitalised word that can be part of a name; "AS" and "IT" can, "As" and "It" only open sentences."""

NAMES = rf"{NAME}(?: (?:(?:&|and|of|de|van|von) )?{NAME}){{0,4}}"

POINTS_AT = any_of("this|that|these|those|it|him|her|them|the|how|where|your|his|their") + r"\b"
"""Words by which a sentence speaks of something at hand instead of a kind of thing."""

ADVERBS = r"(?:(?:also|just|still|much|very|now|always|mostly|would|do|\w+ly) )*"

HABIT = any_of(
    "always|never|usually|normally|typically|generally|only|rarely|seldom|mostly|often|routinely|tend to|avoid"
    "|refuse to|insist on"
)

NOT_A_HABIT = any_of(
    r"""
    (?!need|feed|proceed|exceed|succeed)\w+ed|said|got|saw|thought|knew|heard|meant|had|was|were|did|went|made|took
    told|gave|felt|found|came|lost|won|forgot|forget|know|understand|understood|mind|feel|enjoy|wonder|imagine|lose
    win|miss|seem|get|been|loved|hope|wish|have
    """
)
"""What follows "always" or "never" when a moment or a memory of it is told and not a habit."""

WORK = any_of(
    r"""
    memo(?:randum)?s?|drafts?|letters?|e-?mails?|briefs?|citations?|cites?|footnotes?|endnotes?|bullets?
    bullet points?|jargon|legalese|latin|phrases?|voice|sentences?|paragraphs?|summar(?:y|ies)|answers?|replies
    responses?|tables?|prose|fonts?|headings?|headers?|spelling|commas?|dash(?:es)?|exclamation marks?|emojis?
    abbreviations?|contractions?|calls?|meetings?|reports?|redlines?|track changes|pdfs?|word|tone|english|style
    format(?:ting)?|quotes?|quotations?|cases?|authorit(?:y|ies)|statutes?|contracts?|agreements?|documents?|filings?
    pleadings?|motions?|research|lists?|outlines?|chronolog(?:y|ies)|timelines?|invoices?|dates?|deadlines?|numbers?
    names?|subject lines?|signatures?|attachments?|exhibits?|bluebook|oscola|chicago style|form|capitals|bold|italics
    notes?|tense|adverbs?
    """
)
"""A lawyer's work product and what it is made of."""

WORKS = any_of(
    """
    memos|memoranda|drafts|letters|e-?mails|briefs|citations|cites|footnotes|bullets|bullet points|sentences
    paragraphs|summaries|answers|replies|responses|tables|fonts|headings|commas|exclamation marks|emojis|abbreviations
    contractions|calls|meetings|reports|redlines|quotes|quotations|authorities|statutes|contracts|agreements|documents
    filings|pleadings|motions|lists|outlines|chronologies|timelines|invoices|dates|deadlines|numbers|names
    subject lines|signatures|attachments|notes|cases
    """
)
"""The same in the plural: kinds of work, not the piece at hand."""

STYLE = any_of(
    r"""
    spelling|english|bluebook|oscola|citations?|cites?|style|formatt?(?:ing)?|tone|fonts?|commas?|bullet points?
    bullets|footnotes?|headings?|voice|tense|single spacing|double spacing|numbered lists?|plain language|sentences
    paragraphs|emojis?|latin|exclamation marks?|legalese|jargon|abbreviations|contractions|dates?|24-hour|tables
    italics|em[ -]dashes|adverbs
    """
)

IMPERATIVE = any_of(
    """
    use|start|begin|give|put|cite|write|add|include|list|end|ask|send|keep|answer|reply|respond|show|mark|avoid|check
    draft|quote|attach|call|copy|cc|bcc|format|sign|state|mention|name|number|apply|assume|spell|capitali[sz]e|leave
    make|address|refer|treat|highlight|summari[sz]e|note|follow|prefer|round|translate|flag|save|file|label|title
    explain|set|run|get|have|omit|skip|separate|define|date|be|confirm|indicate|append|order|sort|lead|open|close
    redact|print|tell|remind|propose|suggest|warn
    """
)

ROLE = any_of(
    r"""
    partner|associate|(?:of )?counsel|paralegal|lawyer|attorney|litigator|solicitor|barrister|clerk|secretary|head
    chair|chairman|chairwoman|member|director|manager|assistant|trainee|notary|advocate|prosecutor|judge|specialist
    trustee|librarian|conveyancer|administrator|professor|intern|deputy|officer|vegetarian|vegan|native \w+ speaker
    """
)

MY = any_of(
    r"""
    names?|nickname|assistant|secretary|paralegal|associate|trainee|boss|supervisor|mentor|office|e-?mail(?: address)?
    phone|mobile|extension|number|address|practice(?: area)?|title|role|group|team|pronouns?|time ?zone|birthday
    initials|signature|wife|husband|spouse|partner|native language|mother tongue|first language|specialty|specialism
    department|backup|delegate|deputy|hourly rate|rate|timekeeper (?:id|number)|(?:working|office) hours
    """
)
"""What a lawyer says about themselves after "my"."""

TEAM = any_of("practice|group|office|team|department|desk|committee|board|firm")

PARTY = any_of(
    r"""
    plaintiffs?|defendants?|claimants?|respondents?|appellants?|appellees?|petitioners?|judge|magistrate|mediator
    arbitrators?|experts?|(?:expert )?witness|sellers?|buyers?|purchaser|vendor|lender|borrower|guarantor|insurer
    insured|adjuster|counterparty|other side|(?:opposing |co-|local |lead |general |outside )?counsel|gc
    contact(?: person)?|point of contact|trustee|executor|debtor|creditor|landlord|tenant|licensor|licensee|employer
    employee|ceo|cfo|bank|agent|broker|clients?|target|beneficiary|settlor|testator|franchisor|franchisee|owner
    contractor|subcontractor|opponent|prosecutor|parties|sides|attorneys?|lawyers?|solicitors?|barrister
    court reporter|paralegal|case manager
    """
)

THING = any_of(
    r"""
    contract|agreement|lease|loan|policy|note|will|trust|patent|trademark|licen[cs]e|deed|deal|merger|transaction
    company|property|premises|(?:purchase )?price|claim|case(?: number)?|matter|docket(?: number)?|court|forum|venue
    seat(?: of arbitration)?|jurisdiction|governing law|amount(?: in dispute)?|damages|liability|cap|indemnity|escrow
    warranty|accident|incident|injury|invoice|settlement(?: offer| amount| authority)?|complaint|arbitration|retainer
    fee|tribunal|estate|engagement|guarantee|mortgage|building|site|board|jury|motion|order|judgment|verdict|software
    product|shares|bond|budget|earn-?out|survival period|notice period|term|clause|provision|schedule|counterclaim
    appeal|injunction|subsidiary|parent|non-compete|non-solicit|covenant|nda|option|right of first refusal
    """
)
"""What a matter is about."""

OF_MATTER = (
    rf"(?:(?:the|our|my|this|both) (?:[\w-]+'s? )?(?:[\w-]+ ){{0,3}}?(?:{PARTY}|{THING})(?: (?:of|at|for) [\w "
    rf"-]{{1,30}}?)?|(?:the|our|my) (?:{PARTY}|{THING})'s? [\w-]+(?: [\w-]+){{0,2}}?|{NAME}(?: (?:& )?{NAME}){{1,4}}"
    r"|(?:venue|liability|jurisdiction|governing law|title|plaintiff|defendant|claimant|respondent|landlord|tenant))"
)
"""A subject that belongs to a matter, or a name of two words or more: one capital may just open a sentence."""

IS_SO = any_of(
    r"""
    (?:an?|the|one of) (?!mess|nightmare|pain|joke|bit|disaster|good|great|lot|little|shame|problem|bad|big|genius)\w
    not an? |[$€£]?\d|in (?:the )?(?-i:[A-Z])|under \w|about [$€£]?\d
    """
)
SETTLED = any_of(
    """
    governed|based|located|incorporated|organi[sz]ed|headquartered|registered|owned|dated|pending|worth|insured
    married|divorced|signed|executed|formed|filed|founded|held|leased|subject|limited|capped|privileged|confidential
    unenforceable|void|valid|exempt|bound|liable|entitled|represented|resident|domiciled|bankrupt|insolvent|publicly
    privately|listed|licensed|secured|built|bought|sold|born|employed|terminated|amended|assigned|denied|granted
    dismissed|settled|stayed|sealed|remanded
    """
)
DOES = any_of(
    """
    owns?|operates?|employs?|leases?|makes?|sells?|holds?|manufactures?|resides?|lives?|provides?|requires?|contains?
    excludes?|covers?|caps?|limits?|includes?|allows?|prohibits?|permits?|names?|denied|granted|ordered|ruled
    dismissed|sanctioned|signed|executed|acquired|paid|received|breached|terminated|filed|bought|sold|inherited
    invented|runs?|imposes?|survives?|speaks?|carries|lacks?|does not|never|happened|occurred|supplies|imports?
    exports?|distributes?|guarantees?|guaranteed|waived|sits|ends?|begins?|starts?|produced|merged|dissolved|stopped
    ceased|began|started|failed|refused|agreed|entered|transferred|moved|changed|issued|reads?|charges?
    """
)
"""What parties, contracts and courts do that is worth knowing."""

DEALS = any_of(
    """
    owns|operates|employs|leases|leased|manufactures|acquired|signed|sold|bought|breached|terminated|supplies|supplied
    guaranteed|guarantees|merged|distributes|imports|exports|licensed|licenses|invented|borrowed|lent|insures|insured
    """
)
COMPANY = any_of(
    "corporation|company|llc|llp|partnership|limited|gmbh|subsidiary|trust|charity|nonprofit|fund|bank|hospital"
)

DECIDES = any_of(
    """
    settle|pursue|appeal|file|drop|withdraw|arbitrate|mediate|litigate|call|depose|seek|move|plead|assert|object|waive
    sue|accept|reject|offer|counter|join|remove|proceed|go with|go to|go ahead|stay|retain|hire|use|sign|close
    terminate|renew|disclose|argue|rely|contest|oppose|amend|challenge|raise|serve|subpoena|concede|stipulate
    bifurcate|request|defend
    """
)

DUE = any_of(
    "deadline|due date|cut-?off|bar date|limitations?|trial|hearing|closing|long stop date|mediation|deposition"
    "|discovery"
)

PLACE = any_of(
    r"""
    https?://|www\.|\b[A-Z]:[/\\]|\\\\|/\w+/|\w+\.(?:docx?|pdf|xlsx?)\b|folder|drive|sharepoint|imanage|netdocuments
    intranet|wiki|workspace|data room|library|directory|cabinet|dropbox|onedrive|teams
    """
)
