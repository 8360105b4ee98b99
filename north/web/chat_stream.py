"""An answer while it is being written, as server-sent events for chat.js.

Each event's data is one JSON object. Text is rendered here, so that the browser shows the same HTML while
an answer streams in and when the page is loaded again, and nothing jumps at the end.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from north.chat.assistant import Assistant
from north.chat.events import (
    CaptureRefused,
    MemoryChanged,
    MemoryForgotten,
    MemorySaved,
    Recalling,
    TextDelta,
    TurnEvent,
    TurnFailed,
    TurnFinished,
)
from north.chat.paused import stream_turn
from north.chat.threads import title_of
from north.model import Caller, Message, Thread
from north.web.markdown import render_markdown, split_open_block, without_half_link
from north.web.pages import render_fragment

PARTS = "parts/notes.html"


async def stream_answer(
    assistant: Assistant, caller: Caller, thread_id: UUID, text: str, opened: Thread | None = None
) -> Response:
    """Answer a message as a stream; when the browser hangs up, the answer stops.

    Args:
        assistant: what answers.
        caller: the lawyer.
        thread_id: the conversation.
        text: what was typed.
        opened: the conversation, when this message opened it and the page does not show it yet.

    Raises:
        ThreadNotFound, InvalidInput: before anything is sent.
    """
    turn = stream_turn(assistant, caller, thread_id, text)
    first = await anext(turn)
    return EventSourceResponse(_sent(turn, first, thread_id, text, opened))


async def _sent(
    turn: AsyncGenerator[TurnEvent, None], first: TurnEvent, thread_id: UUID, text: str, opened: Thread | None
) -> AsyncIterator[ServerSentEvent]:
    writing = Writing(f"/chat/{thread_id}")
    if opened:
        yield _event("thread", _named(opened, title_of(text)))
    async with aclosing(turn):
        for name, data in _shown(first, writing):
            yield _event(name, data)
        async for event in turn:
            for name, data in _shown(event, writing):
                yield _event(name, data)


@dataclass(slots=True)
class Writing:
    """How far an answer has come: what the browser shows for good, and the block that still grows.

    `back` is the address of the conversation.
    """

    back: str
    settled: str = ""
    open: str = ""
    shown: int = 0

    def add(self, text: str) -> bool:
        """Take in a piece. Whether it is worth showing: a long block is not sent anew for every word."""
        self.open += text
        return len(self.open) - self.shown >= len(self.open) // 100

    def show(self) -> dict[str, str]:
        """What to append for good and what to show after it for now, as HTML."""
        done, self.open = split_open_block(self.open)
        self.shown = len(self.open)
        settled = render_markdown(done)
        self.settled += settled
        return {"settled": settled, "open": render_markdown(without_half_link(self.open))}

    @property
    def unshown(self) -> bool:
        """Whether a piece still waits to be shown."""
        return len(self.open) != self.shown

    def correction(self, message: Message) -> str | None:
        """The whole answer, if what the browser shows differs from it; None if it does not."""
        whole = str(render_markdown(message.content))
        shown = self.settled + render_markdown(without_half_link(self.open))
        return None if whole == shown else whole


def _shown(event: TurnEvent, writing: Writing) -> list[tuple[str, dict[str, Any]]]:
    """What the browser is told of an event; text that waited goes first."""
    if isinstance(event, TextDelta):
        return [("delta", writing.show())] if writing.add(event.text) else []
    waiting = [("delta", writing.show())] if writing.unshown else []
    return [*waiting, _told(event, writing)]


def _told(event: TurnEvent, writing: Writing) -> tuple[str, dict[str, Any]]:
    match event:
        case Recalling(memories):
            html = _part("recalled_note", memories, writing.back) if memories else ""
            return "recalled", {"html": html, "status": "North is thinking…"}
        case MemorySaved(memory):
            return "saved", {"html": _part("saved_note", memory, writing.back), "status": "Saved to memory."}
        case MemoryChanged(memory):
            return "changed", {"html": _part("saved_note", memory, writing.back), "status": "Updated in memory."}
        case MemoryForgotten(memory):
            return "forgotten", {
                "html": _part("forgotten_note", memory, writing.back),
                "status": "Deleted from memory.",
            }
        case CaptureRefused(reason):
            return "refused", {"html": _part("refused_note", reason), "status": reason}
        case TurnFinished(_, message, thread):
            return "done", {
                "answer": writing.correction(message),
                "notes": _part("notes", message, f"/chat/{thread.id}"),
                "place": f"thread-{thread.id}",
            }
        case TurnFailed(error):
            return "failed", {"reason": str(error)}
        case TextDelta():
            raise AssertionError("text is shown by Writing")


def _named(thread: Thread, title: str) -> dict[str, str]:
    named = replace(thread, title=title)
    return {
        "address": f"/chat/{thread.id}",
        "title": title,
        "head": render_fragment("parts/threads.html", "thread_head", named),
        "link": render_fragment("parts/threads.html", "thread_link", named, current=True),
    }


def _part(macro: str, *arguments: Any) -> str:
    return render_fragment(PARTS, macro, *arguments)


def _event(name: str, data: dict[str, Any]) -> ServerSentEvent:
    return ServerSentEvent(json.dumps(data), event=name)
