"""All that the offline assistant knows to be worth keeping, in the order in which it is tried."""

from __future__ import annotations

import re

from north.chat.offline.matter import DEADLINE, DECISION, FACT, PARTIES, REFERENCE
from north.chat.offline.patterns import Statement
from north.chat.offline.personal import IDENTITY, INSTRUCTION, PLAYBOOK_RULE, PREFERENCE
from north.chat.offline.vocabulary import NAME, PARTY
from north.model import MemoryType

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
