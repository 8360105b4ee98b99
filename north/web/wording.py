"""How scopes, types, origins and times read on a page."""

from __future__ import annotations

from datetime import UTC, datetime

from north.model import Memory, MemoryType, Message, Origin, Scope, Thread

TYPE_WORDS = {
    MemoryType.IDENTITY: "Identity",
    MemoryType.PREFERENCE: "Preference",
    MemoryType.INSTRUCTION: "Instruction",
    MemoryType.PLAYBOOK_RULE: "Playbook rule",
    MemoryType.FACT: "Fact",
    MemoryType.DECISION: "Decision",
    MemoryType.DEADLINE: "Deadline",
    MemoryType.PARTY: "Party",
    MemoryType.REFERENCE: "Reference",
}

TYPES_IN_A_RULE = {each: f"any {each.value.replace('_', ' ')}" for each in MemoryType}

SCOPES_IN_A_RULE = {
    Scope.USER_PRIVATE: "personal memory",
    Scope.MATTER: "matter memory",
    Scope.FIRM_GLOBAL: "firm memory",
}

ORIGIN_WORDS = {
    Origin.CHAT: "Chat",
    Origin.MCP: "Connected assistant",
    Origin.API: "API",
    Origin.SETTINGS: "Written by hand",
    Origin.MINER: "Noticed in a chat",
    Origin.IMPORT: "Import",
}

UNANSWERED = {
    "model_unavailable": "The model could not be reached, so this message has no answer.",
    "model_too_slow": "The model did not answer in time, so this message has no answer.",
    "model_over_limit": "The model was over its rate limit, so this message has no answer.",
    "model_rejected": "The model refused the request, so this message has no answer.",
}

EXPORT_FORMATS = {"json": "JSON", "csv": "CSV", "markdown": "Markdown"}

SHARED = "shared with the firm"


def scope_in_words(memory: Memory) -> str:
    """Whom a memory belongs to; anything that colleagues see says so."""
    if memory.scope == Scope.MATTER and memory.matter is not None:
        return f"Matter {memory.matter.number} · {SHARED}"
    if memory.scope == Scope.FIRM_GLOBAL:
        return f"Firm · {SHARED}"
    return "Personal"


def matter_of_thread(thread: Thread | None) -> str:
    """The matter of a conversation, as its header shows it at all times."""
    if thread is None or thread.matter is None:
        return "No matter · personal"
    return f"Matter {thread.matter.number} · {thread.matter.name}"


def unanswered_in_words(message: Message) -> str:
    """Why a message stands there without an answer."""
    return UNANSWERED.get(message.error_code or "", "This message has no answer yet.")


def origin_in_words(memory: Memory) -> str:
    """Where a memory came from, for a row that has no thread of the reader's own to link to."""
    label = memory.source.label if memory.source else None
    yours = memory.source is None or memory.source.yours
    if memory.origin in (Origin.CHAT, Origin.MINER) and not yours:
        return "from a colleague’s conversation"
    if memory.origin in (Origin.CHAT, Origin.MINER) and memory.source is not None and label is None:
        return "from a conversation that you deleted"
    if memory.origin == Origin.MCP and label:
        return f"from {label}"
    named = f" “{label}”" if label else ""
    places = {
        Origin.SETTINGS: "written by hand",
        Origin.CHAT: f"from a conversation{named}",
        Origin.MINER: f"noticed in a conversation{named}",
        Origin.MCP: "from a connected assistant",
        Origin.API: f"from the API{named}",
        Origin.IMPORT: f"from an import{named}",
    }
    return places[memory.origin]


def uses_in_words(memory: Memory, now: datetime | None = None) -> str:
    """How often an answer used a memory, and when last. Firm memory is listed but never used."""
    if memory.scope == Scope.FIRM_GLOBAL:
        return "listed only, not used in answers"
    if memory.uses == 0:
        return "not used yet"
    times = {1: "once", 2: "twice"}.get(memory.uses, f"{memory.uses} times")
    last = f", last {short_date(memory.last_used_at, now)}" if memory.last_used_at else ""
    return f"used {times}{last}"


def short_date(moment: datetime, now: datetime | None = None) -> str:
    """The day, without the year when it is this one: "2 Dec" or "2 Dec 2024"."""
    now = now or datetime.now(UTC)
    day = f"{moment.day} {moment:%b}"
    return day if moment.year == now.year else f"{day} {moment.year}"


def relative_time(moment: datetime, now: datetime | None = None) -> str:
    """How long ago something happened, in words up to a week and as a date after that."""
    now = now or datetime.now(UTC)
    seconds = (now - moment).total_seconds()
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return _ago(int(seconds // 60), "minute")
    if seconds < 86400:
        return _ago(int(seconds // 3600), "hour")
    days = int(seconds // 86400)
    if days < 7:
        return "yesterday" if days == 1 else f"{days} days ago"
    return short_date(moment, now)


def exact_time(moment: datetime) -> str:
    """The moment in full, in UTC: "2 December 2026, 09:05 UTC"."""
    moment = moment.astimezone(UTC)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def _ago(count: int, unit: str) -> str:
    return f"{count} {unit} ago" if count == 1 else f"{count} {unit}s ago"
