"""The offline assistant's rules as a miner: the same reading of a message, and the same wording, as in the chat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from north.chat.offline.known import Known, corrected_by
from north.chat.offline.rules import Recognised, recognise
from north.chat.offline.wording import needs_subject, standing_alone
from north.memory.mining import Finding, Passage, Said
from north.memory.text import content_key
from north.model import CONTENT_LIMIT, Draft, Memory, Scope


def findings_by_rules(passage: Passage, known: Sequence[Memory]) -> list[Finding]:
    """What the lawyer's messages ask to keep or to change, in their order."""
    return findings_in(passage, read_by_rules(passage), known)


Statements = list[tuple[Said, Recognised]]
"""What the lawyer's messages say, each with its message, in their order."""


def read_by_rules(passage: Passage) -> Statements:
    """What a passage says, before anything that is known is looked at."""
    on_matter = passage.matter is not None
    return [(said, item) for said in passage.own for item in recognise(said.content, on_matter=on_matter, now=said.at)]


def corrects(statements: Statements) -> bool:
    """Whether what is known makes a difference: only a correction looks at it."""
    return any(item.kind == "update" for _, item in statements)


def findings_in(passage: Passage, statements: Statements, known: Sequence[Memory]) -> list[Finding]:
    """What is to be kept or changed of what a passage says.

    A correction of something said in the same passage takes its place; one of a live memory supersedes it; one that
    means nothing known is new, when it stands alone. What was to be forgotten is left to the lawyer, who sees it.
    """
    found: list[Finding] = []
    for said, item in statements:
        if item.kind == "save":
            found.append(Finding(_draft(item, item.content, passage, said), said))
        elif item.kind == "update":
            _correct(found, item, passage, said, known)
    return [finding for finding in _each_once(found) if len(finding.draft.content) <= CONTENT_LIMIT]


def _correct(found: list[Finding], item: Recognised, passage: Passage, said: Said, known: Sequence[Memory]) -> None:
    place = _meant(item, [_known(str(number), finding.draft) for number, finding in enumerate(found)])
    if place is not None:
        number = int(place.id)
        content = standing_alone(item.content, place.content)
        corrected = replace(_draft(item, content, passage, said), type=found[number].draft.type)
        found[number] = replace(found[number], draft=corrected, said=said)
        return
    live = {str(memory.id): memory for memory in known}
    meant = _meant(item, [_known(id_, memory) for id_, memory in live.items()])
    if meant is not None:
        content = standing_alone(item.content, meant.content)
        found.append(Finding(_draft(item, content, passage, said), said, live[meant.id]))
    elif not needs_subject(item.content):
        found.append(Finding(_draft(item, item.content, passage, said), said))


def _meant(item: Recognised, memories: Sequence[Known]) -> Known | None:
    """The one memory that a correction is about, by its words, or as the only one of its sort."""
    telling = [item.about, None if needs_subject(item.content) else item.content]
    by_words = (corrected_by(text, item.type, memories) for text in telling if text)
    meant = next((memory for memory in by_words if memory), None)
    if meant or item.about:
        return meant
    alike = [memory for memory in memories if memory.type == item.type]
    return alike[0] if len(alike) == 1 else None


def _known(id_: str, memory: Memory | Draft) -> Known:
    return Known(id_, memory.content, memory.type.value, scope=memory.scope.value)


def _draft(item: Recognised, content: str, passage: Passage, said: Said) -> Draft:
    on_matter = item.scope is Scope.MATTER and passage.matter is not None
    return Draft(
        content=content,
        type=item.type,
        scope=Scope.MATTER if on_matter else Scope.USER_PRIVATE,
        matter=passage.matter.number if on_matter and passage.matter else None,
        evidence=item.evidence,
        captured_at=said.at,
        message_id=said.id,
    )


def _each_once(found: Sequence[Finding]) -> list[Finding]:
    """The last of what says the same: said again, it counts from then."""
    kept = {(content_key(finding.draft.content), finding.draft.scope): finding for finding in found}
    return list(kept.values())
