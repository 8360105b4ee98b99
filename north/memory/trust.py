"""The trust profile: a lawyer who deletes nearly everything of a kind gets a rule that stops it. Nobody is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

import structlog

from north.db.connect import Database, Row, Transaction
from north.db.races import retried
from north.errors import SweepNotConfigured
from north.memory.rules import NEVER_REMEMBER
from north.model import MemoryType, Scope, new_id

log = structlog.get_logger(__name__)

SAMPLE_LEAST = 5
"""So many captures must count before a keep-rate means anything."""
KEEP_RATE_MOST = 0.2
"""At most this share is still there: the lawyer does not want such memories."""

PLURALS = {
    MemoryType.IDENTITY: "statements about identity",
    MemoryType.PREFERENCE: "preferences",
    MemoryType.INSTRUCTION: "instructions",
    MemoryType.PLAYBOOK_RULE: "playbook rules",
    MemoryType.FACT: "facts",
    MemoryType.DECISION: "decisions",
    MemoryType.DEADLINE: "deadlines",
    MemoryType.PARTY: "parties",
    MemoryType.REFERENCE: "references",
}


@dataclass(frozen=True, slots=True)
class KeepRate:
    """How many of a lawyer's captures of one scope and type are still active."""

    scope: Scope
    type: MemoryType
    kept: int
    sample: int

    @property
    def rate(self) -> float:
        """The share that is still active, from 0 to 1."""
        return self.kept / self.sample

    @property
    def calls_for_a_rule(self) -> bool:
        """Whether such memories are to be refused from now on."""
        return self.sample >= SAMPLE_LEAST and self.rate <= KEEP_RATE_MOST

    @property
    def reason(self) -> str:
        """Why, as the lawyer reads it beside the rule."""
        return f"You deleted {self.sample - self.kept} of {self.sample} {PLURALS[self.type]}."


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """A rule that the sweep wrote, or would write; `rule_id` is None where it was only to look."""

    organization_id: UUID
    user_id: UUID
    keep_rate: KeepRate
    rule_id: UUID | None


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep looked at and what it wrote."""

    firms: int
    lawyers: int
    rules: tuple[WrittenRule, ...]


async def sweep(scheduler_url: str | None, organization_id: UUID | None = None, *, dry_run: bool = False) -> Swept:
    """Write a rule, and its ledger row, for each lawyer, scope and type of which nearly nothing is kept.

    What has a ledger row is never looked at again, so that a rule that the lawyer deleted stays deleted. Sweeps may
    run at once; each lawyer is a transaction or two of their own, and no save waits for any.

    Args:
        scheduler_url: Postgres as `scheduler_role`.
        organization_id: one firm; None for all.
        dry_run: only look.

    Raises:
        SweepNotConfigured: there is no URL.
        DatabaseUnavailable: what was written so far stays; the next sweep does the rest.
    """
    rules: list[WrittenRule] = []
    lawyers = 0
    async with _opened(scheduler_url) as database:
        firms = [organization_id] if organization_id else await _firms(database)
        for firm in firms:
            for user_id in await _lawyers(database, firm):
                lawyers += 1
                rules += await _sweep_lawyer(database, firm, user_id, dry_run=dry_run)
    log.info("swept", firms=len(firms), lawyers=lawyers, rules=len(rules), dry_run=dry_run)
    return Swept(len(firms), lawyers, tuple(rules))


@asynccontextmanager
async def _opened(scheduler_url: str | None) -> AsyncIterator[Database]:
    """One connection as `scheduler_role`, for as long as the sweep takes."""
    if scheduler_url is None:
        raise SweepNotConfigured
    database = Database(scheduler_url, size=1)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


async def _firms(database: Database) -> list[UUID]:
    return [row["firm_id"] for row in await database.lookup("trust.firms")]


@retried
async def _lawyers(database: Database, organization_id: UUID) -> list[UUID]:
    async with database.bound(organization_id, None) as transaction:
        return [row["id"] for row in await transaction.fetch("trust.lawyers")]


async def _sweep_lawyer(
    database: Database, organization_id: UUID, user_id: UUID, *, dry_run: bool
) -> list[WrittenRule]:
    poor = await _poor_of(database, organization_id, user_id)
    if dry_run:
        return [WrittenRule(organization_id, user_id, each, None) for each in poor]
    written = [await _write(database, organization_id, user_id, each) for each in poor]
    return [rule for rule in written if rule]


@retried
async def _poor_of(database: Database, organization_id: UUID, user_id: UUID) -> list[KeepRate]:
    async with database.bound(organization_id, user_id) as transaction:
        return await _poor(transaction)


async def _poor(transaction: Transaction) -> list[KeepRate]:
    """The keep-rates that call for a rule, where the ledger has no row yet."""
    rates = map(_to_keep_rate, await transaction.fetch("trust.kept"))
    return [rate for rate in rates if rate.calls_for_a_rule]


@retried
async def _write(database: Database, organization_id: UUID, user_id: UUID, seen: KeepRate) -> WrittenRule | None:
    """The rule and its ledger row, unless another sweep or the lawyer was faster."""
    async with database.bound(organization_id, user_id) as transaction:
        await transaction.send("trust.lock_bucket", scope=seen.scope, type=seen.type)
        again = [rate for rate in await _poor(transaction) if (rate.scope, rate.type) == (seen.scope, seen.type)]
        if not again:
            return None
        rule = WrittenRule(organization_id, user_id, again[0], new_id())
        await _insert(transaction, rule)
        return rule


async def _insert(transaction: Transaction, rule: WrittenRule) -> None:
    rate = rule.keep_rate
    bucket = {"action": NEVER_REMEMBER, "scope": rate.scope, "type": rate.type}
    await transaction.send("trust.insert_rule", id=rule.rule_id, reason=rate.reason, **bucket)
    await transaction.send(
        "trust.insert_ledger_row",
        id=new_id(),
        keep_rate=rate.rate,
        sample=rate.sample,
        rule_id=rule.rule_id,
        **bucket,
    )


def _to_keep_rate(row: Row) -> KeepRate:
    return KeepRate(Scope(row["scope"]), MemoryType(row["type"]), row["kept"], row["sample"])
