"""Postgres away, silent, slow, noisy, full, locked: North says so in time, writes nothing by halves, and goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import psycopg
import pytest
from fastapi import FastAPI
from structlog.testing import capture_logs

from north.db.embedded import EmbeddedServer
from tests.api.conftest import assert_problem
from tests.conftest import TestDatabase
from tests.faults.conftest import Client, draft, texts
from tests.faults.disk import SmallDisk, small_disk
from tests.faults.proxy import FaultProxy, Network
from tests.worker.conftest import until

Administrator = Callable[..., list[Any]]

BEFORE, DURING, AFTER = "Before the fault.", "During the fault.", "After the fault."
HANG_UP = """select pg_terminate_backend(pid, 5000) from pg_stat_activity
             where datname = current_database() and pid <> pg_backend_pid()"""
RECOVERY_SECONDS = 10.0
IN_TIME = 10.0
FAULTS = [Network.CUT, Network.STALLED, Network.GARBAGE]


async def saves(client: Client, text: str) -> bool:
    return (await client.post("/memories", json=draft(text))).is_success


async def hang_up(administrator: Administrator, network: FaultProxy) -> None:
    """End every connection that North has; its background work may open others at any moment.

    One that is signing in has no database yet by which Postgres would find it: it is ended once it has.
    """
    ends = network.open_now()

    async def have_ended() -> bool:
        administrator(HANG_UP)
        return network.have_ended(ends)

    await until(have_ended)


async def ready(balancer: Client) -> bool:
    return (await balancer.get("/readyz")).status_code == 200


async def mcp_answer(app: FastAPI, secret: str, tool: str, **arguments: str) -> dict[str, Any]:
    """Call a tool as a host does; its result."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {"Authorization": f"Bearer {secret}", "Accept": "application/json, text/event-stream"}
    async with Client(transport=httpx2.ASGITransport(app), base_url="http://north.test", headers=headers) as host:
        reply = await host.post("/mcp", json=call)
    answer: dict[str, Any] = reply.json()
    return answer


class TestNetwork:
    @pytest.mark.parametrize("fault", FAULTS)
    async def test_that_breaks_is_said_in_time_and_leaves_nothing_behind(
        self, ana: Client, network: FaultProxy, fault: Network
    ) -> None:
        assert (await ana.post("/memories", json=draft(BEFORE))).status_code == 201
        network.network = fault
        for call in (
            ana.post("/memories", json=draft(DURING)),
            ana.post("/recall", json={"query": "fault"}),
            ana.get("/memories"),
            ana.post("/threads"),
        ):
            began = time.monotonic()
            reply = await call
            assert time.monotonic() - began < IN_TIME
            assert_problem(reply, 503, reply.json()["code"])
            assert reply.json()["code"] in {"database_unavailable", "database_too_slow"}
            assert int(reply.headers["Retry-After"]) > 0
        network.network = Network.FINE
        began = time.monotonic()
        await until(lambda: saves(ana, AFTER))
        assert time.monotonic() - began < RECOVERY_SECONDS
        assert await texts(ana) == [AFTER, BEFORE]

    @pytest.mark.parametrize("fault", FAULTS)
    async def test_that_breaks_is_told_to_a_model_and_on_a_page_without_a_trace(
        self, app: FastAPI, secret: str, network: FaultProxy, fault: Network
    ) -> None:
        network.network = fault
        with capture_logs() as logs:
            # The token cannot be looked up either, so that a host is not let in before anything else.
            answer = await mcp_answer(app, secret, "north__memory_recall", query="fault")
            async with Client(transport=httpx2.ASGITransport(app), base_url="http://north.test") as browser:
                page = await browser.get("/settings/memory", headers={"Cookie": "north_session=x"})
        assert "Traceback" not in str(answer) + page.text
        assert page.status_code in (303, 503)
        assert not [entry for entry in logs if "crashed" in entry["event"]], logs

    @pytest.mark.parametrize("fault", FAULTS)
    async def test_that_breaks_turns_the_server_not_ready_in_time_and_back(
        self, app: FastAPI, network: FaultProxy, fault: Network
    ) -> None:
        async with Client(transport=httpx2.ASGITransport(app), base_url="http://north.test") as balancer:
            assert (await balancer.get("/readyz")).status_code == 200
            network.network = fault
            began = time.monotonic()
            assert (await balancer.get("/readyz")).status_code == 503
            assert (await balancer.get("/metrics")).status_code == 200
            assert time.monotonic() - began < IN_TIME
            assert (await balancer.get("/healthz")).status_code == 200
            network.network = Network.FINE
            await until(lambda: ready(balancer))

    async def test_that_was_cut_for_a_moment_is_not_noticed(self, ana: Client, network: FaultProxy) -> None:
        await asyncio.gather(*(ana.post("/memories", json=draft(f"Fact {number}.")) for number in range(20)))
        network.network = Network.CUT
        await asyncio.sleep(0.05)
        network.network = Network.FINE
        replies = await asyncio.gather(*(ana.get("/memories") for _ in range(20)))
        assert {reply.status_code for reply in replies} == {200}

    async def test_that_is_slow_only_takes_longer(self, ana: Client, network: FaultProxy) -> None:
        network.network, network.delay = Network.SLOW, 0.05
        replies = await asyncio.gather(*(ana.post("/memories", json=draft(f"Fact {number}.")) for number in range(5)))
        assert {reply.status_code for reply in replies} == {201}

    async def test_that_breaks_while_a_save_commits_leaves_it_open_whether_it_did(
        self, ana: Client, network: FaultProxy
    ) -> None:
        key = {"Idempotency-Key": "the same for both"}
        assert (await ana.post("/memories", json=draft(BEFORE))).status_code == 201
        network.cut_after = b"into idempotency_key"
        assert_problem(await ana.post("/memories", json=draft(DURING), headers=key), 503, "outcome_unknown")
        again = await ana.post("/memories", json=draft(DURING), headers=key)
        assert (again.status_code, again.json()["outcome"]) == (201, "saved")
        assert await texts(ana) == [DURING, BEFORE]


