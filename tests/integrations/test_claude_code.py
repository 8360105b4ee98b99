"""The plugin for Claude Code: its manifests, and its hooks run as Claude Code runs them, against a running North."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from north import __version__
from north.mcp.server import make_mcp
from north.mcp.site import PATH
from north.memory.backend import Backend
from north.memory.save import save
from north.model import Draft, MemoryType, Scope
from north.settings import Settings
from tests.commands import free_port
from tests.conftest import FirmOfTest
from tests.mcp.conftest import connected, done, mcp_app, refused, secret_of
from tests.serving import serving

PLUGIN = Path(__file__).parent.parent.parent / "integrations" / "claude-code"


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Author(Strict):
    name: str


class Plugin(Strict):
    name: str
    version: str
    description: str
    author: Author
    license: str
    keywords: list[str]


class Hook(Strict):
    type: str
    command: str
    timeout: int


class Matched(Strict):
    matcher: str
    hooks: list[Hook]


class Hooks(Strict):
    description: str
    hooks: dict[str, list[Matched]]


def read(relative: str) -> Any:
    return json.loads((PLUGIN / relative).read_text())


HOOKS = Hooks.model_validate(read("hooks/hooks.json")).hooks
[[BRIEFING], [CONSULTATION]] = [[hook for each in HOOKS[event] for hook in each.hooks] for event in HOOKS]
MATCHER = HOOKS["PostToolUse"][0].matcher
NETDOCUMENTS, IMANAGE = "mcp__claude_ai_NetDocuments__search", "mcp__plugin_dms_imanage__get_document"


async def run(hook: Hook, address: str, token: str | None, given: dict[str, Any] | None = None) -> str:
    """Run a hook's command in a shell, and what it writes for Claude; it always succeeds and never complains."""
    environment = {"PATH": os.environ["PATH"], "CLAUDE_PLUGIN_ROOT": str(PLUGIN), "NORTH_URL": address}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    if token:
        environment["NORTH_TOKEN"] = token
    process = await asyncio.create_subprocess_shell(
        hook.command,
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    written, complaint = await process.communicate(json.dumps(given or {}).encode())
    assert (process.returncode, complaint.decode()) == (0, "")
    return written.decode()


def context_in(written: str, event: str) -> str:
    """What Claude reads of a hook's answer."""
    answer = json.loads(written)["hookSpecificOutput"]
    assert answer["hookEventName"] == event
    context: str = answer["additionalContext"]
    return context


@pytest.fixture(scope="module")
async def address(backend: Backend, settings: Settings) -> AsyncIterator[str]:
    async with serving(mcp_app(backend, settings)) as url:
        yield url


@pytest.fixture
async def token(backend: Backend, firm: FirmOfTest) -> str:
    return await secret_of(backend, firm.a)


class TestManifest:
    def test_names_the_plugin_in_north_s_own_version(self) -> None:
        plugin = Plugin.model_validate(read(".claude-plugin/plugin.json"))
        assert re.fullmatch("[a-z][a-z0-9-]*", plugin.name)
        assert plugin.version == __version__
        [offered] = read(".claude-plugin/marketplace.json")["plugins"]
        assert (offered["name"], offered["description"]) == (plugin.name, plugin.description)
        assert (PLUGIN / offered["source"]).resolve() == PLUGIN

    def test_connects_to_the_address_and_with_the_token_of_the_environment(self) -> None:
        assert read(".mcp.json") == {
            "mcpServers": {
                "north": {
                    "type": "http",
                    "url": f"${{NORTH_URL:-http://127.0.0.1:{Settings.model_fields['port'].default}}}{PATH}",
                    "headers": {"Authorization": "Bearer ${NORTH_TOKEN}"},
                }
            }
        }

    async def test_has_a_skill_that_says_when_to_use_tools_that_there_are(self, backend: Backend) -> None:
        [skill] = PLUGIN.glob("skills/*/SKILL.md")
        _, head, body = skill.read_text().split("---\n", 2)
        fields = dict(line.split(": ", 1) for line in head.splitlines())
        assert fields["name"] == skill.parent.name
        assert len(fields["description"]) <= 1024
        named = set(re.findall(r"north__\w+", body))
        assert named >= {"north__memory_save", "north__memory_recall", "north__briefing"}
        assert named <= {tool.name for tool in await make_mcp(backend).list_tools()}

    def test_runs_scripts_that_are_there_within_seconds(self) -> None:
        assert list(HOOKS) == ["SessionStart", "PostToolUse"]
        for hook in (BRIEFING, CONSULTATION):
            assert (hook.type, hook.timeout <= 10) == ("command", True)
            [script] = re.findall(r'"\$\{CLAUDE_PLUGIN_ROOT\}/([^"]+)"', hook.command)
            assert (PLUGIN / script).is_file()


class TestMatcher:
    @pytest.mark.parametrize(
        "tool",
        [
            NETDOCUMENTS,
            IMANAGE,
            "mcp__netdocuments__read",
            "mcp__netdocs__read",
            "mcp__net-documents__search",
            "mcp__iManage__search",
            "mcp__plugin_firm_dms__imanage_search",
        ],
    )
    def test_hears_of_both_however_a_firm_names_them(self, tool: str) -> None:
        assert re.search(MATCHER, tool)

    @pytest.mark.parametrize(
        "tool", ["Bash", "Read", "mcp__north__north__memory_save", "mcp__dotnet_docs__search", "mcp__wikimanager__page"]
    )
    def test_hears_of_nothing_else(self, tool: str) -> None:
        assert not re.search(MATCHER, tool)


class TestBriefing:
    async def test_starts_a_session_with_what_north_remembers(
        self, address: str, token: str, backend: Backend, firm: FirmOfTest
    ) -> None:
        await save(backend, firm.a, [Draft("Prefers short memos.", MemoryType.PREFERENCE, Scope.USER_PRIVATE)])
        context = context_in(await run(BRIEFING, address, token), "SessionStart")
        assert "Prefers short memos." in context

    async def test_says_nothing_when_north_is_away(self, token: str) -> None:
        assert await run(BRIEFING, f"http://127.0.0.1:{free_port()}", token) == ""

    async def test_says_nothing_with_a_token_that_north_does_not_know(self, address: str) -> None:
        assert await run(BRIEFING, address, "north_nonsense") == ""

    async def test_says_nothing_without_a_token(self, address: str) -> None:
        assert await run(BRIEFING, address, None) == ""


class TestConsultation:
    @pytest.mark.parametrize(("tool", "name"), [(NETDOCUMENTS, "NetDocuments"), (IMANAGE, "iManage")])
    async def test_bars_matter_memory_of_this_token_and_not_personal_memory(
        self, address: str, token: str, firm: FirmOfTest, tool: str, name: str
    ) -> None:
        matter = {"type": "fact", "scope": "matter", "matter": firm.matter.number}
        async with connected(address, token) as claude:
            await done(claude, "memory_save", content="The hearing is on 3 May 2027.", **matter)
            assert await run(CONSULTATION, address, token, {"tool_name": tool, "tool_response": {}}) == ""
            assert name in await refused(claude, "memory_save", content="The client will settle.", **matter)
            await done(claude, "memory_save", content="Prefers to read documents first.", type="preference")

    async def test_tells_claude_when_north_cannot_be_told(self, token: str) -> None:
        written = await run(CONSULTATION, f"http://127.0.0.1:{free_port()}", token, {"tool_name": NETDOCUMENTS})
        context = context_in(written, "PostToolUse")
        assert "NetDocuments" in context
        assert "Save nothing about a matter" in context

    @pytest.mark.parametrize("given", [{}, {"tool_name": "mcp__north__north__memory_recall"}])
    async def test_reports_nothing_of_other_tools(
        self, address: str, token: str, firm: FirmOfTest, given: dict[str, Any]
    ) -> None:
        assert await run(CONSULTATION, address, token, given) == ""
        async with connected(address, token) as claude:
            await done(
                claude,
                "memory_save",
                content="Trial is in June 2027.",
                type="deadline",
                scope="matter",
                matter=firm.matter.number,
            )
