"""How an import reads on a page: where it stands, and what became of what was in the file."""

from __future__ import annotations

from north.model import Import, ImportReport, ImportStatus

UNDER_WAY = frozenset({ImportStatus.QUEUED, ImportStatus.RUNNING})

STATES = {
    ImportStatus.QUEUED: "waiting to be read",
    ImportStatus.RUNNING: "being read",
    ImportStatus.FINISHED: "finished",
    ImportStatus.FAILED: "failed",
    ImportStatus.CANCELLED: "cancelled",
}

SKIPPED = {
    "already_imported": ("was imported before", "were imported before"),
    "already_known": ("was known already", "were known already"),
    "changed_by_you": ("was changed by you since", "were changed by you since"),
    "deleted_by_you": ("was deleted by you before", "were deleted by you before"),
    "do_not_remember": ("was marked not to be remembered", "were marked not to be remembered"),
    "empty": ("holds nothing that you said", "hold nothing that you said"),
    "refused_by_rule": ("is refused by your rules", "are refused by your rules"),
    "repeated": ("stands there more than once", "stand there more than once"),
}
"""Why something was left out: of one, and of several."""

SKIPPED_OTHERWISE = "left out as “{reason}”"


def is_under_way(brought: Import) -> bool:
    """Whether an import has still to come to its end."""
    return brought.status in UNDER_WAY


def import_state(brought: Import) -> str:
    """Where an import stands, in a word or two."""
    return "undone" if brought.undone_at else STATES[brought.status]


def report_in_words(report: ImportReport) -> str:
    """What became of everything that was seen, as a sentence whose numbers add up."""
    if not report.seen:
        return "Nothing was read."
    noun = "conversation or memory" if report.seen == 1 else "conversations and memories"
    parts = [f"{report.imported:,} imported"]
    if report.skipped:
        parts.append(_skipped(report.skipped))
    if report.failed_count:
        parts.append(f"{report.failed_count:,} failed")
    return f"{report.seen:,} {noun}: {', '.join(parts)}."


def _skipped(skipped: dict[str, int]) -> str:
    reasons = ", ".join(_reason(reason, count) for reason, count in sorted(skipped.items(), key=_most_first))
    return f"{sum(skipped.values()):,} skipped ({reasons})"


def _most_first(of: tuple[str, int]) -> tuple[int, str]:
    reason, count = of
    return -count, reason


def _reason(reason: str, count: int) -> str:
    if reason not in SKIPPED:
        return f"{count:,} {SKIPPED_OTHERWISE.format(reason=reason.replace('_', ' '))}"
    one, several = SKIPPED[reason]
    return f"{count:,} {one if count == 1 else several}"


def memories_in_words(count: int) -> str:
    """How many memories came of an import."""
    return {0: "No memory was saved", 1: "1 memory was saved"}.get(count, f"{count:,} memories were saved")
