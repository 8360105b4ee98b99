"""The ethical wall as a host meets it: each line of what a session that consulted NetDocuments may and may not do."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import httpx2
import psycopg
import pytest
from mcp import Client

from north.access.tokens import token_caller
from north.memory.backend import Backend
from north.memory.wall import record_consultation
from north.model import Caller, Origin, new_id
from tests.conftest import FirmOfTest, TestDatabase
from tests.mcp.conftest import Host, contents, done, refused, secret_of

LLC = {"content": "The client is a Delaware LLC.", "type": "fact", "scope": "matter", "matter": "HV-1001"}
SOURCE = "netdocuments"


class Ana:
    """Ana's host, and what else acts with the same token."""

    def __init__(self, backend: Backend, client: Client, secret: str, caller: Caller) -> None:
        self.backend, self.client, self.secret, self.caller = backend, client, secret, caller

    async def session(self) -> str:
        """A new session handle."""
        handle: str = (await done(self.client, "briefing"))["session"]
        return handle

    async def consults(self, session: str | None = None) -> None:
        """Her host reads from NetDocuments, with or without a handle."""
        await record_consultation(self.backend, replace(self.caller, session=session), SOURCE)

    async def saves(self, content: str = LLC["content"], **arguments: Any) -> dict[str, Any]:
        """A save for the matter that succeeds."""
        return await done(self.client, "memory_save", **{**LLC, "content": content, **arguments})

    async def is_refused(self, tool: str = "memory_save", **arguments: Any) -> None:
        """Fail unless the wall refuses the call, in a sentence that the model can act on."""
        said = await refused(self.client, tool, **(LLC | arguments if tool == "memory_save" else arguments))
        assert "has read from NetDocuments" in said and "do not try again" in said and "`user_private`" in said

    async def known_of_the_matter(self) -> list[str]:
        reply = await done(self.client, "memory_recall", query="client", matter="HV-1001", limit=200)
        return contents(reply["matter"])


@pytest.fixture
async def ana(host: Host, backend: Backend, firm: FirmOfTest) -> Ana:
    secret = await secret_of(backend, firm.a)
    return Ana(
        backend,
        await host(firm.a, secret=secret),
        secret,
        await token_caller(backend, secret, Origin.MCP),
    )


def date_back(database: TestDatabase, caller: Caller, hours: float) -> None:
    """Make the lawyer's consultations older by so many hours."""
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        connection.execute(
            "update walled_consultation set consulted_at = consulted_at - make_interval(secs => %s) where user_id = %s",
            (3600 * hours, caller.user_id),
        )


class TestWithAHandle:
    async def test_a_consultation_bars_the_writes_of_its_session(self, ana: Ana) -> None:
        session = await ana.session()
        await ana.consults(session)
        await ana.is_refused(session=session)
        await ana.is_refused(session=session, scope="firm_global", matter=None)
        assert await ana.known_of_the_matter() == []

    async def test_another_session_of_the_same_host_stays_free(self, ana: Ana) -> None:
        await ana.consults(await ana.session())
        await ana.saves(session=await ana.session())

    async def test_a_session_is_barred_for_good(self, ana: Ana, database: TestDatabase) -> None:
        session = await ana.session()
        await ana.consults(session)
        date_back(database, ana.caller, hours=1000)
        await ana.is_refused(session=session)

    async def test_the_handle_counts_by_whatever_token_it_comes(self, ana: Ana, host: Host, firm: FirmOfTest) -> None:
        session = await ana.session()
        await ana.consults(session)
        ana.client = await host(firm.a)
        await ana.is_refused(session=session)

    async def test_personal_saves_are_still_allowed(self, ana: Ana) -> None:
        session = await ana.session()
        await ana.consults(session)
        reply = await ana.saves("Ana prefers short memos.", scope="user_private", matter=None, session=session)
        assert reply["outcome"] == "saved"

    async def test_what_is_known_already_is_refused_like_the_rest(self, ana: Ana) -> None:
        await ana.saves()
        session = await ana.session()
        await ana.consults(session)
        await ana.is_refused(session=session)


