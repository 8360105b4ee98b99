"""What becomes of an import's items, and the report that counts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from north.memory.mining import Finding
from north.model import FailedConversation, ImportReport

FAILED_NAMED = 100
"""So many failed conversations are named in a report; all are counted."""

Key = tuple[str, bytes]
"""A source, and the hash of its id for a conversation or an explicit memory."""
Fates = Counter[str]
"""How many findings were `saved`, `updated`, `known`, `refused`, `deleted` or `outdated`."""


@dataclass(frozen=True, slots=True)
class Skip:
    """An item that is not imported. One that the file repeats word for word is not counted."""

    reason: str
    counted: bool = True


@dataclass(frozen=True, slots=True)
class Failure:
    """An item that cannot be imported."""

    conversation: FailedConversation


@dataclass(frozen=True, slots=True)
class Read:
    """What was read of an item, or of a part of it: `ends` says that it was the last part."""

    key: Key
    part: int
    turns: frozenset[bytes]
    findings: tuple[Finding, ...]
    mined: bool
    """Whether a miner found it in a conversation; else the provider's own memory says it."""
    ends: bool = True
    earlier: Fates = field(default_factory=Counter)
    """What became of the parts before."""


Deed = Skip | Failure | Read


def counted(report: ImportReport, deeds: Sequence[Deed], fates: Sequence[Fates]) -> ImportReport:
    """The report with what was done: each item that ends is imported, skipped or failed."""
    skipped, failed = Counter(report.skipped), list(report.failed)
    imported, failed_count, memories = report.imported, report.failed_count, report.memories
    of_reads = iter(fates)
    for deed in deeds:
        match deed:
            case Skip():
                skipped[deed.reason] += deed.counted
            case Failure():
                failed_count += 1
                failed.append(deed.conversation)
            case Read():
                new = next(of_reads)
                memories += new["saved"] + new["updated"]
                reason = _reason(deed, deed.earlier + new) if deed.ends else None
                skipped.update([reason] if reason else [])
                imported += deed.ends and reason is None
    skipped += Counter()  # without what is zero
    seen = imported + skipped.total() + failed_count
    return replace(
        report,
        seen=seen,
        imported=imported,
        skipped=dict(skipped),
        failed=tuple(failed[:FAILED_NAMED]),
        failed_count=failed_count,
        memories=memories,
    )


def _reason(read: Read, fates: Fates) -> str | None:
    """Why nothing was imported of what the provider remembered; a conversation that was read is imported."""
    if read.mined or fates["saved"] or fates["updated"]:
        return None
    reasons = {"refused": "refused_by_rule", "deleted": "deleted_by_you", "outdated": "changed_by_you"}
    return next((reason for fate, reason in reasons.items() if fates[fate]), "already_known")
