"""A conversation with the offline assistant: a real agent with the four memory tools over a small store."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage

from north.chat.offline import offline_model

Result = dict[str, Any]


@dataclass
class Store:
    """Memories by id, and the tools over them as the chat has them."""

    rows: dict[str, Result] = field(default_factory=dict)
    refusal: str | None = None
    calls: list[str] = field(default_factory=list)
    as_json: bool = False
    numbers: count[int] = field(default_factory=lambda: count(1))

    @property
    def contents(self) -> list[str]:
        return [row["content"] for row in self.rows.values()]

    def add(self, content: str, type: str = "fact", scope: str = "user_private") -> Result:
        row = {"id": f"m{next(self.numbers)}", "content": content, "type": type, "scope": scope, "date": "2026-11-30"}
        self.rows[row["id"]] = row
        return row

    def give(self, result: Result) -> Any:
        return json.dumps(result) if self.as_json else result

    def save_memory(self, content: str, type: str, scope: str = "user_private", confidence: str = "high") -> Any:
        self.calls.append("save")
        if self.refusal:
            return self.give({"outcome": "refused", "message": self.refusal})
        known = next((row for row in self.rows.values() if row["content"].lower() == content.lower()), None)
        if known:
            return self.give({"outcome": "already_known", "memory": known})
        return self.give({"outcome": "saved", "memory": self.add(content, type, scope), "similar": []})

    def update_memory(self, content: str, memory_id: str | None = None, about: str | None = None) -> Any:
        self.calls.append("update")
        old = self.rows.pop(memory_id or "", None)
        if old is None:
            return self.give({"outcome": "not_found", "message": "No memory says this yet."})
        return self.give({"outcome": "updated", "memory": self.add(content, old["type"], old["scope"])})

    def forget_memory(self, memory_id: str) -> Any:
        self.calls.append("forget")
        old = self.rows.pop(memory_id, None)
        return self.give({"outcome": "forgotten", "memory": old} if old else {"outcome": "not_found"})

    def recall_memory(self, query: str) -> Any:
        self.calls.append("recall")
        hits = [{**row, "score": 0.9} for row in self.rows.values()]
        return self.give({"personal": hits, "matter": []})

    def fence(self, scope: str) -> str:
        rows = [row for row in self.rows.values() if row["scope"] == scope]
        lines = [
            f"- [{row['id']}] ({row['type']}, {row['date']}) {html.escape(row['content'], quote=False)}" for row in rows
        ]
        return "\n".join(lines) or "(nothing yet)"


class Thread:
    """One conversation over a store; `injected` false hides the memory from the instructions."""

    def __init__(self, store: Store, matter: str | None = None, *, injected: bool = True) -> None:
        self.store, self.matter, self.injected = store, matter, injected
        tools: list[Callable[..., Any]] = [
            store.save_memory,
            store.update_memory,
            store.forget_memory,
            store.recall_memory,
        ]
        self.agent: Agent[None, str] = Agent(offline_model(), tools=tools)
        self.history: Sequence[ModelMessage] = []

    @property
    def instructions(self) -> str:
        on = f"on matter {self.matter}" if self.matter else "on no matter"
        text = f"You are North.\nThis conversation is {on}."
        if self.injected:
            text += f"\n\n<user_memory>\n{self.store.fence('user_private')}\n</user_memory>"
            if self.matter:
                matter = self.store.fence("matter")
                text += f'\n\n<matter_memory matter="{self.matter}">\n{matter}\n</matter_memory>'
        return text

    async def say(self, text: str) -> str:
        result = await self.agent.run(text, message_history=self.history, instructions=self.instructions)
        self.history = result.all_messages()
        return result.output
