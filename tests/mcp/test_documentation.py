"""The page for agent developers names every tool and every argument, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

from mcp_types import Tool

from north.mcp.server import make_mcp
from north.memory.backend import Backend

PAGE = Path(__file__).parents[2] / "docs" / "developers" / "mcp.md"
ON_SET_UP = {"north__nd_search", "north__nd_read"}


async def listed(backend: Backend) -> dict[str, Tool]:
    return {tool.name: tool.to_mcp_tool() for tool in await make_mcp(backend).list_tools()}


def documented() -> dict[str, str]:
    """The text under each tool's heading."""
    parts = re.split(r"^##+ ", PAGE.read_text(), flags=re.MULTILINE)
    headed = (part.partition("\n") for part in parts)
    return {heading.strip(): text for heading, _, text in headed if heading.startswith("north__")}


async def test_each_tool_has_its_heading_and_no_heading_is_left_over(backend: Backend) -> None:
    assert set(documented()) - ON_SET_UP == set(await listed(backend)) - ON_SET_UP


async def test_each_argument_and_each_part_of_the_reply_is_named(backend: Backend) -> None:
    for name, tool in (await listed(backend)).items():
        text = documented()[name]
        for argument in tool.input_schema["properties"]:
            assert f"`{argument}`" in text, f"{name} {argument}"
        replied = re.search(r"Returns `\{([^}]*)\}`", text)
        assert replied is not None and tool.output_schema is not None
        assert replied[1].split(", ") == list(tool.output_schema["properties"]), name
