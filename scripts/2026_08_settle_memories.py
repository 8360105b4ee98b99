"""Settles, once, what an earlier release left behind: memories, rules and suggestions that waited for an answer.

Nothing is written without --apply. It goes firm by firm and, in a firm, in small transactions; stopped anywhere, it
goes on where it was. It may run twice, and while North is serving. It connects as the owner, and the walls hold for it.

- A `pending` memory becomes `active` and supersedes its predecessor; of several that would replace the same row the
  newest wins; a chain ends with its newest live. It is archived where the predecessor was archived or superseded
  meanwhile, or where its text is live already. `rejected` rows stay as they are.
- Rules of `always_review` and suggestions of the old queue are deleted; ledger rows of the sweep stay.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from psycopg.conninfo import make_conninfo

from north.commands.options import plain_errors, settings_with
from north.commands.place import DATABASE, checked_url, prepare
from north.db.connect import Database, LostRace, Row, Transaction
from north.db.embedded import embedded
from north.db.migrate import OWNER, check_schema, schema_state
from north.db.races import ATTEMPTS
from north.errors import DatabaseBusy, Misconfigured
from north.memory.save import write_terms
from north.memory.terms import terms
from north.memory.text import content_key
from north.model import Caller, Origin, Scope
from north.settings import Settings

AT_ONCE = 100
"""How many pending rows a transaction settles, with their families: it holds their locks for a moment only."""
ACTIVE, SUPERSEDED, ARCHIVED, PENDING, REJECTED = "active", "superseded", "archived", "pending", "rejected"

Place = tuple[bytes, str, UUID | None, UUID | None]
"""What only one live row can have: the key of its text, and its bucket."""


@dataclass(frozen=True, slots=True)
class Version:
    """A row of a family."""

    id: UUID
    supersedes_id: UUID | None
    status: str
    place: Place
    created_at: datetime

    @property
    def age(self) -> tuple[datetime, UUID]:
        """Sorts the oldest first."""
        return self.created_at, self.id


def decide(versions: Sequence[Version], live: Mapping[Place, UUID]) -> dict[UUID, str]:
    """The new status of every pending row, and of every live row that one of them replaces.

    Args:
        versions: whole families.
        live: which row is live in a place, so far as it matters to these.
    """
    settled = {each.id: each.status for each in versions}
    live = dict(live)
    by_id = {each.id: each for each in versions}
    replacements: defaultdict[UUID, list[Version]] = defaultdict(list)
    replaced = {each.id: _replaced(by_id, each) for each in versions}
    for each in versions:
        if before_id := replaced[each.id]:
            replacements[before_id].append(each)
    heads = [each for each in versions if each.status == PENDING and not _is_pending(by_id, replaced[each.id])]
    for head in sorted(heads, key=lambda each: each.age):
        before_id = replaced[head.id]
        before = by_id.get(before_id) if before_id else None
        rivals = replacements[before_id] if before_id else [head]
        if before and (before.status in (SUPERSEDED, ARCHIVED) or _has_successor(rivals)):
            _archive(head, replacements, settled)
        elif head is max((each for each in rivals if each.status == PENDING), key=lambda each: each.age):
            _enliven(before, head, replacements, settled, live)
        else:
            _archive(head, replacements, settled)
    return {id: status for id, status in settled.items() if status != by_id[id].status}


def _replaced(by_id: Mapping[UUID, Version], version: Version) -> UUID | None:
    """Which row a version replaces: what was rejected never stood, so the one before it does."""
    replaced = version.supersedes_id
    while replaced and replaced in by_id and by_id[replaced].status == REJECTED and by_id[replaced].supersedes_id:
        replaced = by_id[replaced].supersedes_id
    return replaced


def _is_pending(by_id: Mapping[UUID, Version], id: UUID | None) -> bool:
    return id is not None and id in by_id and by_id[id].status == PENDING


def _has_successor(rivals: Sequence[Version]) -> bool:
    return any(each.status in (ACTIVE, SUPERSEDED) for each in rivals)


def _archive(head: Version, replacements: Mapping[UUID, list[Version]], settled: dict[UUID, str]) -> None:
    """Archive a pending row and every pending row that would have replaced it."""
    settled[head.id] = ARCHIVED
    for each in replacements.get(head.id, ()):
        if each.status == PENDING:
            _archive(each, replacements, settled)


def _enliven(
    before: Version | None,
    head: Version,
    replacements: Mapping[UUID, list[Version]],
    settled: dict[UUID, str],
    live: dict[Place, UUID],
) -> None:
    """Let the newest of a chain live: what it replaces, one after the other, is superseded."""
    chain = [head]
    while waiting := [each for each in replacements.get(chain[-1].id, ()) if each.status == PENDING]:
        newest = max(waiting, key=lambda each: each.age)
        for each in waiting:
            if each is not newest:
                _archive(each, replacements, settled)
        chain.append(newest)
    last = chain[-1]
    twin = live.get(last.place)
    if twin and before and twin == before.id and len(chain) == 1:
        settled[last.id] = ARCHIVED  # it says what its predecessor says, which stays
        return
    for each in ([before] if before and before.status == ACTIVE else []) + chain[:-1]:
        settled[each.id] = SUPERSEDED
        if live.get(each.place) == each.id:
            del live[each.place]
    if _has_successor(replacements.get(last.id, ())):
        settled[last.id] = SUPERSEDED
    else:
        settled[last.id] = ARCHIVED if last.place in live else ACTIVE
        live.setdefault(last.place, last.id)


@dataclass(slots=True)
class Report:
    """What a firm had and has: memories by status, rules of `always_review`, suggestions of the old queue."""

    before: Counter[str] = field(default_factory=Counter)
    after: Counter[str] = field(default_factory=Counter)


async def settle(owner_url: str, *, apply: bool) -> dict[UUID, Report]:
    """Settle every firm, or only say what that would do.

    Args:
        owner_url: Postgres as an administrator or as a member of `north_owner`.
        apply: whether anything is written.
    """
    async with as_owner(owner_url) as database:
        firms = [row["firm_id"] for row in await database.lookup("settle.firms")]
        return {firm: await settle_firm(database, firm, apply=apply) for firm in firms}


@asynccontextmanager
async def as_owner(owner_url: str) -> AsyncIterator[Database]:
    """One connection as `north_owner`."""
    database = Database(make_conninfo(owner_url, options=f"-c role={OWNER}"), size=1)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


async def settle_firm(database: Database, firm: UUID, *, apply: bool) -> Report:
    """Settle one firm: what its lawyers share, then each lawyer's own."""
    async with database.bound(firm, None) as transaction:
        lawyers = [row["id"] for row in await transaction.fetch("settle.lawyers")]
    report = Report()
    for owner in (None, *lawyers):
        before = await _counts(database, firm, owner)
        report.before += before
        if apply:
            await _settle_bucket(database, firm, owner)
            await _delete_queue(database, firm, owner)
            report.after += await _counts(database, firm, owner)
        else:
            report.after += await _foretold(database, firm, owner, before)
    return report