class TestChanging:
    async def test_an_update_of_matter_memory_writes_and_is_refused(self, ana: Ana) -> None:
        memory_id = (await ana.saves())["memory"]["id"]
        session = await ana.session()
        await ana.consults(session)
        for meant in ({"memory_id": memory_id}, {"about": LLC["content"], "matter": "HV-1001"}):
            await ana.is_refused("memory_update", content="The client is a Nevada LLC.", session=session, **meant)
        assert await ana.known_of_the_matter() == [LLC["content"]]

    async def test_an_update_of_personal_memory_is_allowed(self, ana: Ana) -> None:
        saved = await ana.saves("Ana prefers short memos.", scope="user_private", matter=None)
        session = await ana.session()
        await ana.consults(session)
        changed = await done(
            ana.client,
            "memory_update",
            memory_id=saved["memory"]["id"],
            content="Ana prefers long memos.",
            session=session,
        )
        assert changed["outcome"] == "updated"

    async def test_forgetting_matter_memory_writes_nothing_and_is_allowed(self, ana: Ana) -> None:
        memory_id = (await ana.saves())["memory"]["id"]
        session = await ana.session()
        await ana.consults(session)
        await done(ana.client, "memory_forget", memory_id=memory_id, session=session)
        assert await ana.known_of_the_matter() == []


class TestWithoutAHandle:
    async def test_a_consultation_bars_everything_of_its_client(self, ana: Ana) -> None:
        session = await ana.session()
        await ana.consults()
        await ana.is_refused()
        await ana.is_refused(session=session)
        await ana.is_refused(session=await ana.session())

    async def test_a_write_is_refused_while_any_session_of_the_client_has_consulted(self, ana: Ana) -> None:
        await ana.consults(await ana.session())
        await ana.is_refused()
        await ana.is_refused(session="")

    async def test_both_end_with_the_window(self, ana: Ana, database: TestDatabase) -> None:
        await ana.consults()
        await ana.consults(await ana.session())
        date_back(database, ana.caller, hours=11.9)
        await ana.is_refused()
        date_back(database, ana.caller, hours=0.2)
        await ana.saves()
        await ana.saves("The client has two directors.", session=await ana.session())

    async def test_another_client_of_the_same_lawyer_stays_free(self, ana: Ana, host: Host, firm: FirmOfTest) -> None:
        await ana.consults()
        ana.client = await host(firm.a)
        await ana.saves()

    async def test_a_colleague_stays_free(self, ana: Ana, ben: Client) -> None:
        await ana.consults()
        assert (await done(ben, "memory_save", **LLC))["outcome"] == "saved"


class TestHandlesThatAreNotOnes:
    @pytest.fixture
    async def wrong(self, ana: Ana, ben: Client) -> dict[str, str]:
        own = await ana.session()
        return {
            "another lawyer's": (await done(ben, "briefing"))["session"],
            "forged": ("A" if own[0] != "A" else "B") + own[1:],
            "cut short": own[:20],
            "made up": "session-1",
            "no handle's alphabet": "séance",
        }

    async def test_are_refused_by_every_tool_that_takes_one(self, ana: Ana, wrong: dict[str, str]) -> None:
        saved = await ana.saves("Ana prefers short memos.", scope="user_private", matter=None)
        calls: dict[str, dict[str, Any]] = {
            "memory_save": {"content": "Ana drinks tea.", "type": "fact"},
            "memory_recall": {"query": "memos"},
            "memory_update": {"memory_id": saved["memory"]["id"], "content": "Ana prefers long memos."},
            "memory_forget": {"memory_id": saved["memory"]["id"]},
        }
        for session in wrong.values():
            for tool, arguments in calls.items():
                said = await refused(ana.client, tool, **arguments, session=session)
                assert "not one that North gave to you" in said and "north__briefing" in said
        assert contents((await done(ana.client, "memory_recall", query="Ana"))["personal"]) == [
            "Ana prefers short memos."
        ]


