"""A transcript → drafts → memory: what of a thread is still to be mined, and how what was found in it is kept.

A message is mined once for ever. What was found in a passage and the mark that it was mined are written in one
transaction, and the mark can be set from one value only: however often a job runs, wherever, one run has an effect.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Literal
from uuid import UUID

from north.db.connect import Row, Transaction
from north.db.races import retried
from north.errors import MemoryDuplicate, MemoryNotFound, MemoryNotLive, Refused
from north.memory.backend import Backend
from north.memory.both_buckets import rank_buckets
from north.memory.drafts import checked
from north.memory.edit import edit_in
from north.memory.lost import Gone, said_by
from north.memory.recall import QUERY_LIMIT
from north.memory.save import save_in
from north.memory.text import fold
from north.model import AlreadyKnown, Caller, Draft, Matter, Memory, Saved, Scope

WINDOW_CHARACTERS = 200_000
"""What is mined in one pass: about 50,000 tokens, which with the live memories fits the models in use."""
MESSAGES_READ = 1000
THREADS_QUEUED = 200
KNOWN_MOST = 100
"""How many live memories of each bucket the miner is shown, the closest first."""

_FENCED = re.compile(r"^```.*?(?:^```[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_QUOTED_LINE = re.compile(r"^ {0,3}>.*$", re.MULTILINE)
_FORWARDED = re.compile(
    r"^[^\w\n]{0,9}-{2,9} ?(?:original|forwarded)\b.*\Z|^begin forwarded message:.*\Z",
    re.MULTILINE | re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Said:
    """A message as it is mined: what was said, by whom (`user` or `assistant`) and when."""

    id: UUID
    role: str
    content: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Passage:
    """What is mined in one pass: a thread's messages from where mining last stopped (`before`), in whole turns."""

    thread_id: UUID
    matter: Matter | None
    before: UUID | None
    said: tuple[Said, ...]
    gone: tuple[Gone, ...] = ()

    @property
    def own(self) -> tuple[Said, ...]:
        """The lawyer's messages."""
        return tuple(message for message in self.said if message.role == "user")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something worth remembering, the message that says it, and the live memory that it replaces, if any."""

    draft: Draft
    said: Said
    replaces: Memory | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of the findings of a passage."""

    saved: int = 0
    updated: int = 0
    known: int = 0
    refused: int = 0
    outdated: int = 0
    """Deleted by the lawyer after they had said it, or said before what is remembered now."""

    def plus(self, other: Kept) -> Kept:
        """Both together."""
        return Kept(**(Counter(asdict(self)) + Counter(asdict(other))))


# --- reading ------------------------------------------------------------------------------------------------


async def idle_threads(transaction: Transaction, backend: Backend) -> list[UUID]:
    """The lawyer's threads that have been idle long enough and have something to mine; never incognito ones."""
    rows = await transaction.fetch("mining.idle_threads", idle=_idle(backend), limit=THREADS_QUEUED)
    return [row["id"] for row in rows]


@retried
async def read_passage(
    backend: Backend, caller: Caller, thread_id: UUID, window: int = WINDOW_CHARACTERS
) -> Passage | None:
    """The next passage of a thread; None when all is mined, or the thread is in use again, incognito or deleted.

    Args:
        backend: the running North.
        caller: the thread's lawyer.
        thread_id: the thread.
        window: how many characters a passage may have; a single turn goes in whole.
    """
    async with backend.database.tenant(caller) as transaction:
        thread = await transaction.send("mining.thread", thread_id=thread_id, idle=_idle(backend))
        gone = await transaction.send("mining.gone", thread_id=thread_id)
        rows = await transaction.fetch("mining.messages", thread_id=thread_id, limit=MESSAGES_READ)
        row = await thread.fetchone()
        lost = [_gone(each) for each in await gone.fetchall()]
    said = first_turns([Said(**each) for each in rows], window, complete=len(rows) < MESSAGES_READ)
    if row is None or not any(message.role == "user" for message in said):
        return None
    matter = Matter(row["matter_id"], row["matter_number"], row["matter_name"]) if row["matter_id"] else None
    return Passage(thread_id, matter, row["mined_through"], said, tuple(lost))


async def live_memories(backend: Backend, caller: Caller, passage: Passage) -> tuple[Memory, ...]:
    """The live memories of the thread's two buckets that are closest to what the lawyer said; notes no use."""
    query = "\n".join(message.content for message in passage.own)[-QUERY_LIMIT:]
    number = passage.matter.number if passage.matter else None
    return (await rank_buckets(backend, caller, query, number, KNOWN_MOST)).memories


def _gone(row: Row) -> Gone:
    return Gone(row["content"], row["content_key"], Scope(row["scope"]), row["deleted"], row["at"])


def _idle(backend: Backend) -> timedelta:
    return timedelta(minutes=backend.settings.mine_idle_minutes)


# --- deciding, pure -----------------------------------------------------------------------------------------