async def _counts(database: Database, firm: UUID, owner: UUID | None) -> Counter[str]:
    async with database.bound(firm, owner) as transaction:
        statuses = await transaction.fetch("settle.counts")
        rules = await transaction.first("settle.old_rules")
        suggestions = await transaction.first("settle.old_suggestions")
    assert rules and suggestions
    counts = Counter({row["status"]: row["count"] for row in statuses})
    return counts + Counter({"rules": rules["count"], "suggestions": suggestions["count"]})


async def _foretold(database: Database, firm: UUID, owner: UUID | None, before: Counter[str]) -> Counter[str]:
    """What would be counted afterwards."""
    async with database.bound(firm, owner) as transaction:
        ids = [row["id"] for row in await transaction.fetch("settle.unsettled", limit=None)]
        rows, changes = await _decided(transaction, ids)
    after = Counter({name: count for name, count in before.items() if name not in ("rules", "suggestions")})
    for memory_id, status in changes.items():
        after[rows[memory_id]["status"]] -= 1
        after[status] += 1
    return +after


async def _settle_bucket(database: Database, firm: UUID, owner: UUID | None) -> None:
    lost = 0
    while lost < ATTEMPTS:
        try:
            if not await _settle_some(database, firm, owner):
                return
            lost = 0
        except LostRace:
            lost += 1  # somebody saved or edited the same at the same moment: look again
    raise DatabaseBusy


async def _settle_some(database: Database, firm: UUID, owner: UUID | None) -> bool:
    """Settle the oldest pending rows with their families. Whether there were any."""
    async with database.bound(firm, owner) as transaction:
        ids = [row["id"] for row in await transaction.fetch("settle.unsettled", limit=AT_ONCE)]
        if ids:
            family = await transaction.fetch("settle.families", ids=ids)
            await transaction.send("settle.lock", ids=[row["id"] for row in family])
            rows, changes = await _decided(transaction, ids)
            await _write(transaction, Caller(firm, owner or UUID(int=0), Origin.IMPORT), rows, changes)
    return bool(ids)


