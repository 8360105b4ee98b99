"""Every text that a model is given, written from one set of hostile fields by the functions that do so for models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from north.chat.instructions import instructions_for
from north.chat.tools import brief
from north.connectors.netdocuments_content import Content
from north.connectors.netdocuments_shapes import DocumentInfo
from north.documents.consulting import Document
from north.documents.wording import document_text, found_text
from north.errors import EditRefusedByRule, MemoryDuplicate, MemoryNotLive
from north.mcp.failures import advice
from north.mcp.shapes import MatterShape, MemoryShape
from north.memory import fence
from north.memory.rules import describe
from north.model import (
    Confidence,
    Matter,
    Memory,
    MemoryType,
    Origin,
    Person,
    Rule,
    Scope,
    Source,
    Status,
    Thread,
    new_id,
)

FIELDS = (
    *("personal", "second personal", "of the matter", "matter number", "matter name", "source label", "lawyer's name"),
    *("thread title", "document title", "document text", "hit's title", "hit's editor", "cabinet", "rule phrase"),
)
NOWHERE = ("source label", "lawyer's name", "thread title")
"""Fields that no model is given at all."""

Fences = dict[str, int]
MEMORY: Fences = {"user_memory": 2, "matter_memory": 1}
DOCUMENT: Fences = {"document": 0}
NOTHING: Fences = {}
WHEN = datetime(2026, 6, 14, 9, 30, tzinfo=UTC)


def prompts(texts: Mapping[str, str]) -> dict[str, tuple[str, Fences]]:
    """Each text that a model is given, by its place, and the fences that it is to have."""

    def said(field: str) -> str:
        return texts.get(field, f"An ordinary {field}.")

    matter = Matter(new_id(), said("matter number"), said("matter name"))
    first, second, ours = (
        _memory(said("personal"), said),
        _memory(said("second personal"), said),
        replace(_memory(said("of the matter"), said), scope=Scope.MATTER, matter=matter),
    )
    injected = fence.fence([first, second], [ours], matter.number)
    thread = Thread(new_id(), said("thread title"), matter, WHEN, WHEN)
    rule = Rule(new_id(), "never_remember", None, None, said("rule phrase"), "settings", None, WHEN)
    hit = DocumentInfo("1-2", said("hit's title"), None, "2", WHEN.date(), said("hit's editor"), said("cabinet"))
    document = Document(
        DocumentInfo("1-2", said("document title"), "txt"), Content(said("document text"), "text/plain")
    )
    return {
        "instructions": (instructions_for(thread, injected, WHEN), MEMORY),
        "briefing": (injected, MEMORY),
        "chat tools": (json.dumps([brief(each) for each in (first, second, ours)], ensure_ascii=False), NOTHING),
        "mcp shapes": ("".join(MemoryShape.of(each).model_dump_json() for each in (first, second, ours)), NOTHING),
        "mcp matter": (MatterShape.of(matter).model_dump_json(), NOTHING),
        "mcp refusal": (advice(EditRefusedByRule(rule=describe(rule), rule_id=rule.id)), NOTHING),
        "mcp not live": (advice(MemoryNotLive(current=first)), NOTHING),
        "mcp duplicate": (advice(MemoryDuplicate(current=ours)), NOTHING),
        "search": (found_text([hit, hit]), DOCUMENT),
        "document": (document_text(document), DOCUMENT),
    }


PLACES: dict[str, tuple[str, ...]] = {
    "personal": ("instructions", "briefing", "chat tools", "mcp shapes", "mcp not live"),
    "second personal": ("instructions", "briefing", "chat tools", "mcp shapes"),
    "of the matter": ("instructions", "briefing", "chat tools", "mcp shapes", "mcp duplicate"),
    "matter number": ("instructions",),
    "matter name": ("mcp matter",),
    "document title": ("document",),
    "document text": ("document",),
    "hit's title": ("search",),
    "hit's editor": ("search",),
    "cabinet": ("search",),
    "rule phrase": ("mcp refusal",),
}
"""Where a reader has to find what a field says."""


def _memory(content: str, said: object) -> Memory:
    assert callable(said)
    return Memory(
        id=new_id(),
        content=content,
        type=MemoryType.FACT,
        scope=Scope.USER_PRIVATE,
        matter=None,
        status=Status.ACTIVE,
        confidence=Confidence.HIGH,
        origin=Origin.CHAT,
        created_at=WHEN,
        captured_by=Person(new_id(), said("lawyer's name")),
        source=Source(None, None, said("source label"), yours=True),
    )
