"""What a host is shown before it calls anything: the same every time, within what every host can take."""

from __future__ import annotations

import pytest
from mcp import Client
from mcp_types import Tool

from tests.conftest import FirmOfTest
from tests.mcp.conftest import LEGACY, MODERN, Host

READ_ONLY = (True, False, True)
TABLE = {
    "north__briefing": (["matter"], [], READ_ONLY),
    "north__memory_recall": (["query", "matter", "limit", "session"], ["query"], READ_ONLY),
    "north__memory_save": (
        ["content", "type", "scope", "matter", "confidence", "session"],
        ["content", "type"],
        (False, False, True),
    ),
    "north__memory_update": (
        ["content", "memory_id", "about", "matter", "session"],
        ["content"],
        (False, False, False),
    ),
    "north__memory_forget": (["memory_id", "session"], ["memory_id"], (False, True, False)),
    "north__matter_find": (["query"], ["query"], READ_ONLY),
}
"""Arguments, which of them are required, and whether it is read-only, destructive, idempotent."""

LONGEST_PREFIX = "mcp__claude_ai_North__"
TEXT_LIMIT = 2048
IDENTITY = {"organization_id", "organization", "tenant", "firm", "user_id", "user", "lawyer", "email", "client"}


async def tools_of(client: Client) -> dict[str, Tool]:
    return {tool.name: tool for tool in (await client.list_tools()).tools}


@pytest.fixture
async def tools(ana: Client) -> dict[str, Tool]:
    return await tools_of(ana)


@pytest.mark.parametrize(("mode", "version"), [(MODERN, "2026-07-28"), (LEGACY, "2025-11-25")])
async def test_both_protocol_eras_are_shown_the_same_tools(
    host: Host, firm: FirmOfTest, mode: str, version: str
) -> None:
    client = await host(firm.a, mode)
    assert client.protocol_version == version
    assert client.server_info is not None and client.server_info.name == "North"
    assert list(await tools_of(client)) == list(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_a_tool_has_the_arguments_and_the_hints_of_the_contract(tools: dict[str, Tool], name: str) -> None:
    arguments, required, (read_only, destructive, idempotent) = TABLE[name]
    tool = tools[name]
    assert list(tool.input_schema["properties"]) == arguments
    assert tool.input_schema.get("required", []) == required
    hints = tool.annotations
    assert hints is not None
    assert (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint) == (read_only, destructive, idempotent)
    assert hints.open_world_hint is False
    assert tool.title and tool.title == hints.title


@pytest.mark.parametrize("name", TABLE)
def test_a_tool_fits_every_host(tools: dict[str, Tool], name: str) -> None:
    tool = tools[name]
    assert len(LONGEST_PREFIX + name) <= 64
    assert tool.description and len(tool.description.encode()) < TEXT_LIMIT
    assert tool.output_schema is not None and tool.output_schema["type"] == "object"
    assert "$ref" not in str(tool.input_schema) + str(tool.output_schema)


def test_defaults_are_those_of_the_contract(tools: dict[str, Tool]) -> None:
    save = tools["north__memory_save"].input_schema["properties"]
    assert (save["scope"]["default"], save["confidence"]["default"]) == ("user_private", "high")
    assert tools["north__memory_recall"].input_schema["properties"]["limit"]["default"] == 12


def test_no_argument_names_a_firm_or_a_person(tools: dict[str, Tool]) -> None:
    for tool in tools.values():
        assert IDENTITY.isdisjoint(tool.input_schema["properties"])
        assert tool.input_schema["additionalProperties"] is False


def test_the_descriptions_say_when_to_recall_and_that_a_save_is_live(tools: dict[str, Tool]) -> None:
    assert "before answering a question about a matter" in (tools["north__memory_recall"].description or "")
    save = tools["north__memory_save"].description or ""
    assert "live at once" in save and "edit or delete it in North" in save


async def test_the_instructions_carry_what_the_contract_says(ana: Client) -> None:
    instructions = ana.instructions or ""
    assert len(instructions.encode()) <= TEXT_LIMIT
    assert "unprompted" in instructions
    assert "before you answer a question about a matter" in instructions
    assert "live at once" in instructions and "edit or delete" in instructions


async def test_the_listing_is_the_same_on_every_call_and_for_everybody(ana: Client, ben: Client) -> None:
    first = (await ana.list_tools(cache_mode="bypass")).tools
    assert (await ana.list_tools(cache_mode="bypass")).tools == first
    assert (await ben.list_tools()).tools == first


async def test_the_briefing_is_listed_as_a_resource_and_as_a_prompt_too(ana: Client) -> None:
    assert [str(each.uri) for each in (await ana.list_resources()).resources] == ["north://briefing"]
    templates = (await ana.list_resource_templates()).resource_templates
    assert [each.uri_template for each in templates] == ["north://briefing/{matter}"]
    (prompt,) = (await ana.list_prompts()).prompts
    assert prompt.name == "briefing"
    assert [(each.name, each.required) for each in prompt.arguments or []] == [("matter", False)]