async def _decided(transaction: Transaction, ids: Sequence[UUID]) -> tuple[dict[UUID, Row], dict[UUID, str]]:
    rows = {row["id"]: row for row in await transaction.fetch("settle.families", ids=list(ids))}
    contents = [row["content"] for row in rows.values() if row["status"] == PENDING]
    keys = [content_key(content) for content in contents]
    twins = await transaction.fetch("settle.live_texts", content_keys=keys, contents=contents)
    live = {_place(row): row["id"] for row in twins}
    versions = [
        Version(row["id"], row["supersedes_id"], row["status"], _place(row), row["created_at"]) for row in rows.values()
    ]
    return rows, decide(versions, live)


def _place(row: Row) -> Place:
    return content_key(row["content"]), row["scope"], row["target_user_id"], row["target_matter_id"]


async def _write(
    transaction: Transaction, caller: Caller, rows: Mapping[UUID, Row], changes: Mapping[UUID, str]
) -> None:
    """Make room first: at no moment are two rows of a place live."""
    for memory_id in (id for id, status in changes.items() if status != ACTIVE):
        step = "supersede" if changes[memory_id] == SUPERSEDED else "archive"
        await transaction.send(f"settle.{step}", memory_id=memory_id)
        await transaction.send("memory.delete_terms", memory_id=memory_id)
    for memory_id in (id for id, status in changes.items() if status == ACTIVE):
        row = rows[memory_id]
        content, target = row["content"], (row["target_user_id"], row["target_matter_id"])
        key, words = content_key(content), terms(content)
        await transaction.send("settle.activate", memory_id=memory_id, content_key=key, length=len(words))
        await transaction.send("memory.delete_terms", memory_id=memory_id)
        await write_terms(transaction, caller, memory_id, Scope(row["scope"]), *target, words)


async def _delete_queue(database: Database, firm: UUID, owner: UUID | None) -> None:
    async with database.bound(firm, owner) as transaction:
        await transaction.send("settle.delete_old_suggestions")
        await transaction.send("settle.unlink_old_rules")
        await transaction.send("settle.delete_old_rules")


@contextmanager
def _owner_url(settings: Settings) -> Iterator[str]:
    """The configured owner's URL, or that of the embedded server, which is joined or started."""
    if settings.owner_database_url is not None:
        yield checked_url("NORTH_OWNER_DATABASE_URL", settings.owner_database_url)
    elif settings.database_url is not None:
        raise Misconfigured(reason="NORTH_OWNER_DATABASE_URL is not set; settling needs an owner's URL")
    else:
        with embedded(settings.data_dir) as server:
            prepare(server, settings)
            yield server.superuser_url(DATABASE)


def in_words(reports: Mapping[UUID, Report], *, apply: bool) -> str:
    """A line for each firm that has or had something to settle, and one for all."""
    total = Report()
    for each in reports.values():
        total.before += each.before
        total.after += each.after
    changed = {str(firm): report for firm, report in reports.items() if report.before != report.after}
    head = "Settled." if apply else "Nothing was written. With --apply, this would change:"
    lines = [f"{name}: {_changes(report)}" for name, report in {**changed, "all firms": total}.items()]
    return "\n".join([head, *lines])


def _changes(report: Report) -> str:
    names = (PENDING, ACTIVE, SUPERSEDED, ARCHIVED, REJECTED, "rules", "suggestions")
    return ", ".join(f"{name} {report.before[name]} → {report.after[name]}" for name in names)


def as_json(reports: Mapping[UUID, Report], *, apply: bool) -> dict[str, Any]:
    """The same for scripts."""
    firms = {str(firm): {"before": dict(each.before), "after": dict(each.after)} for firm, each in reports.items()}
    return {"applied": apply, "firms": firms}


@plain_errors
def main() -> None:
    """Read the command line, settle, and print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--apply", action="store_true", help="write; without it, only say what would be done")
    parser.add_argument("--data-dir", type=Path, help="the embedded server's data folder; default: NORTH_DATA_DIR")
    parser.add_argument("--json", action="store_true", help="print JSON, for scripts")
    arguments = parser.parse_args()
    with _owner_url(settings_with(data_dir=arguments.data_dir)) as url:
        check_schema(schema_state(url))
        reports = asyncio.run(settle(url, apply=arguments.apply))
    if arguments.json:
        print(json.dumps(as_json(reports, apply=arguments.apply)))
    else:
        print(in_words(reports, apply=arguments.apply))


if __name__ == "__main__":
    main()