class TestOverRest:
    @pytest.fixture
    async def rest(self, ana: Ana, address: str) -> Any:
        headers = {"Authorization": f"Bearer {ana.secret}"}
        async with httpx2.AsyncClient(base_url=f"{address}/api/v1", headers=headers) as client:
            yield client

    async def test_a_reported_consultation_bars_the_hosts_session(self, ana: Ana, rest: httpx2.AsyncClient) -> None:
        session, other = await ana.session(), await ana.session()
        reply = await rest.post("/wall/consultations", json={"source": SOURCE, "session": session})
        assert reply.status_code == 201
        await ana.is_refused(session=session)
        await ana.saves(session=other)

    async def test_a_report_without_a_handle_bars_the_whole_client(self, ana: Ana, rest: httpx2.AsyncClient) -> None:
        await rest.post("/wall/consultations", json={"source": SOURCE})
        await ana.is_refused(session=await ana.session())

    async def test_a_thread_that_consulted_is_barred_for_good_and_says_why(
        self, ana: Ana, rest: httpx2.AsyncClient, database: TestDatabase
    ) -> None:
        opened = [(await rest.post("/threads", json={"matter": "HV-1001"})).json()["id"] for _ in range(2)]
        in_thread = replace(ana.caller, thread_id=opened[0], client=None)
        await record_consultation(ana.backend, in_thread, SOURCE)
        date_back(database, ana.caller, hours=1000)
        said = {"text": LLC["content"]}
        reply = (await rest.post(f"/threads/{opened[0]}/messages", json=said)).json()
        assert reply["saved"] == [] and "NetDocuments" in reply["reply"]
        assert len((await rest.post(f"/threads/{opened[1]}/messages", json=said)).json()["saved"]) == 1


class TestRacing:
    async def test_a_write_waits_for_a_consultation_under_way_and_is_then_refused(
        self, ana: Ana, database: TestDatabase
    ) -> None:
        session = await ana.session()
        async with ana.backend.database.tenant(ana.caller) as transaction:
            await transaction.fetch("wall.hold_for_consultation")
            writing = asyncio.create_task(ana.is_refused(session=session))
            await blocked(database)
            assert not writing.done()
            await transaction.send(
                "wall.insert_consultation",
                id=new_id(),
                source=SOURCE,
                client=ana.caller.client,
                thread_id=None,
                session_hash=None,
            )
        await writing
        assert await ana.known_of_the_matter() == []

    async def test_a_consultation_waits_for_a_write_under_way(self, ana: Ana, database: TestDatabase) -> None:
        async with ana.backend.database.tenant(ana.caller) as transaction:
            await transaction.fetch("wall.hold_for_write")
            consulting = asyncio.create_task(ana.consults())
            await blocked(database)
            assert not consulting.done()
        await consulting
        await ana.is_refused()

    async def test_no_write_lands_after_a_consultation_is_committed(self, ana: Ana) -> None:
        session = await ana.session()
        first_lands = asyncio.Event()

        async def write(writer: int) -> None:
            for number in range(50):
                content = f"Writer {writer} says fact {number} about the client."
                arguments = {**LLC, "content": content, "session": session}
                if (await ana.client.call_tool("north__memory_save", arguments)).is_error:
                    return
                first_lands.set()
            raise AssertionError("the consultation never stopped this writer")

        writers = [asyncio.create_task(write(number)) for number in range(8)]
        await first_lands.wait()
        await ana.consults(session)
        landed = await ana.known_of_the_matter()
        await asyncio.gather(*writers)
        assert len(landed) >= 1
        assert sorted(await ana.known_of_the_matter()) == sorted(landed)


async def blocked(database: TestDatabase) -> None:
    """Wait until a transaction on this database waits for another one's lock."""
    waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    async with (
        await psycopg.AsyncConnection.connect(database.superuser_url, autocommit=True) as connection,
        asyncio.timeout(20),
    ):
        while True:
            cursor = await connection.execute(waiting)
            if await cursor.fetchone():
                return
