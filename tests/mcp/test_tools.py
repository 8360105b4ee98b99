from __future__ import annotations
from tests.mcp.conftest import *


async def test_first(ana, firm):
    tools = await ana.list_tools()
    import json

    print(ana.protocol_version, ana.server_info if hasattr(ana, "server_info") else "")
    print(json.dumps([t.model_dump(exclude_none=True, mode="json") for t in tools.tools][1:3], indent=1))
    r = await ana.call_tool(
        "north__memory_save",
        {"content": "The client is a Delaware LLC.", "type": "fact", "scope": "matter", "matter": "HV-1001"},
    )
    print(r)
    r = await ana.call_tool("north__memory_recall", {"query": "where is the client organised?", "matter": "HV-1001"})
    print(text_of(r), r.structured_content)
    r = await ana.call_tool(
        "north__memory_recall", {"query": "where is the client organised?", "organization_id": "HV-1001", "limit": 0}
    )
    print(r)
    r = await ana.call_tool("north__briefing", {"matter": "HV-1001"})
    print(r)
    print(await ana.read_resource("north://briefing"))
    print(await ana.read_resource("north://briefing/HV-1001"))
    print(await ana.get_prompt("briefing", {"matter": "HV-1001"}))
