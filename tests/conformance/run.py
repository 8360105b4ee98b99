"""North against clients that it did not bring along: `make conformance`.

The official suite runs the server scenarios of both protocol eras and the scenarios for authorization servers; the MCP
Inspector lists the tools and calls them. Every scenario must pass but those of `not_applicable.toml`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import shutil
import warnings
from collections.abc import AsyncIterator, Sequence, Set
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
from mcp.shared.exceptions import MCPDeprecationWarning

from tests.commands import free_port
from tests.conformance.suite import (
    FOLDER,
    INSPECTOR,
    SUITE,
    NotApplicable,
    Result,
    fetch,
    not_applicable,
    results,
    run_node,
)
from tests.conformance.target import EMAIL, PASSWORD, Target, target
from tests.oauth import press, register

REVISIONS = ("2026-07-28", "2025-11-25")
TOOLS_OF_SUITE = "test_"


class Report:
    """What is said as it goes, and what was wrong."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def say(self, line: str) -> None:
        """Print a line."""
        print(line, flush=True)

    def problem(self, line: str) -> None:
        """Note that something is wrong, and print it."""
        self.problems.append(line)
        self.say(f"  WRONG {line}")

    def judge(self, found: Sequence[Result], run_by_suite: Set[str], excused: NotApplicable) -> None:
        """Compare results with what may fail; of everything that was run there must be one."""
        for lost in sorted(run_by_suite - {each.scenario for each in found}):
            self.problem(f"{lost} left no result")
        for each in found:
            if each.scenario in excused.reasons:
                if each.failed:
                    self.say(f"  n/a   {each.scenario} (not_applicable.toml says why)")
                elif each.passed:
                    self.problem(f"{each.scenario} passes: take it out of not_applicable.toml")
            elif each.failed:
                self.problem(f"{each.scenario}: {'; '.join(each.failed)}")
            else:
                checks = f"{each.passed} checks passed" if each.passed else "the suite finds nothing to check"
                self.say(f"  ok    {each.scenario}: {checks}")


AUTHORIZATION = {"authorization-code-grant", "authorization-server-metadata-endpoint"}
NOTHING_EXCUSED = NotApplicable({}, frozenset())


async def server_scenarios(at: Target, revision: str, report: Report, excused: NotApplicable) -> None:
    """All that a revision asks of servers, and what needs a session at the address that has them."""
    report.say(f"\nServer scenarios of {revision}")
    folder = _emptied(f"server-{revision}")
    _, written = await run_node(SUITE, "server", "--url", at.fixtures, "--requirements", revision, "-o", folder)
    run_by_suite = set(re.findall(r"^[✓✗] ([\w-]+):", written, re.MULTILINE))
    if not run_by_suite:
        report.problem(f"the suite did not run: {written[-2000:]}")
    report.judge(results(folder), run_by_suite, excused)
    report.say(f"Of these, with sessions and event streams, {revision}")
    folder = _emptied(f"streams-{revision}")
    again = excused.streams & run_by_suite
    for scenario in sorted(again):
        arguments: list[str | Path] = ["--url", at.streams, "--scenario", scenario, "--spec-version", revision]
        await run_node(SUITE, "server", *arguments, "-o", folder)
    report.judge(results(folder), again, NOTHING_EXCUSED)


async def authorization_scenarios(at: Target, revision: str, report: Report) -> None:
    """North as the authorization server: its metadata, and a sign-in with a browser that we play."""
    report.say(f"\nAuthorization scenarios of {revision}")
    port = free_port()
    callback = f"http://127.0.0.1:{port}/callback"
    folder = _emptied(f"authorization-{revision}")
    async with _browser(at) as browser:
        client = await register(browser, client_name="Conformance", redirect_uris=[callback])
        allowing: list[asyncio.Task[None]] = []

        def read(line: str) -> None:
            if line.startswith(f"{at.product}/authorize?"):
                allowing.append(asyncio.create_task(_allow(browser, line)))

        flags = ["--client-id", client["client_id"], "--resource", f"{at.product}/mcp", "--port", str(port)]
        revised: list[str | Path] = ["--spec-version", revision, "-o", folder]
        code, written = await run_node(SUITE, "authorization", "--url", at.product, *flags, *revised, on_line=read)
        await asyncio.gather(*allowing)
    found = results(folder)
    if code or any(each.skipped for each in found):
        report.problem(f"not every authorization scenario ran: {written[-2000:]}")
    report.judge(found, AUTHORIZATION, NOTHING_EXCUSED)


