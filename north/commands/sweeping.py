"""The sweep as a command: one firm or all, in words or as JSON."""

from __future__ import annotations

from north.access.firms import find_firm
from north.memory.backend import Backend
from north.memory.trust import Swept, WrittenRule, sweep


async def run(backend: Backend, firm: str | None, *, dry_run: bool) -> Swept:
    """Sweep one firm, or all.

    Raises:
        FirmNotFound: there is no such firm.
        SweepNotConfigured: no URL for `scheduler_role` is set.
    """
    organization_id = await find_firm(backend, firm) if firm else None
    return await sweep(backend.scheduler_url, organization_id, dry_run=dry_run)


def in_words(swept: Swept, *, dry_run: bool) -> str:
    """What was done, a line for each rule. Lawyers are named by their ids: a log is no place for more."""
    wrote = "Would write" if dry_run else "Wrote"
    lines = [f"{wrote} {_counted(len(swept.rules), 'rule')}, for {_counted(swept.lawyers, 'lawyer')} looked at."]
    for rule in swept.rules:
        rate = rule.keep_rate
        lines.append(
            f"  firm {rule.organization_id}, lawyer {rule.user_id}: {rate.type.value} in {rate.scope.value}, "
            f"{rate.kept} of {rate.sample} still there"
        )
    return "\n".join(lines)


def as_json(swept: Swept, *, dry_run: bool) -> dict[str, object]:
    """What was done, for scripts."""
    return {
        "dry_run": dry_run,
        "firms": swept.firms,
        "lawyers": swept.lawyers,
        "rules": [_rule_as_json(rule) for rule in swept.rules],
    }


def _rule_as_json(rule: WrittenRule) -> dict[str, object]:
    rate = rule.keep_rate
    return {
        "firm": str(rule.organization_id),
        "user": str(rule.user_id),
        "scope": rate.scope.value,
        "type": rate.type.value,
        "kept": rate.kept,
        "sample": rate.sample,
        "keep_rate": rate.rate,
        "rule": str(rule.rule_id) if rule.rule_id else None,
    }


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
