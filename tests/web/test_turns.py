"""One firm's flood of pages."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from north import turns as limits
from north.chat.models import make_model
from north.memory.backend import Backend
from north.settings import Settings
from north.turns import Turns
from tests.conftest import FirmOfTest
from tests.web.conftest import client_of, enter, page_of, web_app

PAGE = "/settings/memory"


async def test_a_flooding_firm_sees_a_plain_page_and_its_neighbour_sees_theirs(
    backend: Backend, firm: FirmOfTest, rival: FirmOfTest, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REFUSED_AFTER_SECONDS", 0)
    app = web_app(replace(backend, turns=Turns(at_once=1, most_waiting=1)), make_model("offline", settings))
    async with client_of(app) as flood, client_of(app) as calm:
        await enter(flood, backend, firm.ana)
        await enter(calm, backend, rival.ana)
        for client in (flood, calm):
            assert (await client.get(PAGE)).status_code == 200
        flooding = [asyncio.create_task(flood.get(PAGE)) for _ in range(10)]
        next_door = await calm.get(PAGE)
        replies = await asyncio.gather(*flooding)
    assert next_door.status_code == 200
    refused = [reply for reply in replies if reply.status_code == 429]
    assert len(refused) == 8
    for reply in refused:
        assert reply.headers["Retry-After"] == "1"
        assert "more requests under way" in page_of(reply).text
        assert reply.headers["Content-Security-Policy"]
