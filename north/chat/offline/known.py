"""What the offline assistant knows: the memory in its instructions, and what of it a question or a correction means."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from north.memory.terms import query_terms, terms

_SECTION = re.compile(r"<(user|matter)_memory\b[^>]*>\n(.*?)\n</\1_memory>", re.DOTALL)
_LINE = re.compile(r"^- \[(?P<id>[^\]]+)\] \((?P<type>\w+), (?P<date>[\d-]+)\) (?P<content>.+)$", re.MULTILINE)
_MATTER = re.compile(r"This conversation is on matter (.+?)\.$", re.MULTILINE)

# Each line is one sense. Words that stand together in a question and an answer though they share no stem.
_SYNONYMS = """
cite citation cites citing bluebook oscola chicago reference
due deadline expire close fall
name call nickname
live store locate find keep save folder
prefer like want favor favour preference
company corporation entity llc incorporated corp
settle settlement
rate bill charge fee cost increment
hearing trial argument
judge magistrate preside
office based city
opposing other opponent counterparty adversary
counsel represent attorney solicitor
assistant secretary
e-mail email mail
draft write drafting writing
address call
decide decision agree
"""
_GENERAL_WORDS = """
lawyer firm tell know remember said always never usually thing way kind type do does should
"""
_GENERAL = frozenset(term for word in _GENERAL_WORDS.split() for term in terms(word))
_PERSON = frozenset({"party", "identity"})
_TYPES_ASKED = (
    (re.compile(r"\bwhen\b|\bdeadlines?\b|\bdue\b|\bhow (?:long|many days)\b", re.IGNORECASE), frozenset({"deadline"})),
    (re.compile(r"\bwho(?:se|m)?\b", re.IGNORECASE), _PERSON),
    (re.compile(r"\bwhere\b", re.IGNORECASE), frozenset({"reference", "identity"})),
    (
        re.compile(r"\bhow (?:should|do|must|shall|would)\b", re.IGNORECASE),
        frozenset({"preference", "instruction", "playbook_rule"}),
    ),
    (re.compile(r"\bdecide|\bdecision", re.IGNORECASE), frozenset({"decision"})),
)
_TYPE_BONUS = 0.15  # a tie-breaker: less than what one shared word of a short question weighs
_ANSWERS = 0.34  # at least a third of what a question's words weigh must stand in an answer
_NEAR_BEST = 0.7
_CORRECTED = 0.4
_CLEAR_LEAD = 1.25


@dataclass(frozen=True, slots=True)
class Known:
    """One memory as the instructions or a tool show it. `date` is the day it was saved, or empty."""

    id: str
    content: str
    type: str = "fact"
    date: str = ""
    scope: str = "user_private"


def memory_in(instructions: str) -> tuple[Known, ...]:
    """The memories in the fences of `instructions`, in their order."""
    return tuple(
        Known(
            line["id"],
            html.unescape(line["content"]),
            line["type"],
            line["date"],
            "matter" if section[1] == "matter" else "user_private",
        )
        for section in _SECTION.finditer(instructions)
        for line in _LINE.finditer(section[2])
    )


def matter_in(instructions: str) -> str | None:
    """The number of the conversation's matter, or None when it is on none."""
    found = _MATTER.search(instructions)
    return html.unescape(found[1]) if found else None


def answers_to(question: str, memories: Sequence[Known]) -> list[Known]:
    """The memories that answer `question`, best first; empty when none shares enough of its words."""
    asked = _senses(query_terms(question)) - _GENERAL
    types = frozenset().union(*(types for pattern, types in _TYPES_ASKED if pattern.search(question)))
    scored = _scored(asked, memories, types)
    best = max((score for score, _ in scored), default=0.0)
    return [memory for score, memory in scored if score >= max(_ANSWERS, best * _NEAR_BEST)]


def corrected_by(correction: str, type_: str, memories: Sequence[Known]) -> Known | None:
    """The one memory that `correction` is about, or None when none or several could be meant."""
    scored = _scored(_senses(terms(correction)) - _GENERAL, memories, frozenset({type_}))
    scored = [pair for pair in scored if pair[0] >= _CORRECTED]
    if not scored or (len(scored) > 1 and scored[0][0] < scored[1][0] * _CLEAR_LEAD):
        return None
    return scored[0][1]


def shares_words(question: str, content: str) -> bool:
    """Whether the two have a word, or a sense of one, in common."""
    return bool((_senses(query_terms(question)) & _senses(terms(content))) - _GENERAL)


def _scored(asked: frozenset[str], memories: Sequence[Known], types: frozenset[str]) -> list[tuple[float, Known]]:
    """Each memory that shares a word with `asked`, with the share of the asked words' weight that it holds.

    A word weighs more the fewer memories hold it (inverse document frequency).
    """
    held = [_senses(terms(memory.content)) for memory in memories]
    weights = {term: math.log(1 + (len(memories) + 1) / (0.5 + sum(term in each for each in held))) for term in asked}
    whole = sum(weights.values())
    scored = [
        (
            sum(weights[term] for term in asked & each) / whole + (_TYPE_BONUS if memory.type in types else 0.0),
            memory,
        )
        for memory, each in zip(memories, held, strict=True)
        if asked & each
    ]
    return sorted(scored, key=lambda pair: -pair[0])


def _sense_of_terms() -> dict[str, str]:
    senses: dict[str, str] = {}
    for line in _SYNONYMS.strip().splitlines():
        words = [terms(word)[-1] for word in line.split()]
        for word in words:
            senses.setdefault(word, words[0])
    return senses


_SENSE = _sense_of_terms()


def _senses(words: Iterable[str]) -> frozenset[str]:
    return frozenset(_SENSE.get(word, word) for word in words)
