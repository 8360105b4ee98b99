"""What a session starts with."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent, TextResourceContents

from tests.conftest import FirmOfTest, TestDatabase
from tests.mcp.conftest import done, refused, text_of
from tests.memory.remembering import stored
from tests.worker.conftest import until

BLUEBOOK = "The lawyer wants Bluebook citations."
LLC = "The client is a Delaware LLC."


@pytest.fixture
async def known(ana: Client) -> list[dict[str, Any]]:
    """Ana has a personal memory and one of her matter."""
    personal = await done(ana, "memory_save", content=BLUEBOOK, type="preference")
    matter = await done(ana, "memory_save", content=LLC, type="fact", scope="matter", matter="HV-1001")
    return [personal["memory"], matter["memory"]]


async def text_of_resource(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    return content.text


async def test_gives_the_fence_and_a_session_handle(ana: Client, known: list[dict[str, Any]]) -> None:
    result = await ana.call_tool("north__briefing", {"matter": "HV-1001"})
    reply = result.structured_content
    assert BLUEBOOK in reply["text"] and LLC in reply["text"] and '<matter_memory matter="HV-1001">' in reply["text"]
    assert reply["text"] in text_of(result) and reply["session"] in text_of(result)
    assert reply["matter"] == "HV-1001"
    assert (await done(ana, "memory_recall", query="citations", session=reply["session"]))["personal"]


async def test_without_a_matter_holds_personal_memory_alone(ana: Client, known: list[dict[str, Any]]) -> None:
    reply = await done(ana, "briefing")
    assert BLUEBOOK in reply["text"] and LLC not in reply["text"] and "matter_memory" not in reply["text"]
    assert reply["matter"] is None


async def test_takes_a_matters_id_and_names_its_number(ana: Client, firm: FirmOfTest) -> None:
    assert (await done(ana, "briefing", matter=str(firm.matter.id)))["matter"] == "HV-1001"


async def test_each_has_a_handle_of_its_own(ana: Client) -> None:
    assert (await done(ana, "briefing"))["session"] != (await done(ana, "briefing"))["session"]


@pytest.mark.parametrize(("tool", "arguments"), [("briefing", {}), ("memory_recall", {"query": "citations"})])
async def test_is_not_waited_for_to_be_noted_and_is_noted(
    ana: Client,
    known: list[dict[str, Any]],
    database: TestDatabase,
    firm: FirmOfTest,
    tool: str,
    arguments: dict[str, str],
) -> None:
    async def uses() -> list[tuple[str, str]]:
        rows = stored(
            database, "select surface, memory_id from memory_use where organization_id = %s", firm.a.organization_id
        )
        return [(row["surface"], str(row["memory_id"])) for row in rows]

    with psycopg.connect(database.superuser_url) as holding:
        holding.execute("lock table memory_use in exclusive mode")
        assert BLUEBOOK in str(await done(ana, tool, **arguments))
        assert await uses() == [], "the answer is there, and nobody has been able to note it"
    await until(uses)
    assert await uses() == [("mcp", known[0]["id"])]


async def test_on_no_such_matter_says_how_to_find_it(ana: Client) -> None:
    assert "north__matter_find" in await refused(ana, "briefing", matter="HV-9")


async def test_is_a_resource(ana: Client, known: list[dict[str, Any]]) -> None:
    text = await text_of_resource(ana, "north://briefing")
    assert BLUEBOOK in text and LLC not in text and "Session handle" in text


@pytest.mark.parametrize("matter", ["HV-1001", "HV%2D1001"])
async def test_on_a_matter_is_a_resource_too(ana: Client, known: list[dict[str, Any]], matter: str) -> None:
    assert LLC in await text_of_resource(ana, f"north://briefing/{matter}")


async def test_as_a_resource_on_no_such_matter_says_so(ana: Client) -> None:
    with pytest.raises(MCPError, match="no such matter"):
        await ana.read_resource("north://briefing/HV-9")


async def test_is_a_prompt(ana: Client, known: list[dict[str, Any]]) -> None:
    for arguments, on_matter in (({}, False), ({"matter": "HV-1001"}, True)):
        (message,) = (await ana.get_prompt("briefing", arguments)).messages
        assert message.role == "user" and isinstance(message.content, TextContent)
        assert BLUEBOOK in message.content.text and (LLC in message.content.text) is on_matter


async def test_as_a_prompt_on_no_such_matter_says_so(ana: Client) -> None:
    with pytest.raises(MCPError, match="no such matter"):
        await ana.get_prompt("briefing", {"matter": "HV-9"})


async def test_of_a_colleague_holds_nothing_personal_of_mine(ben: Client, known: list[dict[str, Any]]) -> None:
    text = (await done(ben, "briefing", matter="HV-1001"))["text"]
    assert BLUEBOOK not in text and LLC in text