class TestConnections:
    async def test_that_are_few_are_shared(self, ana: Client, administrator: Administrator) -> None:
        administrator("alter database THIS connection limit 3")
        replies = await asyncio.gather(*(ana.post("/memories", json=draft(f"Fact {number}.")) for number in range(30)))
        assert {reply.status_code for reply in replies} == {201}

    async def test_that_are_used_up_are_said_and_come_back(
        self, ana: Client, administrator: Administrator, network: FaultProxy
    ) -> None:
        administrator("alter database THIS connection limit 0")
        await hang_up(administrator, network)
        assert_problem(await ana.post("/memories", json=draft(DURING)), 503, "database_unavailable")
        administrator("alter database THIS connection limit -1")
        await until(lambda: saves(ana, AFTER))
        assert await texts(ana) == [AFTER]


class TestServer:
    async def test_that_waits_for_a_lock_gives_up(self, ana: Client, fresh_database: TestDatabase) -> None:
        memory = (await ana.post("/memories", json=draft(BEFORE))).json()["memory"]
        with psycopg.connect(fresh_database.superuser_url) as somebody:
            somebody.execute("lock table agent_memory_candidate in share row exclusive mode")
            assert_problem(await ana.patch(f"/memories/{memory['id']}", json={"content": DURING}), 503, "database_busy")
            assert await texts(ana) == [BEFORE]
        assert (await ana.patch(f"/memories/{memory['id']}", json={"content": AFTER})).status_code == 200

    async def test_that_takes_too_long_over_a_statement_is_stopped(
        self, ana: Client, administrator: Administrator
    ) -> None:
        administrator(
            """create function dawdle() returns trigger language plpgsql as
               $$ begin perform pg_sleep(30); return new; end $$"""
        )
        administrator("create trigger dawdle before insert on product_event for each row execute function dawdle()")
        began = time.monotonic()
        assert_problem(await ana.post("/memories", json=draft(DURING)), 503, "database_too_slow")
        assert time.monotonic() - began < IN_TIME
        administrator("drop trigger dawdle on product_event")
        assert (await ana.post("/memories", json=draft(AFTER))).status_code == 201
        assert await texts(ana) == [AFTER]

    async def test_that_takes_no_changes_still_answers(
        self, ana: Client, administrator: Administrator, network: FaultProxy
    ) -> None:
        assert (await ana.post("/memories", json=draft(BEFORE))).status_code == 201
        administrator("alter database THIS set default_transaction_read_only = on")
        await hang_up(administrator, network)
        assert_problem(await ana.post("/memories", json=draft(DURING)), 503, "database_read_only")
        assert await texts(ana) == [BEFORE]
        with capture_logs() as logs:
            recalled = await ana.post("/recall", json={"query": BEFORE})
        assert recalled.status_code == 200, recalled.text
        assert [memory["content"] for memory in recalled.json()["personal"]] == [BEFORE]
        assert not [entry for entry in logs if "crashed" in entry["event"]], logs


class TestDisk:
    @pytest.fixture
    def full(self, embedded_server: EmbeddedServer) -> Iterator[SmallDisk]:
        yield from small_disk(embedded_server)

    @pytest.fixture
    def fresh_database(self, full: SmallDisk, fresh_database: TestDatabase) -> TestDatabase:
        return full.under(fresh_database)

    async def test_that_is_full_is_said_and_what_was_acknowledged_is_there(self, ana: Client, full: SmallDisk) -> None:
        full.fill()
        acknowledged: list[str] = []
        for number in range(1000):
            reply = await ana.post("/memories", json=draft(f"Fact {number} " + "of some length"))
            if reply.status_code != 201:
                break
            acknowledged.append(reply.json()["memory"]["content"])
        assert_problem(reply, 503, "database_full")
        assert await texts(ana) == acknowledged[::-1][:200]
        full.empty()
        assert (await ana.post("/memories", json=draft(AFTER))).status_code == 201
        assert (await texts(ana))[0] == AFTER