@asynccontextmanager
async def _browser(at: Target) -> AsyncIterator[httpx2.AsyncClient]:
    """A browser in which the lawyer is logged in."""
    async with httpx2.AsyncClient(base_url=at.product, timeout=30) as browser:
        reply = await browser.post("/login", data={"email": EMAIL, "password": PASSWORD})
        assert reply.status_code == 303, reply.text
        yield browser


async def _allow(browser: httpx2.AsyncClient, address: str) -> None:
    """Open the consent page, allow, and follow the browser to the program."""
    reply = await press(browser, dict(parse_qsl(urlsplit(address).query)))
    await browser.get(reply.headers["location"])


async def inspector(at: Target, report: Report) -> None:
    """The Inspector lists the tools strictly, and calls them."""
    report.say("\nMCP Inspector")
    for era in ("modern", "legacy"):
        listed = await _inspect(at, era, report, "--method", "tools/list", "--strict")
        names = [tool["name"] for tool in listed.get("tools", [])]
        if not names or any(name.startswith(TOOLS_OF_SUITE) for name in names):
            report.problem(f"tools/list ({era}) shows {names}")
        saved = await _called(at, era, report, "north__memory_save", content=f"Cites {era} cases.", type="preference")
        memory_id = saved.get("memory", {}).get("id", "")
        updated = await _called(
            at, era, report, "north__memory_update", memory_id=memory_id, content=f"Cites {era} cases first."
        )
        recalled = await _called(at, era, report, "north__memory_recall", query=f"{era} cases", matter="HV-1001")
        if not any(each["content"] == f"Cites {era} cases first." for each in recalled.get("personal", [])):
            report.problem(f"what was saved is not recalled ({era}): {recalled}")
        await _called(at, era, report, "north__memory_forget", memory_id=updated.get("memory", {}).get("id", ""))
        await _called(at, era, report, "north__briefing", matter="HV-1001")
        await _called(at, era, report, "north__matter_find", query="Harbor")
        report.say(f"  ok    {era}: {len(names)} tools listed and called")


async def _called(at: Target, era: str, report: Report, tool: str, **arguments: str) -> dict[str, Any]:
    """Call a tool; its structured output."""
    pairs = [part for pair in arguments.items() for part in ("--tool-arg", "=".join(pair))]
    result = await _inspect(at, era, report, "--method", "tools/call", "--tool-name", tool, *pairs)
    structured: dict[str, Any] = result.get("structuredContent") or {}
    return structured


async def _inspect(at: Target, era: str, report: Report, *arguments: str) -> dict[str, Any]:
    """What the Inspector's command line prints."""
    signed = ["--transport", "http", "--protocol-era", era, "--header", f"Authorization: Bearer {at.token}"]
    code, written = await run_node(INSPECTOR, "--cli", f"{at.product}/mcp", *signed, *arguments)
    start = written.find("{\n")
    if code or start < 0:
        report.problem(f"{' '.join(arguments)} ({era}) ended with {code}: {written[-2000:]}")
        return {}
    answer: dict[str, Any] = json.JSONDecoder().raw_decode(written, start)[0]
    return answer


def _emptied(name: str) -> Path:
    folder = FOLDER / "results" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _quiet() -> None:
    """Keep out of the report what is meant to happen: the suite calls tools that fail and uses what is deprecated."""
    logging.getLogger("fastmcp").setLevel(logging.CRITICAL)
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    warnings.simplefilter("ignore", MCPDeprecationWarning)


async def run() -> list[str]:
    """Run everything; what was wrong."""
    report, excused = Report(), not_applicable()
    async with target() as at:
        _quiet()
        for revision in REVISIONS:
            await server_scenarios(at, revision, report, excused)
            await authorization_scenarios(at, revision, report)
        await inspector(at, report)
    return report.problems


def main() -> None:
    """Fetch, run, and end with 1 when anything is wrong."""
    fetch()
    if problems := asyncio.run(run()):
        raise SystemExit(f"\n{len(problems)} wrong:\n" + "\n".join(problems))
    print("\nEverything that applies passes.")


if __name__ == "__main__":
    main()
