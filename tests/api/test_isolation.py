"""What another firm has, or a colleague alone, cannot be told from what does not exist."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

from tests.api.conftest import NEVER_AN_ID, Client, saved
from tests.conftest import FirmOfTest

SECRET = "The settlement offer is 2 million."

Call = Callable[[Client, str], Awaitable[httpx2.Response]]

ON_A_MEMORY: dict[str, Call] = {
    "get": lambda client, name: client.get(f"/memories/{name}"),
    "history": lambda client, name: client.get(f"/memories/{name}/history"),
    "edit": lambda client, name: client.patch(f"/memories/{name}", json={"content": "Changed."}),
    "edit into itself": lambda client, name: client.patch(f"/memories/{name}", json={"content": SECRET}),
    "delete": lambda client, name: client.delete(f"/memories/{name}"),
    "restore": lambda client, name: client.post(f"/memories/{name}/restore"),
}

ON_A_MATTER: dict[str, Call] = {
    "save": lambda client, name: client.post(
        "/memories", json={"content": "x", "type": "fact", "scope": "matter", "matter": name}
    ),
    "list": lambda client, name: client.get("/memories", params={"matter": name}),
    "recall": lambda client, name: client.post("/recall", json={"query": "x", "matter": name}),
    "briefing": lambda client, name: client.get("/briefing", params={"matter": name}),
    "open a thread": lambda client, name: client.post("/threads", json={"matter": name}),
}


def everything(reply: httpx2.Response) -> tuple[Any, ...]:
    """All of a reply that a client can see."""
    return reply.status_code, sorted(reply.headers.multi_items()), reply.content


async def seen_by(client: Client) -> str:
    """Everything that a client can read without naming an id."""
    replies = [
        *[await client.get("/memories", params={"status": each}) for each in ("active", "superseded", "archived")],
        await client.get("/memories", params={"q": "settlement"}),
        await client.get("/memories", params={"scope": "user_private"}),
        await client.get("/briefing", params={"matter": "HV-1001"}),
        await client.post("/recall", json={"query": SECRET, "matter": "HV-1001", "limit": 200}),
        await client.get("/threads"),
        await client.get("/rules"),
        await client.get("/tokens"),
        await client.get("/matters"),
    ]
    for reply in replies:
        assert reply.status_code == 200
    return "".join(reply.text for reply in replies)


@pytest.mark.parametrize("call", ON_A_MEMORY.values(), ids=ON_A_MEMORY)
@pytest.mark.parametrize("scope", ["matter", "firm_global", "user_private"])
async def test_another_firms_memory_answers_as_none(ana: Client, stranger: Client, call: Call, scope: str) -> None:
    memory = await saved(ana, SECRET, scope)
    foreign, absent, nonsense = [await call(stranger, name) for name in (memory["id"], NEVER_AN_ID, "zzz")]
    assert foreign.status_code == 404
    assert everything(foreign) == everything(absent) == everything(nonsense)
    assert (await ana.get(f"/memories/{memory['id']}")).json()["memory"] == memory


@pytest.mark.parametrize("call", ON_A_MEMORY.values(), ids=ON_A_MEMORY)
async def test_a_colleagues_personal_memory_answers_as_none(ana: Client, ben: Client, call: Call) -> None:
    memory = await saved(ana, SECRET)
    private, absent = [await call(ben, name) for name in (memory["id"], NEVER_AN_ID)]
    assert private.status_code == 404
    assert everything(private) == everything(absent)
    assert (await ana.get(f"/memories/{memory['id']}")).json()["memory"] == memory


@pytest.mark.parametrize("call", ON_A_MATTER.values(), ids=ON_A_MATTER)
async def test_another_firms_matter_answers_as_none(stranger: Client, firm: FirmOfTest, call: Call) -> None:
    foreign, absent, nonsense = [await call(stranger, name) for name in (str(firm.matter.id), NEVER_AN_ID, "zzz")]
    assert foreign.status_code == 404
    assert everything(foreign) == everything(absent) == everything(nonsense)


async def test_no_list_shows_what_a_colleague_or_another_firm_has(ana: Client, ben: Client, stranger: Client) -> None:
    private = await saved(ana, SECRET)
    shared = await saved(ana, f"{SECRET} It is open.", "matter")
    thread = (await ana.post("/threads")).json()
    said = await ana.post(f"/threads/{thread['id']}/messages", json={"text": f"Remember that {SECRET}"})
    assert said.status_code == 200
    for_ben, for_the_stranger = await seen_by(ben), await seen_by(stranger)
    assert shared["id"] in for_ben
    assert shared["id"] not in for_the_stranger
    for seen in (for_ben, for_the_stranger):
        assert private["id"] not in seen
        assert thread["id"] not in seen


async def test_the_same_text_saved_by_a_colleague_or_another_firm_is_their_own(
    ana: Client, ben: Client, stranger: Client
) -> None:
    first = await saved(ana, SECRET)
    for client in (ben, stranger):
        reply = await client.post("/memories", json={"content": SECRET, "type": "fact", "scope": "user_private"})
        assert (reply.status_code, reply.json()["similar"]) == (201, [])
        assert reply.json()["memory"]["id"] != first["id"]


async def test_a_source_in_a_colleagues_thread_is_not_named(ana: Client, ben: Client) -> None:
    thread = (await ana.post("/threads", json={"matter": "HV-1001"})).json()
    answer = await ana.post(f"/threads/{thread['id']}/messages", json={"text": "The client is a Delaware LLC."})
    (memory,) = answer.json()["saved"]
    assert memory["source"]["thread_id"] == thread["id"] and memory["source"]["yours"] is True
    for_ben = (await ben.get(f"/memories/{memory['id']}")).json()["memory"]
    assert for_ben["source"] == {"thread_id": None, "message_id": None, "label": None, "yours": False}


@pytest.mark.parametrize(
    "field", ["organization_id", "user_id", "target_user_id", "captured_by", "origin", "status", "id"]
)
async def test_nobody_can_choose_who_they_are(stranger: Client, firm: FirmOfTest, field: str) -> None:
    new = {"content": "x", "type": "fact", "scope": "user_private", field: str(firm.ana.id)}
    reply = await stranger.post("/memories", json=new)
    assert reply.status_code == 422
    assert f"`{field}` is not a field of this call" in reply.json()["detail"]
