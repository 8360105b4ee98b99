"""What a draft has to be before the door decides about it."""

from __future__ import annotations

from north.errors import InvalidInput, MatterNotAllowed, MatterRequired
from north.memory.input import check_line
from north.memory.matters import check_matter_reference
from north.memory.text import check_content, check_storable
from north.model import Draft, Scope

EVIDENCE_LIMIT = 10_000
LABEL_LIMIT = 300


def checked(draft: Draft) -> Draft:
    """The draft with its text normalised, when it is within the limits.

    Raises:
        MatterRequired: it is for a matter and names none.
        MatterNotAllowed: it names a matter and is for none.
        InvalidInput: a text of it is empty, too long, or cannot be stored.
    """
    if draft.scope is Scope.MATTER and not draft.matter:
        raise MatterRequired
    if draft.scope is not Scope.MATTER and draft.matter:
        raise MatterNotAllowed
    if draft.evidence:
        check_storable(draft.evidence)
        if len(draft.evidence) > EVIDENCE_LIMIT:
            raise InvalidInput(reason=f"the evidence has more than {EVIDENCE_LIMIT} characters")
    return Draft(
        content=check_content(draft.content),
        type=draft.type,
        scope=draft.scope,
        matter=check_matter_reference(draft.matter) if draft.matter else None,
        confidence=draft.confidence,
        evidence=draft.evidence,
        source_label=check_line(draft.source_label, "source label", LABEL_LIMIT) if draft.source_label else None,
        captured_at=draft.captured_at,
        message_id=draft.message_id,
    )
