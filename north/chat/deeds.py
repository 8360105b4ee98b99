"""What is to become of the items of an export: imported, left out and why, or failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from north.chat.explicit import statements, text_of
from north.chat.exports import Reader
from north.chat.mining import Miner
from north.chat.passages import (
    Landing,
    explicit_findings,
    failed,
    is_rejected_alone,
    mine_by_model,
    mine_by_rules,
    statement_hash,
)
from north.connectors.chat_history.shapes import Broken, Conversation, ExplicitMemory, Item, Skipped, Turn
from north.errors import InvalidInput, ModelConfused, ModelRejected
from north.memory.import_report import Deed, Failure, Fates, Key, Read, Skip
from north.memory.importing import ReadBefore, Run, item_key, read_before, turn_hash
from north.memory.mining import Finding

STATEMENTS_AT_ONCE = 100
FINDINGS_AT_ONCE = 100
"""So much is saved in one transaction, about."""
REPEATS_KNOWN = 100_000
"""So many explicit memories are known by heart; of those beyond, repetitions are counted as skipped."""
NONSENSE = "The model gave an answer that cannot be used, twice. Import the file again to try it once more."
REFUSED = "The model does not take it. It may be too long."

Found = tuple[tuple[Finding, ...], int]
"""What was found in the first turns of a conversation, and how many of them were read."""


@dataclass(slots=True)
class Deciding:
    """What one run decides by.

    `attended` waits for the model; `earlier` is what became of the parts before of the item that comes first.
    """

    miner: Miner
    run: Run
    reader: Reader
    attended: Callable[[Awaitable[Found]], Awaitable[Found]]
    earlier: Fates = field(default_factory=Counter)
    _repeats: set[int] = field(default_factory=set)
    _split: tuple[ExplicitMemory, list[str]] | None = None

    async def deeds(self, items: Sequence[Item]) -> list[Deed]:
        """What is to become of the first items, of as many as can be saved together.

        One that depends on what is saved of those before it waits for the next time; a model's answer stands alone.
        """
        keys = [_key(item) for item in items if isinstance(item, ExplicitMemory | Conversation)]
        before = await read_before(self.run, keys)
        deeds: list[Deed] = []
        repeats: set[int] = set()
        findings = 0
        for item in items:
            deed = await self._deed(item, before, repeats, first=not deeds)
            if deed is None:
                break
            deeds.append(deed)
            if isinstance(deed, Read):
                _note_read(before[deed.key], deed)
                findings += len(deed.findings)
                if not deed.ends or findings >= FINDINGS_AT_ONCE or (deed.mined and self.miner.agent):
                    break
        return deeds

    def know(self, items: Sequence[Item]) -> None:
        """Remember which explicit memories are dealt with."""
        for item in items:
            if isinstance(item, ExplicitMemory) and len(self._repeats) < REPEATS_KNOWN:
                self._repeats.add(_number(item))

    async def _deed(self, item: Item, before: dict[Key, ReadBefore], repeats: set[int], *, first: bool) -> Deed | None:
        match item:
            case Skipped():
                return Skip(item.reason)
            case Broken():
                return Failure(failed(item.title, item.reason))
            case ExplicitMemory():
                number = _number(item)
                if number in self._repeats or number in repeats:
                    return Skip("repeated", counted=False)
                repeats.add(number)
                return await self._explicit(item, before[_key(item)], first=first)
            case Conversation():
                return await self._conversation(item, before[_key(item)], first=first)

    async def _explicit(self, item: ExplicitMemory, before: ReadBefore, *, first: bool) -> Deed:
        if self._split is None or self._split[0] is not item:
            self._split = item, await self.reader.run(statements, text_of(item))
        every = {statement_hash(statement): statement for statement in self._split[1]}
        unread = {key: statement for key, statement in every.items() if key not in before.turns}
        if not unread:
            return Skip(_why_nothing(before) if every else "empty")
        chosen = dict(list(unread.items())[:STATEMENTS_AT_ONCE])
        landing = Landing.of(item, self.run.current)
        try:
            findings = await self.reader.run(explicit_findings, item, list(chosen.values()), landing)
        except InvalidInput as error:
            return Failure(failed(item.label, str(error)))
        # What an earlier run has read of it brought something, else that could not be told any more.
        earlier = (self.earlier if first else None) or Counter(saved=int(before.by_this))
        ends = len(chosen) == len(unread)
        return Read(_key(item), before.parts, frozenset(chosen), findings, mined=False, ends=ends, earlier=earlier)

    async def _conversation(self, item: Conversation, before: ReadBefore, *, first: bool) -> Deed | None:
        said = [turn for turn in item.turns if turn.text.strip()]
        unread = [turn for turn in said if turn_hash(turn.key) not in before.turns]
        if not _has_own_words(unread):
            return Skip(_why_nothing(before) if _has_own_words(said) else "empty")
        try:
            found = await self._mine(item, unread, first=first)
        except InvalidInput as error:
            return Failure(failed(item.title, str(error)))
        except ModelConfused:
            return Failure(failed(item.title, NONSENSE))
        except ModelRejected as error:
            if not is_rejected_alone(error):
                raise
            return Failure(failed(item.title, REFUSED))
        if found is None:
            return None
        findings, count = found
        ends = not _has_own_words(unread[count:])
        turns = frozenset(turn_hash(turn.key) for turn in (unread if ends else unread[:count]))
        return Read(_key(item), before.parts, turns, findings, mined=True, ends=ends)

    async def _mine(self, item: Conversation, unread: Sequence[Turn], *, first: bool) -> Found | None:
        landing = Landing.of(item, self.run.current)
        if self.miner.agent is None:
            found = await mine_by_rules(self.miner, self.run.caller, landing, unread, self.reader, first=first)
            return None if found is None else (found, len(unread))
        return await self.attended(mine_by_model(self.miner, self.run.caller, landing, unread)) if first else None


def _key(item: ExplicitMemory | Conversation) -> Key:
    return item_key(item.source, type(item).__name__, item.key)


def _number(item: ExplicitMemory) -> int:
    return int.from_bytes(_key(item)[1][:8])


def _note_read(before: ReadBefore, read: Read) -> None:
    """As the database will have it, for what the same group has of the same conversation again."""
    before.turns |= read.turns
    before.by_this = True
    before.parts += 1


def _why_nothing(before: ReadBefore) -> str:
    return "repeated" if before.by_this else "already_imported"


def _has_own_words(turns: Sequence[Turn]) -> bool:
    return any(turn.role == "user" for turn in turns)