def first_turns(said: Sequence[Said], window: int, *, complete: bool = True) -> tuple[Said, ...]:
    """The first turns of a transcript that fit into `window` characters; at least one, however long it is.

    A turn is a message of the lawyer's and what was answered to it. Without `complete`, more follows, so that the
    last turn may go on and waits for the next passage.
    """
    turns: list[list[Said]] = []
    for message in said:
        if not turns or (message.role == "user" and any(each.role == "user" for each in turns[-1])):
            turns.append([])
        turns[-1].append(message)
    if not complete and len(turns) > 1:
        turns.pop()
    chosen: list[Said] = []
    for turn in turns:
        window -= sum(len(message.content) for message in turn)
        if window < 0 and chosen:
            break
        chosen.extend(turn)
    return tuple(chosen)


def own_words(text: str) -> str:
    """A message of the lawyer's without what they evidently pasted: code fences, quoted lines, forwarded mail."""
    for pasted in (_FORWARDED, _FENCED, _QUOTED_LINE):
        text = pasted.sub("\n", text)
    return text


def message_with(evidence: str, said: Sequence[Said]) -> Said | None:
    """The lawyer's latest message that has `evidence` word for word in its own words; white space and case aside."""
    span = _folded(evidence)
    if not span:
        return None
    own = (message for message in reversed(said) if message.role == "user")
    return next((message for message in own if span in _folded(own_words(message.content))), None)


def _folded(text: str) -> str:
    return " ".join(fold(text).split())


def is_outdated(finding: Finding, gone: Sequence[Gone]) -> bool:
    """Whether, after it was said, the lawyer deleted or replaced it, or what it would replace was put right."""
    if finding.replaces is not None and finding.replaces.created_at > finding.said.at:
        return True
    return any(said_by(finding.draft, memory) for memory in gone if memory.at > finding.said.at)


# --- keeping ------------------------------------------------------------------------------------------------


async def keep(backend: Backend, caller: Caller, passage: Passage, findings: Sequence[Finding]) -> Kept | None:
    """Save what was found and mark the passage as mined, both or neither.

    Args:
        backend: the running North.
        caller: the thread's lawyer, with origin `miner` and the thread, which wall and rules look at.
        passage: what was mined.
        findings: what was found in it; texts that cannot be stored are the finder's to leave out.

    Returns:
        What became of it; None when somebody else has mined the passage meanwhile, and nothing was written.

    Raises:
        InvalidInput: a draft cannot be stored; nothing was written.
        DatabaseBusy, DatabaseUnavailable: nothing was written.
    """
    done = await _keep_once(backend, caller, passage, findings)
    if done is None:
        return None
    kept, written = done
    backend.backlog.add(caller.organization_id, caller.user_id, [(each.id, each.content) for each in written])
    return kept


@retried
async def _keep_once(
    backend: Backend, caller: Caller, passage: Passage, findings: Sequence[Finding]
) -> tuple[Kept, list[Memory]] | None:
    async with backend.database.tenant(caller) as transaction:
        mark = {"thread_id": passage.thread_id, "before": passage.before, "through": passage.said[-1].id}
        if await transaction.first("mining.advance", **mark) is None:
            return None
        # Read anew: the lawyer may have deleted something while the model read.
        gone = [_gone(row) for row in await transaction.fetch("mining.gone", thread_id=passage.thread_id)]
        fresh = [finding for finding in findings if not is_outdated(finding, gone)]
        fates: Counter[str] = Counter()
        newer: dict[UUID, Memory] = {}
        drafts: list[Draft] = []
        for finding in fresh:
            fate = await update_in(transaction, backend, caller, finding, newer)
            fates[fate] += 1
            if fate == "new":
                drafts.append(checked(finding.draft))
        outcomes = await save_in(transaction, backend, caller, drafts) if drafts else []
    saved = [outcome.memory for outcome in outcomes if isinstance(outcome, Saved)]
    known = sum(isinstance(outcome, AlreadyKnown) for outcome in outcomes)
    refused = len(outcomes) - len(saved) - known
    kept = Kept(
        len(saved), fates["updated"], fates["known"] + known, fates["refused"] + refused, len(findings) - len(fresh)
    )
    return kept, [*saved, *newer.values()]


async def update_in(
    transaction: Transaction, backend: Backend, caller: Caller, finding: Finding, newer: dict[UUID, Memory]
) -> Literal["new", "updated", "known", "refused"]:
    """Supersede the memory that a finding names; `new` says that it is to be saved beside what there is.

    `newer` holds what was superseded in this transaction, so that a second correction goes on from the first. What was
    found in an import has a label, and its new version gets that and the time when it was said.
    """
    if finding.replaces is None:
        return "new"
    draft = checked(finding.draft)
    target = newer.get(finding.replaces.id, finding.replaces)
    speaking = replace(caller, message_id=finding.said.id)
    edit = partial(edit_in, confidence=draft.confidence, evidence=draft.evidence)
    if draft.source_label:
        edit = partial(edit, source_label=draft.source_label, captured_at=draft.captured_at)
    try:
        memory, changed = await edit(transaction, backend, speaking, target.id, draft.content, None)
    except MemoryDuplicate:
        return "known"
    except MemoryNotLive as error:
        return "new" if error.detail.get("current") else "known"
    except MemoryNotFound:
        return "new"
    except Refused:
        return "refused"
    if changed:
        newer[finding.replaces.id] = memory
    return "updated" if changed else "known"
