"""The MCP server: its tools, its resources and its prompt, whichever transport carries them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fastmcp import FastMCP
from fastmcp.server.auth import AuthProvider
from fastmcp.tools import Tool, ToolResult
from mcp_types import ToolAnnotations
from pydantic import BaseModel

from north import __version__
from north.documents.consulting import is_set_up
from north.mcp import instructions, shapes
from north.mcp.auth import CallerOf, Desk, bearer_caller
from north.mcp.briefing import Briefings, add_briefing
from north.mcp.failures import ArgumentsExplained, failing_well
from north.mcp.matter_tools import MatterTools
from north.mcp.memory_tools import MemoryTools
from north.mcp.netdocuments import DocumentReply, DocumentsReply, DocumentTools
from north.memory.backend import Backend

LIBRARIES = ("fastmcp", "mcp")


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """One tool as a host lists it; what is not said of it is the cautious truth: it writes, and takes no part of the
    world outside North."""

    name: str
    title: str
    description: str
    call: Callable[..., Awaitable[ToolResult]]
    reply: type[BaseModel]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False


def make_mcp(backend: Backend, caller_of: CallerOf = bearer_caller, auth: AuthProvider | None = None) -> FastMCP:
    """Build the server; nothing is opened yet.

    Args:
        backend: the running North.
        caller_of: finds out who makes the call that is being served; over HTTP, the request's verified token says it.
        auth: verifies the bearer tokens of HTTP requests; not needed where there are none.
    """
    _tame_logs()
    desk = Desk(backend, caller_of)
    server = FastMCP(
        name="North",
        instructions=instructions.SERVER,
        version=__version__,
        website_url=backend.settings.address,
        auth=auth,
        middleware=[ArgumentsExplained()],
        mask_error_details=True,
        strict_input_validation=False,
        tools=[make_tool(entry) for entry in (*_entries(desk), *_document_entries(desk))],
    )
    add_briefing(server, desk)
    return server


def _tame_logs() -> None:
    """Let the libraries' warnings go to North's own log, which shows no values; their debug lines hold memory text."""
    for name in LIBRARIES:
        logger = logging.getLogger(name)
        logger.setLevel(logging.WARNING)
        logger.handlers.clear()
        logger.propagate = True


def _entries(desk: Desk) -> list[ToolEntry]:
    memory, matters = MemoryTools(desk), MatterTools(desk)
    return [
        ToolEntry(
            "north__briefing",
            "Start a session with North's memory",
            instructions.BRIEFING,
            Briefings(desk).tool,
            shapes.BriefingReply,
            read_only=True,
        ),
        ToolEntry(
            "north__memory_recall",
            "Recall from North's memory",
            instructions.RECALL,
            memory.recall,
            shapes.RecallReply,
            read_only=True,
        ),
        ToolEntry(
            "north__memory_save",
            "Save to North's memory",
            instructions.SAVE,
            memory.save,
            shapes.SaveReply,
            idempotent=True,
        ),
        ToolEntry(
            "north__memory_update",
            "Update a memory in North",
            instructions.UPDATE,
            memory.update,
            shapes.UpdateReply,
        ),
        ToolEntry(
            "north__memory_forget",
            "Forget a memory in North",
            instructions.FORGET,
            memory.forget,
            shapes.ForgetReply,
            destructive=True,
        ),
        ToolEntry(
            "north__matter_find",
            "Find a matter",
            instructions.MATTER_FIND,
            matters.find,
            shapes.MattersReply,
            read_only=True,
        ),
    ]


def _document_entries(desk: Desk) -> list[ToolEntry]:
    """The tools of NetDocuments, where it is set up."""
    if not is_set_up(desk.backend):
        return []
    documents = DocumentTools(desk)
    return [
        ToolEntry(
            "north__nd_search",
            "Search NetDocuments",
            instructions.ND_SEARCH,
            documents.search,
            DocumentsReply,
            read_only=True,
        ),
        ToolEntry(
            "north__nd_read",
            "Read a document in NetDocuments",
            instructions.ND_READ,
            documents.read,
            DocumentReply,
            read_only=True,
        ),
    ]


def make_tool(entry: ToolEntry) -> Tool:
    """A tool as the library serves it; its failures are texts that a model can act on."""
    return Tool.from_function(
        failing_well(entry.call),
        name=entry.name,
        title=entry.title,
        description=entry.description,
        annotations=ToolAnnotations(
            title=entry.title,
            read_only_hint=entry.read_only,
            destructive_hint=entry.destructive,
            idempotent_hint=entry.read_only or entry.idempotent,
            open_world_hint=False,
        ),
        output_schema=entry.reply.model_json_schema(mode="serialization"),
    )
