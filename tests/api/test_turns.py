"""One firm's flood over REST: refused to the firm that makes it, and unnoticed by its neighbour."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from north import turns as limits
from north.access.tokens import create_token
from north.chat.models import make_model
from north.memory.backend import Backend
from north.settings import Settings
from north.turns import Turns
from tests.api.conftest import api_app, assert_problem, client_of
from tests.conftest import FirmOfTest

RECALL = {"query": "What is the settlement offer?"}


async def test_the_flooding_firm_is_told_to_come_back_and_its_neighbour_is_served(
    backend: Backend, firm: FirmOfTest, rival: FirmOfTest, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REFUSED_AFTER_SECONDS", 0)
    limited = replace(backend, turns=Turns(at_once=2, most_waiting=3))
    app = api_app(limited, make_model("offline", settings))
    _, secret = await create_token(backend, firm.a, "flood")
    _, colleague = await create_token(backend, firm.b, "a colleague's")
    _, neighbour = await create_token(backend, rival.a, "next door")
    async with client_of(app, secret) as flood, client_of(app, colleague) as other, client_of(app, neighbour) as calm:
        for client in (flood, other, calm):
            assert (await client.post("/recall", json=RECALL)).status_code == 200
        first, *_ = flooding = [
            asyncio.create_task(client.post("/recall", json=RECALL)) for client in (flood, other) * 10
        ]
        asked = [await calm.post("/recall", json=RECALL) for _ in range(5)]
        replies = await asyncio.gather(*flooding)
    assert [reply.status_code for reply in asked] == [200] * 5
    refused = [reply for reply in replies if reply.status_code != 200]
    assert (await first).status_code == 200
    assert len(refused) >= len(flooding) - 5, "two are worked on at most, three wait, and nobody else is let in"
    for reply in refused:
        assert_problem(reply, 429, "too_many_requests")
        assert reply.headers["Retry-After"] == "1"


async def test_what_carries_no_token_is_refused_for_that_alone(settings: Settings, backend: Backend) -> None:
    limited = api_app(replace(backend, turns=Turns(at_once=1, most_waiting=0)), make_model("offline", settings))
    async with client_of(limited) as client:
        replies = await asyncio.gather(*(client.post("/recall", json=RECALL) for _ in range(5)))
    assert {reply.status_code for reply in replies} == {401}
