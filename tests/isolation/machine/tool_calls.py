"""Every tool, resource and prompt of MCP, through its real endpoint, in both eras of the protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from tests.isolation.machine.calls import Call, Door, Hand, Request
from tests.isolation.machine.routes import MCP
from tests.isolation.machine.world import Kind

VERSION, EARLIER_VERSION = "2026-07-28", "2025-11-25"
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}
Arguments = Callable[[Hand], dict[str, Any]]


def asked(hand: Hand, method: str, params: dict[str, Any], name: str | None = None) -> Request:
    """A request of the protocol. The id is always 1, so that an answer gone astray would be taken for one's own."""
    headers = {"MCP-Protocol-Version": EARLIER_VERSION}
    if hand.random.random() < 0.5:
        headers = {"MCP-Protocol-Version": VERSION, "Mcp-Method": method} | ({"Mcp-Name": name} if name else {})
        params = {**params, "_meta": ENVELOPE}
    return Request(json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers=ACCEPT | headers)


def tool(name: str, arguments: Arguments, names: Kind | None = None, label: str = "") -> Call:
    def make(hand: Hand) -> Request:
        return asked(hand, "tools/call", {"name": name, "arguments": arguments(hand)}, name)

    return Call(f"POST {MCP}", Door.MCP, make, names, f"{name} {label}".rstrip())


def other(method: str, params: Callable[[Hand], dict[str, Any]], names: Kind | None = None) -> Call:
    def make(hand: Hand) -> Request:
        told = params(hand)
        return asked(hand, method, told, told.get("name") or told.get("uri"))

    return Call(f"POST {MCP}", Door.MCP, make, names, f"{method}{f' with a {names}' if names else ''}")


def save(hand: Hand) -> dict[str, Any]:
    if hand.random.random() < 0.3:
        return {"content": hand.firm_wide(), "type": hand.type(), "scope": "firm_global"}
    return {"content": hand.private(), "type": hand.type()}


def save_for_matter(hand: Hand) -> dict[str, Any]:
    return {"content": hand.firm_wide(), "type": hand.type(), "scope": "matter", "matter": hand.name}


def update_about(hand: Hand) -> dict[str, Any]:
    """By what it says: what is meant is the lawyer's own or the matter's, and never a colleague's."""
    return {"content": hand.private(), "about": f"The retainer for {hand.lawyer.private}"}


CALLS: tuple[Call, ...] = (
    tool("north__briefing", lambda hand: {}),
    tool("north__memory_recall", lambda hand: {"query": "retainer vault", "limit": 200}),
    tool("north__memory_save", save),
    tool("north__memory_update", update_about, label="by its words"),
    tool("north__memory_update", lambda h: {"content": h.fitting(), "memory_id": h.name}, Kind.MEMORY),
    tool("north__memory_forget", lambda hand: {"memory_id": hand.name}, Kind.MEMORY),
    tool("north__matter_find", lambda hand: {"query": "Matter"}),
    tool("north__nd_search", lambda hand: {"query": "lease", "session": hand.name}, Kind.SESSION),
    tool("north__nd_read", lambda hand: {"document_id": "4822-8047-6450", "session": hand.name}, Kind.SESSION),
    tool("north__memory_recall", lambda hand: {"query": "vault", "session": hand.name}, Kind.SESSION, "in a session"),
    *(
        call
        for kind in (Kind.MATTER, Kind.MATTER_NUMBER)
        for call in (
            tool("north__briefing", lambda hand: {"matter": hand.name}, kind, f"on a {kind}"),
            tool("north__memory_recall", lambda h: {"query": "retainer", "matter": h.name}, kind, f"on a {kind}"),
            tool("north__memory_save", save_for_matter, kind, f"for a {kind}"),
            other("resources/read", lambda hand: {"uri": f"north://briefing/{quote(hand.name, safe='')}"}, kind),
            other("prompts/get", lambda hand: {"name": "briefing", "arguments": {"matter": hand.name}}, kind),
        )
    ),
    other("resources/read", lambda hand: {"uri": "north://briefing"}),
    other("prompts/get", lambda hand: {"name": "briefing", "arguments": {}}),
    other("tools/list", lambda hand: {}),
    other("resources/list", lambda hand: {}),
    other("resources/templates/list", lambda hand: {}),
    other("prompts/list", lambda hand: {}),
)


def tools_driven() -> set[str]:
    """The names of the tools that are called here."""
    return {call.label.partition(" ")[0] for call in CALLS if call.label.startswith("north__")}
