"""What the official conformance suite expects a server to offer, added to North's own server object.

The suite proves a server by calling tools, resources and prompts with fixed names. They stand here and nowhere in the
product: a North that people use has none of them.
"""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Annotated

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.tools import ToolResult
from mcp_types import (
    AudioContent,
    Completion,
    EmbeddedResource,
    ImageContent,
    PromptListChangedNotification,
    TextContent,
    TextResourceContents,
    ToolListChangedNotification,
)
from pydantic import Field

Region = Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]
PAUSE_SECONDS = 0.05
RED_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"  # 1x1 PNG
SILENCE = base64.b64encode(
    b"RIFF\x26\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00"
    b"data\x02\x00\x00\x00\x00\x00"
).decode()  # one 16-bit sample at 8 kHz


def text(content: str) -> TextContent:
    """A block of text."""
    return TextContent(type="text", text=content)


def image() -> ImageContent:
    """A block with one red pixel."""
    return ImageContent(type="image", data=RED_PIXEL, mime_type="image/png")


def embedded(uri: str, content: str, mime_type: str = "text/plain") -> EmbeddedResource:
    """A block with a resource of text."""
    resource = TextResourceContents(uri=uri, mime_type=mime_type, text=content)
    return EmbeddedResource(type="resource", resource=resource)


def add_tools(server: FastMCP) -> None:
    """Tools that answer with each kind of content, and that report while they run."""

    @server.tool
    async def test_simple_text() -> ToolResult:
        """Answers with text."""
        return ToolResult(content=[text("This is a simple text response for testing.")])

    @server.tool
    async def test_image_content() -> ToolResult:
        """Answers with an image."""
        return ToolResult(content=[image()])

    @server.tool
    async def test_audio_content() -> ToolResult:
        """Answers with a sound."""
        return ToolResult(content=[AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")])

    @server.tool
    async def test_embedded_resource() -> ToolResult:
        """Answers with a resource."""
        return ToolResult(content=[embedded("test://embedded-resource", "This is an embedded resource content.")])

    @server.tool
    async def test_multiple_content_types() -> ToolResult:
        """Answers with several kinds of content."""
        data = embedded("test://mixed-content-resource", '{"test": "data", "value": 123}', "application/json")
        return ToolResult(content=[text("Multiple content types test:"), image(), data])

    @server.tool
    async def test_mirrored_header(region: Region) -> ToolResult:
        """Takes an argument that a host sends in a header too (2026-07-28)."""
        return ToolResult(content=[text(f"The region is {region}.")])

    @server.tool
    async def test_error_handling() -> ToolResult:
        """Always fails."""
        raise ToolError("This tool intentionally returns an error for testing")

    @server.tool
    async def test_tool_with_progress(context: Context) -> ToolResult:
        """Reports how far it is."""
        for progress in (0, 50, 100):
            await context.report_progress(progress, 100)
            await asyncio.sleep(PAUSE_SECONDS)
        return ToolResult(content=[text("The work is done.")])

    @server.tool
    async def test_tool_with_logging(context: Context) -> ToolResult:
        """Logs to the client while it runs."""
        for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await context.info(message)
            await asyncio.sleep(PAUSE_SECONDS)
        return ToolResult(content=[text("The work is logged.")])

    @server.tool
    async def test_logging_tool(context: Context) -> ToolResult:
        """Logs to a client that asked for it."""
        await context.info("A line of the log")
        return ToolResult(content=[text("The work is logged.")])

    @server.tool
    async def test_trigger_tool_change(context: Context) -> ToolResult:
        """Says that the list of tools has changed."""
        await context.send_notification(ToolListChangedNotification())
        return ToolResult(content=[text("The tools have changed.")])

    @server.tool
    async def test_trigger_prompt_change(context: Context) -> ToolResult:
        """Says that the list of prompts has changed."""
        await context.send_notification(PromptListChangedNotification())
        return ToolResult(content=[text("The prompts have changed.")])


def add_resources(server: FastMCP) -> None:
    """Resources of text, of bytes, and of a template."""

    @server.resource("test://static-text", mime_type="text/plain")
    async def static_text() -> str:
        """Some text."""
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    async def static_binary() -> bytes:
        """Some bytes."""
        return base64.b64decode(RED_PIXEL)

    @server.resource("test://watched-resource", mime_type="text/plain")
    async def watched_resource() -> str:
        """A resource to subscribe to."""
        return "This resource can be watched."

    @server.resource("test://template/{id}/data", mime_type="application/json")
    async def template_data(id: str) -> str:
        """Data with an id in it."""
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def add_completion(server: FastMCP) -> None:
    """Completion of the prompts' arguments; there is nothing to propose."""

    @server.completion
    def complete(reference: object, argument: object, context: object) -> Completion:
        return Completion(values=[], total=0, has_more=False)
