"""Finding the matter that a session is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastmcp.tools import ToolResult
from pydantic import Field

from north.mcp.auth import Desk
from north.mcp.shapes import MatterShape, MattersReply
from north.memory.fence import clean, reference
from north.memory.matters import list_matters

MOST = 20


@dataclass(frozen=True, slots=True)
class MatterTools:
    """The matters of the caller's firm."""

    desk: Desk

    async def find(
        self, query: Annotated[str, Field(description="Words of the number or the name; all must occur.")]
    ) -> ToolResult:
        """The firm's matters whose number or name holds each of the words."""
        caller = await self.desk.caller()
        found = await list_matters(self.desk.backend, caller, query, MOST)
        lines = [f"- {reference(matter)}: {clean(matter.name)}" for matter in found]
        text = "\n".join(lines) or "No matter of the firm matches. Try fewer words, or ask the lawyer for the number."
        return ToolResult(text, MattersReply(matters=[MatterShape.of(matter) for matter in found]))
