"""The four memory tools of the chat. Firm, lawyer, thread and matter are bound outside the model's reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from pydantic_ai import RunContext, Tool
from pydantic_ai.tools import ToolDefinition

from north.chat.events import CaptureRefused, MemoryChanged, MemoryForgotten, MemorySaved, TurnEvent
from north.errors import Conflict, InvalidInput, MemoryNotFound, MemoryNotLive, NorthError, Refused
from north.memory.backend import Backend
from north.memory.edit import archive, edit
from north.memory.fence import clean, content_of
from north.memory.matcher import match
from north.memory.matters import id_in
from north.memory.recall import recall
from north.memory.rules import describe
from north.memory.save import save
from north.model import (
    AlreadyKnown,
    Caller,
    Confidence,
    Draft,
    Memory,
    MemoryType,
    Recalled,
    RefusedByRule,
    RefusedByWall,
    Saved,
    Scope,
    Thread,
)

Answer = dict[str, Any]
"""What a tool tells the model: an `outcome`, and a `message` when there is something to do or to say."""


@dataclass(slots=True)
class Turn:
    """One turn under way: what the tools act on, and what they have done."""

    backend: Backend
    caller: Caller
    thread: Thread
    emit: Callable[[TurnEvent], None]
    saved: list[Memory] = field(default_factory=list)
    recalled: list[Memory] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    forgotten: list[Memory] = field(default_factory=list)

    @property
    def matter(self) -> str | None:
        """The number of the thread's matter."""
        return self.thread.matter.number if self.thread.matter else None

    def refuse(self, reason: str) -> Answer:
        """Note a refusal, and tell the model to tell the lawyer."""
        self.refused.append(reason)
        self.emit(CaptureRefused(reason))
        return {"outcome": "refused", "message": f"{clean(reason)} Tell the lawyer in one sentence; do not try again."}


async def save_memory(
    run: RunContext[Turn],
    content: str,
    type: MemoryType,
    scope: Literal["user_private", "matter"] = "user_private",
    confidence: Confidence = Confidence.HIGH,
) -> Answer:
    """Remember something for later conversations. It is live at once, and the lawyer can edit or delete it.

    Args:
        run: the turn.
        content: one or two sentences that stand alone, at most 2,000 characters.
        type: what kind of statement it is.
        scope: `user_private` for this lawyer, `matter` for everybody on the matter of this conversation.
        confidence: how sure you are that the lawyer meant it so.
    """
    turn = run.deps
    if scope == "matter" and turn.matter is None:
        return {"outcome": "invalid", "message": "This conversation is on no matter. Save it with scope user_private."}
    draft = Draft(content, type, Scope(scope), turn.matter if scope == "matter" else None, confidence)
    try:
        (outcome,) = await save(turn.backend, turn.caller, [draft])
    except InvalidInput as error:
        return {"outcome": "invalid", "message": str(error)}
    match outcome:
        case Saved(memory, similar):
            turn.saved.append(memory)
            turn.emit(MemorySaved(memory))
            return {"outcome": "saved", "memory": brief(memory), "similar": [brief(each) for each in similar]}
        case AlreadyKnown(memory, similar):
            attempted = memory.source is not None and memory.source.message_id == turn.caller.message_id
            if attempted and memory.id not in {each.id for each in turn.saved}:
                turn.saved.append(memory)  # by an attempt at this answer that failed later
            return {"outcome": "already_known", "memory": brief(memory), "similar": [brief(each) for each in similar]}
        case RefusedByRule(rule):
            return turn.refuse(f"Not saved: your rule “{describe(rule)}” forbids it.")
        case RefusedByWall(source):
            return turn.refuse(
                f"Not saved for the matter: this conversation has read from {source} and may only save personal memory."
            )


async def update_memory(
    run: RunContext[Turn], content: str, memory_id: str | None = None, about: str | None = None
) -> Answer:
    """Put a remembered statement right; the new text replaces the old one at once.

    Args:
        run: the turn.
        content: the whole new text.
        memory_id: the id of the memory, when you know it.
        about: otherwise, what the memory says, in a few words.
    """
    turn = run.deps
    found = id_in(memory_id) if memory_id else None
    if found is None:
        meant = await match(turn.backend, turn.caller, about or content, turn.matter)
        if meant.candidates:
            return {
                "outcome": "ambiguous",
                "candidates": [brief(each) for each in meant.candidates],
                "message": "Several memories could be meant and nothing was changed. Call again with a memory_id.",
            }
        if meant.memory is None:
            return {"outcome": "not_found", "message": "No memory says this yet. Save it with save_memory."}
        found = meant.memory.id
    try:
        changed = await edit(turn.backend, turn.caller, found, content)
    except (MemoryNotFound, Conflict, InvalidInput, Refused) as error:
        return _not_changed(turn, error)
    turn.saved.append(changed)
    turn.emit(MemoryChanged(changed))
    return {"outcome": "updated", "memory": brief(changed)}


async def forget_memory(run: RunContext[Turn], memory_id: str) -> Answer:
    """Delete a memory. The lawyer can bring it back in Settings.

    Args:
        run: the turn.
        memory_id: the id of the memory.
    """
    turn = run.deps
    try:
        memory = await archive(turn.backend, turn.caller, id_in(memory_id) or UUID(int=0))
    except (MemoryNotFound, MemoryNotLive) as error:
        return _not_changed(turn, error)
    turn.forgotten.append(memory)
    turn.emit(MemoryForgotten(memory))
    return {"outcome": "forgotten", "memory": brief(memory)}


async def recall_memory(run: RunContext[Turn], query: str) -> Answer:
    """Search what is remembered about the lawyer and about the matter of this conversation.

    Args:
        run: the turn.
        query: what you want to know, in words.
    """
    turn = run.deps
    try:
        found = await recall(turn.backend, turn.caller, query, turn.matter)
    except InvalidInput as error:
        return {"outcome": "invalid", "message": str(error), "personal": [], "matter": []}
    known = {memory.id for memory in turn.recalled}
    turn.recalled.extend(memory for memory in found.memories if memory.id not in known)
    return {"personal": [_hit(hit) for hit in found.personal], "matter": [_hit(hit) for hit in found.matter]}


async def _where_memory_is_kept(run: RunContext[Turn], tool: ToolDefinition) -> ToolDefinition | None:
    """What writes memory is not offered in an incognito conversation."""
    return None if run.deps.thread.incognito else tool


TOOLS = (
    Tool[Turn](save_memory, prepare=_where_memory_is_kept),
    Tool[Turn](update_memory, prepare=_where_memory_is_kept),
    Tool[Turn](forget_memory),
    Tool[Turn](recall_memory),
)


def _not_changed(turn: Turn, error: NorthError) -> Answer:
    if isinstance(error, Refused):
        return turn.refuse(str(error))
    current = error.detail.get("current")
    outcome = "not_found" if isinstance(error, MemoryNotFound) else "invalid"
    return {"outcome": outcome, "message": str(error), "current": brief(current) if current else None}


def brief(memory: Memory) -> Answer:
    """A memory as a model needs it; its text stands as in the fence."""
    return {
        "id": str(memory.id),
        "content": content_of(memory),
        "type": memory.type.value,
        "scope": memory.scope.value,
        "date": f"{memory.created_at:%Y-%m-%d}",
    }


def _hit(hit: Recalled) -> Answer:
    return {**brief(hit.memory), "score": round(hit.score, 3)}
