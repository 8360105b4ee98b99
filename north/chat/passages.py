"""A conversation or a remembered text from elsewhere → findings, as they land in the importing lawyer's own memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from north.chat.explicit import type_of
from north.chat.exports import Reader
from north.chat.history import storable
from north.chat.mining import Miner, find
from north.chat.offline.mining import corrects, findings_in, read_by_rules
from north.connectors.chat_history.shapes import Conversation, ExplicitMemory, Turn
from north.errors import ModelRejected
from north.memory.drafts import LABEL_LIMIT, checked
from north.memory.importing import turn_hash
from north.memory.mining import Finding, Passage, Said, first_turns, live_memories
from north.memory.text import content_key, visible
from north.memory.wall import source_name
from north.model import Caller, Draft, FailedConversation, Import, Scope, new_id

TITLE_LIMIT = 200
REASON_LIMIT = 300
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""The time of what has none: before anything that the lawyer has changed since."""
_REFUSES_WHO_ASKS = frozenset({401, 403, 404})
"""Statuses by which a provider refuses a key or a model, so that it would refuse every conversation."""


@dataclass(frozen=True, slots=True)
class Landing:
    """What is the same for all that is found in one item: its label, its time if known, and the import's."""

    label: str
    at: datetime | None
    now: datetime

    @staticmethod
    def of(item: Conversation | ExplicitMemory, into: Import) -> Landing:
        """The landing of an item of an import."""
        walled = item.walled if isinstance(item, Conversation) else ()
        consulted = "".join(f" · {source_name(source)}" for source in walled)
        label = (visible(item.label) or item.source)[: LABEL_LIMIT - len(consulted)].strip() + consulted
        return Landing(label, _not_ahead(item.at, into.created_at), into.created_at)

    def landed(self, finding: Finding, at: datetime | None) -> Finding:
        """A finding as it is saved: personal, with the label and the time of what was said. Raises InvalidInput.

        Without a time it replaces nothing, and counts as older than whatever the lawyer deleted.
        """
        draft = replace(
            finding.draft,
            scope=Scope.USER_PRIVATE,
            matter=None,
            source_label=self.label,
            captured_at=at,
            message_id=None,
        )
        own = finding.replaces if at and finding.replaces and finding.replaces.scope is Scope.USER_PRIVATE else None
        return Finding(checked(draft), replace(finding.said, at=at or LONG_AGO), own)


@dataclass(frozen=True, slots=True)
class _Transcript:
    """Turns as the miner reads them, and when each was said, as far as that is known."""

    said: tuple[Said, ...]
    times: tuple[datetime | None, ...]

    @staticmethod
    def of(turns: Sequence[Turn], landing: Landing) -> _Transcript:
        times: list[datetime | None] = []
        for turn in turns:
            times.append(_not_ahead(turn.at, landing.now) or (times[-1] if times else landing.at))
        said = (
            Said(new_id(), turn.role, storable(turn.text), at or landing.now)
            for turn, at in zip(turns, times, strict=True)
        )
        return _Transcript(tuple(said), tuple(times))

    def landed(self, findings: Sequence[Finding], landing: Landing) -> tuple[Finding, ...]:
        times = {said.id: at for said, at in zip(self.said, self.times, strict=True)}
        return tuple(landing.landed(finding, times[finding.said.id]) for finding in findings)


def _not_ahead(at: datetime | None, now: datetime) -> datetime | None:
    return min(at, now) if at else None


def _passage(said: tuple[Said, ...]) -> Passage:
    return Passage(thread_id=said[0].id, matter=None, before=None, said=said)


async def mine_by_model(
    miner: Miner, caller: Caller, landing: Landing, turns: Sequence[Turn]
) -> tuple[tuple[Finding, ...], int]:
    """Let the model read the first passage of some turns.

    Returns:
        What it found, and how many turns it has read.

    Raises:
        Unavailable: the model failed.
        InvalidInput: something that it found cannot be stored.
    """
    transcript = _Transcript.of(turns, landing)
    passage = _passage(first_turns(transcript.said, miner.window))
    if not passage.own:
        return (), len(passage.said)
    known = await live_memories(miner.backend, caller, passage)
    return transcript.landed(await find(miner, passage, known), landing), len(passage.said)


async def mine_by_rules(
    miner: Miner, caller: Caller, landing: Landing, turns: Sequence[Turn], reader: Reader, *, first: bool
) -> tuple[Finding, ...] | None:
    """Let the offline assistant's rules read all of some turns, in the reader's thread.

    What is known is looked up where a correction needs it alone. With None the turns are to be read again as the
    `first`, after everything before them was saved.

    Raises:
        InvalidInput: something that was found cannot be stored.
    """
    transcript = _Transcript.of(turns, landing)
    passages = _passages(transcript.said, miner.window)
    read = await reader.run(lambda: [(passage, read_by_rules(passage)) for passage in passages])
    found: list[Finding] = []
    for passage, statements in read:
        correcting = corrects(statements)
        if correcting and not first:
            return None
        known = await live_memories(miner.backend, caller, passage) if correcting else ()
        found += findings_in(passage, statements, known)
    return transcript.landed(found, landing)


def _passages(said: tuple[Said, ...], window: int) -> list[Passage]:
    passages = []
    while said:
        passages.append(_passage(first_turns(said, window)))
        said = said[len(passages[-1].said) :]
    return passages


def explicit_findings(memory: ExplicitMemory, wholes: Sequence[str], landing: Landing) -> tuple[Finding, ...]:
    """The statements of a provider's memory as findings. Raises InvalidInput."""
    said = Said(new_id(), "user", "", landing.at or LONG_AGO)
    drafts = (Draft(whole, type_of(whole, memory, landing.at or landing.now)) for whole in wholes)
    return tuple(landing.landed(Finding(draft, said), landing.at) for draft in drafts)


def statement_hash(statement: str) -> bytes:
    """What a statement is known by within its text."""
    return turn_hash(content_key(statement).hex())


def failed(title: str, reason: str) -> FailedConversation:
    """A conversation and why it failed, as a report names it."""
    return FailedConversation(
        visible(title)[:TITLE_LIMIT].strip() or "Untitled", visible(reason)[:REASON_LIMIT].strip() or "unknown"
    )


def is_rejected_alone(error: ModelRejected) -> bool:
    """Whether a provider refuses this one conversation, such as for its length, and would take another."""
    return error.detail.get("status") not in _REFUSES_WHO_ASKS
