"""What a session starts with: the fenced memory and a session handle, as a tool, a resource and a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastmcp import FastMCP
from fastmcp.exceptions import FastMCPError, PromptError, ResourceError
from fastmcp.tools import ToolResult
from pydantic import Field

from north.mcp.auth import Desk
from north.mcp.failures import advice, expected
from north.mcp.instructions import BRIEFING
from north.mcp.memory_tools import MatterArgument
from north.mcp.shapes import BriefingReply
from north.memory.fence import clean
from north.memory.recall import briefing
from north.memory.wall import mint_session

URI = "north://briefing"
QUIET = 0
"""The library logs a failure at the level that the failure carries; North has logged it already, or need not."""


@dataclass(frozen=True, slots=True)
class Briefings:
    """The briefing of whoever calls."""

    desk: Desk

    async def tool(self, matter: MatterArgument = None) -> ToolResult:
        """The briefing as a tool's result."""
        reply = await self._make(matter)
        return ToolResult(_readable(reply), reply)

    async def resource(self) -> str:
        """The briefing without a matter, as a resource."""
        return await self._text(None, ResourceError)

    async def resource_of_matter(self, matter: str) -> str:
        """The briefing on a matter, as a resource."""
        return await self._text(matter, ResourceError)

    async def prompt(
        self, matter: Annotated[str | None, Field(description="The matter's number or id.")] = None
    ) -> str:
        """The briefing as a prompt's text."""
        return await self._text(matter, PromptError)

    async def _text(self, matter: str | None, failure: type[FastMCPError]) -> str:
        try:
            return _readable(await self._make(matter))
        except Exception as error:
            raise failure(advice(expected(error, "briefing")), log_level=QUIET) from None

    async def _make(self, matter: str | None) -> BriefingReply:
        caller = await self.desk.caller()
        injection = await briefing(self.desk.backend, caller, matter or None)
        session = mint_session(self.desk.backend, caller)
        number = None if injection.matter_number is None else clean(injection.matter_number)
        return BriefingReply(session=session, matter=number, text=injection.text)


def _readable(reply: BriefingReply) -> str:
    return f"{reply.text}\n\nSession handle, to pass as `session` to every later North tool: {reply.session}"


def add_briefing(server: FastMCP, desk: Desk) -> None:
    """Add the briefing's resource, its template and its prompt; the tool is listed with the other tools."""
    briefings = Briefings(desk)
    server.resource(URI, name="briefing", title="Briefing", description=BRIEFING, mime_type="text/plain")(
        briefings.resource
    )
    server.resource(
        f"{URI}/{{matter}}",
        name="matter_briefing",
        title="Briefing on a matter",
        description=BRIEFING,
        mime_type="text/plain",
    )(briefings.resource_of_matter)
    server.prompt(name="briefing", title="Briefing", description=BRIEFING)(briefings.prompt)
