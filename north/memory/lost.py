"""What a lawyer deleted, or replaced by something else, stays so: neither mining nor an import brings it back.

A statement that was said again afterwards is a new one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from north.db.connect import Row
from north.memory.terms import terms
from north.memory.text import content_key
from north.model import Draft, Memory, Scope

SAME_STATEMENT = 0.6
"""The share of its words from which a draft says what a deleted memory said."""
_OVERLAP = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Gone:
    """A memory that is no longer live, and since when; `deleted` or else replaced."""

    content: str
    content_key: bytes
    scope: Scope
    deleted: bool
    at: datetime


class Lost:
    """The lawyer's own memories that are no longer live, as far as they were looked up."""

    def __init__(self) -> None:
        self._seen: set[UUID] = set()
        self._by_key: defaultdict[bytes, list[Gone]] = defaultdict(list)
        self._by_term: defaultdict[str, list[int]] = defaultdict(list)
        self._deleted: list[Gone] = []
        self._latest: datetime | None = None

    @property
    def since(self) -> datetime | None:
        """From when on to look for more. Transactions end in another order than they begin, hence the overlap."""
        return self._latest - _OVERLAP if self._latest else None

    def add(self, rows: Sequence[Row]) -> None:
        """Add what was looked up."""
        for row in rows:
            if row["id"] not in self._seen:
                self._seen.add(row["id"])
                self._add(Gone(row["content"], row["content_key"], Scope(row["scope"]), row["deleted"], row["at"]))

    def _add(self, memory: Gone) -> None:
        self._latest = max(self._latest or memory.at, memory.at)
        self._by_key[memory.content_key].append(memory)
        if memory.deleted:
            for term in set(terms(memory.content)):
                self._by_term[term].append(len(self._deleted))
            self._deleted.append(memory)

    def fate(
        self, draft: Draft, at: datetime, replaces: Memory | None, *, reworded: bool
    ) -> Literal["deleted", "outdated"] | None:
        """Why something is not to be saved; None when nothing speaks against it.

        Args:
            draft: what is to be saved.
            at: when it was said.
            replaces: the live memory that it would replace, if any.
            reworded: whether its words are a finder's, so that most of a deleted memory's words mean the same.
        """
        if replaces is not None and replaces.created_at > at:
            return "outdated"
        lost = list(self._by_key.get(content_key(draft.content), ()))
        if reworded:
            lost += self._alike(draft)
        since = [memory for memory in lost if memory.at > at and said_by(draft, memory)]
        if any(memory.deleted for memory in since):
            return "deleted"
        return "outdated" if since else None

    def _alike(self, draft: Draft) -> Iterator[Gone]:
        """Deleted memories with enough of the draft's words to be compared closely."""
        words = set(terms(draft.content))
        shared = Counter(place for word in words for place in self._by_term.get(word, ()))
        return (self._deleted[place] for place, count in shared.items() if count >= SAME_STATEMENT * len(words))


def said_by(draft: Draft, memory: Gone) -> bool:
    """Whether a draft says what a lost memory said: in the same words, or, when it was deleted, in most of them."""
    if draft.scope is not memory.scope:
        return False
    if content_key(draft.content) == memory.content_key:
        return True
    if not memory.deleted:
        return False
    new, old = set(terms(draft.content)), set(terms(memory.content))
    return len(new & old) >= SAME_STATEMENT * len(new | old) and _numbers(new) == _numbers(old)


def _numbers(words: set[str]) -> set[str]:
    return {word for word in words if any(map(str.isdigit, word))}
