"""The LoCoMo conversations as drafts to save and questions to ask.

LoCoMo (Maharana and others, 2024, "Evaluating Very Long-Term Conversational Memory of LLM Agents") has long chats of
two people over months, and questions with the turns that hold the answer as evidence. Categories: 1 several turns
together, 2 time, 3 with knowledge of the world, 4 a single turn; 5 cannot be answered and is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from north.model import Draft, MemoryType, Scope

CATEGORIES = {1: "several turns", 2: "time", 3: "world knowledge", 4: "one turn"}
_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


@dataclass(frozen=True, slots=True)
class Text:
    """What is saved as one memory: a turn, or a fact that was observed in some; their ids, and the session."""

    turns: frozenset[str]
    session: str
    said_at: datetime
    content: str

    def draft(self, matter: str) -> Draft:
        """As a memory of a matter."""
        return Draft(
            content=self.content,
            type=MemoryType.FACT,
            scope=Scope.MATTER,
            matter=matter,
            source_label=self.session,
            captured_at=self.said_at,
        )


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the ids of the turns that answer it."""

    text: str
    category: int
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A chat of two people as what is saved of it, and what is asked about it."""

    name: str
    texts: tuple[Text, ...]
    questions: tuple[Question, ...]


def read_conversations(path: Path) -> list[Conversation]:
    """The conversations of a LoCoMo file, turn by turn; questions whose evidence names none of them are left out."""
    return [_conversation(entry) for entry in json.loads(path.read_text(encoding="utf-8"))]


def read_observed(path: Path) -> list[Conversation]:
    """The same as the facts that were observed in them, as an assistant would save them, in the order of the turns.

    Questions are left out of whose evidence a turn stands behind no fact: nothing that is saved could answer them.
    """
    return [_observed(entry, _conversation(entry).questions) for entry in json.loads(path.read_text(encoding="utf-8"))]


def with_lone_texts(conversation: Conversation) -> Conversation:
    """The same, where every text of every other session is from a source of its own: it has no neighbours."""
    lone = set(list(dict.fromkeys(text.session for text in conversation.texts))[::2])
    texts = (
        replace(text, session=f"{text.session}, {number}") if text.session in lone else text
        for number, text in enumerate(conversation.texts)
    )
    return replace(conversation, texts=tuple(texts))


def _conversation(entry: dict[str, Any]) -> Conversation:
    texts = tuple(_turns(entry["conversation"]))
    known = _turns_behind(texts)
    questions = (
        Question(asked["question"], asked["category"], evidence)
        for asked in entry["qa"]
        if asked["category"] in CATEGORIES and (evidence := _evidence(asked.get("evidence", ())) & known)
    )
    return Conversation(entry["sample_id"], texts, tuple(questions))


def _numbered(conversation: dict[str, Any]) -> Iterator[tuple[int, datetime]]:
    """Its sessions' numbers, in order, each with the time at which it was held."""
    for number in sorted(int(match[1]) for key in conversation if (match := _SESSION.fullmatch(key))):
        yield number, _time(conversation[f"session_{number}_date_time"])


def _turns(conversation: dict[str, Any]) -> Iterator[Text]:
    for number, said_at in _numbered(conversation):
        for turn in conversation[f"session_{number}"]:
            yield Text(frozenset([turn["dia_id"]]), f"session {number}", said_at, _content(turn))


def _observed(entry: dict[str, Any], questions: Iterable[Question]) -> Conversation:
    conversation = entry["conversation"]
    texts: list[Text] = []
    for number, said_at in _numbered(conversation):
        by_speaker = entry["observation"].get(f"session_{number}_observation", {})
        facts = [
            Text(_evidence(ids), f"session {number}", said_at, content)
            for observed in by_speaker.values()
            for content, ids in observed
        ]
        texts += sorted((fact for fact in facts if fact.turns), key=lambda fact: min(map(_place, fact.turns)))
    known = _turns_behind(texts)
    return Conversation(entry["sample_id"], tuple(texts), tuple(each for each in questions if each.evidence <= known))


def _turns_behind(texts: Iterable[Text]) -> frozenset[str]:
    return frozenset[str]().union(*(text.turns for text in texts))


def _place(turn: str) -> int:
    """Where in its session a turn stands."""
    return int(turn.rpartition(":")[2])


def _content(turn: dict[str, Any]) -> str:
    """What was said, by whom, and what the picture shows that was sent with it."""
    picture = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return f"{turn['speaker']}: {turn['text']}{picture}"


def _time(text: str) -> datetime:
    """`1:56 pm on 8 May, 2023` as a time."""
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def _evidence(ids: str | Iterable[str]) -> frozenset[str]:
    """The turns that are named; some entries hold several ids, or one that is spelt `D:11:26` or `D30:05`."""
    texts = [ids] if isinstance(ids, str) else ids
    return frozenset(f"D{int(session)}:{int(turn)}" for text in texts for session, turn in _EVIDENCE.findall(text))


@dataclass(frozen=True, slots=True)
class Spoken:
    """A message as it was spoken."""

    id: str
    speaker: str
    text: str
    said_at: datetime


@dataclass(frozen=True, slots=True)
class Fact:
    """An observation about a speaker, and the ids of the turns that prove it."""

    text: str
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Session:
    """One session of a conversation, and the facts about its first speaker that it proves."""

    speaker: str
    turns: tuple[Spoken, ...]
    facts: tuple[Fact, ...]


def read_sessions(path: Path) -> list[Session]:
    """The sessions of a LoCoMo file with their observations about the first speaker."""
    return [session for entry in json.loads(path.read_text(encoding="utf-8")) for session in _sessions(entry)]


def _sessions(entry: dict[str, Any]) -> Iterator[Session]:
    conversation = entry["conversation"]
    speaker = conversation["speaker_a"]
    for number, said_at in _numbered(conversation):
        turns = tuple(
            Spoken(turn["dia_id"], turn["speaker"], turn["text"], said_at) for turn in conversation[f"session_{number}"]
        )
        known = {turn.id for turn in turns}
        observed = entry["observation"].get(f"session_{number}_observation", {}).get(speaker, ())
        facts = (Fact(text, _evidence(ids) & known) for text, ids in observed)
        yield Session(speaker, turns, tuple(fact for fact in facts if fact.evidence))
