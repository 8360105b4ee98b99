"""Those who change the same at once: everybody gets an answer that holds, and no text is lost."""

from __future__ import annotations

import ast
import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

import north
from north.access.firms import add_user, create_firm
from north.access.login import log_in, log_out, session_user
from north.access.oauth import AuthorizationRequest, authorize
from north.access.oauth_clients import describe_client, register_client
from north.access.oauth_tokens import disconnect_program, grant_of_code, grant_of_refresh, oauth_caller, redeem, renew
from north.access.tokens import create_token, delete_token
from north.db.races import ATTEMPTS, LostRace, retried
from north.errors import AlreadyExists, DatabaseBusy
from north.memory.backend import Backend
from north.memory.both_buckets import rank_buckets
from north.memory.matters import create_matter
from north.memory.recall import note_uses
from north.memory.trust import sweep
from north.memory.wall import record_consultation
from north.model import Origin
from tests.conftest import PASSWORD, FirmOfTest, TestDatabase
from tests.faults.conftest import Client, draft, texts
from tests.memory.remembering import stored

Administrator = Callable[..., list[Any]]

EDITORS = 20
REDIRECT = "https://program.test/back"
VERIFIER_CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

# Every tenth statement that writes fails, in one of the ways in which Postgres asks to try again: hardly a transaction
# that writes much is spared, and none fails twice in a row for it.
UNLUCKY = """
create sequence writes;
grant usage on sequence writes to north_app, scheduler_role;
create function fail_now_and_then() returns trigger language plpgsql as $$
begin
    if nextval('writes') % 10 = 0 then
        raise exception 'unlucky' using errcode = case when random() < 0.5 then '40001' else '40P01' end;
    end if;
    return null;
end $$;
do $$
declare name text;
begin
    for name in select tablename from pg_tables
                where schemaname = 'public' and not starts_with(tablename, 'procrastinate') loop
        execute format('create trigger unlucky after insert or update on %I for each statement
                        execute function fail_now_and_then()', name);
    end loop;
end $$
"""


@pytest.fixture
def unlucky(administrator: Administrator, firm: FirmOfTest, secret: str) -> Iterator[None]:
    administrator(UNLUCKY)
    yield
    ((writes,),) = administrator("select last_value from writes")
    assert writes >= 10


class TestRetrying:
    async def test_is_never_seen_over_rest(self, ana: Client, unlucky: None) -> None:
        calls: list[tuple[str, str, Any, int]] = [
            ("POST", "/matters", {"number": "HV-2000", "name": "Retried"}, 201),
            ("POST", "/rules", {"action": "never_remember", "phrase": "a phrase"}, 201),
            ("POST", "/tokens", {"name": "another"}, 201),
            ("POST", "/wall/consultations", {"source": "netdocuments"}, 201),
            ("POST", "/threads", {}, 201),
        ]
        for method, path, body, status in calls:
            reply = await ana.request(method, path, json=body)
            assert reply.status_code == status, reply.text
        thread = reply.json()["id"]
        said = await ana.post(f"/threads/{thread}/messages", json={"text": "I always cite in Bluebook form."})
        assert (said.status_code, len(said.json()["saved"])) == (200, 1)
        for number in range(5):
            memory = (await ana.post("/memories", json=draft(f"Fact {number}."))).json()["memory"]
            changed = await ana.patch(f"/memories/{memory['id']}", json={"content": f"Fact {number}, put right."})
            there = f"/memories/{changed.json()['memory']['id']}"
            for reply in (await ana.delete(there), await ana.post(f"{there}/restore"), await ana.delete(there)):
                assert reply.status_code == 200, reply.text
        assert await texts(ana) == [said.json()["saved"][0]["content"]]

    async def test_is_never_seen_by_whoever_signs_in(self, beside: Backend, firm: FirmOfTest, unlucky: None) -> None:
        user, session = await log_in(beside, firm.ana.email, PASSWORD)
        assert await session_user(beside, session) == user
        await log_out(beside, session)
        assert await session_user(beside, session) is None
        token, _ = await create_token(beside, firm.a, "brief")
        await delete_token(beside, firm.a, token.id)
        organization_id = await create_firm(beside, "unlucky", "Unlucky LLP")
        await add_user(beside, organization_id, "new@unlucky.test", "New", PASSWORD)
        with pytest.raises(AlreadyExists):
            await create_matter(beside, firm.a, "HV-1001", "Once more")

    async def test_is_never_seen_by_a_connected_program(self, beside: Backend, firm: FirmOfTest, unlucky: None) -> None:
        client = describe_client("a-program", "Program", [REDIRECT], has_secret=False)
        await register_client(beside, client)
        code = await authorize(beside, firm.a, AuthorizationRequest(client, REDIRECT, VERIFIER_CHALLENGE, None))
        grant = await grant_of_code(beside, client.id, code)
        assert grant is not None
        tokens = await redeem(beside, grant)
        assert tokens is not None
        grant = await grant_of_refresh(beside, client.id, tokens.refresh)
        assert grant is not None
        newer = await renew(beside, grant)
        assert newer is not None
        caller = await oauth_caller(beside, newer.access, Origin.MCP)
        assert caller.user_id == firm.ana.id
        await record_consultation(beside, caller, "netdocuments")
        await note_uses(beside, caller, (await rank_buckets(beside, caller, "anything", None, 12)).memories)
        await disconnect_program(beside, firm.a, grant.id)

    async def test_ends_after_so_many_times(self) -> None:
        tries = itertools.count(1)

        @retried
        async def loses() -> None:
            next(tries)
            raise LostRace(None)

        with pytest.raises(DatabaseBusy):
            await loses()
        assert next(tries) == ATTEMPTS + 1

    async def test_is_not_needed_where_the_database_is_stricter_by_default(
        self, app: FastAPI, secret: str, administrator: Administrator
    ) -> None:
        """`serializable` would make all these fail again and again: North asks for the level that it is written for."""
        administrator("alter database THIS set default_transaction_isolation = 'serializable'")
        async with two_lawyers(app, secret) as (ana, _):
            memory = (await ana.post("/memories", json=draft("Fact 0."))).json()["memory"]

            async def change(number: int) -> set[int]:
                replies = [
                    await ana.post("/memories", json=draft(f"Fact {number % 3}.")),
                    await ana.patch(f"/memories/{memory['id']}", json={"content": f"Put right by {number}."}),
                    await ana.post("/threads"),
                ]
                return {reply.status_code for reply in replies}

            statuses = set[int]().union(*await asyncio.gather(*(change(number) for number in range(12))))
        assert statuses <= {200, 201, 409}


@pytest.fixture
async def colleague(beside: Backend, firm: FirmOfTest) -> str:
    return (await create_token(beside, firm.b, "test"))[1]


class two_lawyers:
    """Programs of one lawyer or two, for the block."""

    def __init__(self, app: FastAPI, *secrets: str) -> None:
        self._clients = [
            Client(
                transport=httpx2.ASGITransport(app),
                base_url="http://north.test/api/v1",
                headers={"Authorization": f"Bearer {secret}"},
            )
            for secret in (secrets * 2)[:2]
        ]

    async def __aenter__(self) -> list[Client]:
        return self._clients

    async def __aexit__(self, *_: object) -> None:
        for client in self._clients:
            await client.aclose()


class TestEditors:
    async def test_twenty_of_one_memory_leave_one_live_version_and_lose_no_text(
        self, app: FastAPI, secret: str, colleague: str, fresh_database: TestDatabase
    ) -> None:
        async with two_lawyers(app, secret, colleague) as clients:
            first = draft("Version 0.", scope="matter", matter="HV-1001")
            memory = (await clients[0].post("/memories", json=first)).json()["memory"]
            conflicts = 0

            async def add(number: int) -> None:
                """Add a word of one's own to the text that stands, on top of whoever was faster."""
                nonlocal conflicts
                current = memory
                while True:
                    text = f"{current['content']} Word {number}."
                    path = f"/memories/{current['id']}"
                    reply = await clients[number % 2].patch(path, json={"content": text})
                    if reply.status_code == 200:
                        assert reply.json()["memory"]["content"] == text
                        return
                    assert (reply.status_code, reply.json()["code"]) == (409, "conflict")
                    assert reply.json()["current"]["id"] != current["id"]
                    current, conflicts = reply.json()["current"], conflicts + 1

            await asyncio.gather(*(add(number) for number in range(1, EDITORS + 1)))
            (live,) = (await clients[0].get("/memories")).json()["memories"]
            versions = (await clients[1].get(f"/memories/{live['id']}/history")).json()["versions"]
        assert conflicts >= EDITORS - 1
        assert {f"Word {number}." in live["content"] for number in range(1, EDITORS + 1)} == {True}
        assert len(versions) == EDITORS + 1
        assert [version["status"] for version in versions] == ["active"] + ["superseded"] * EDITORS
        rows = stored(fresh_database, "select status::text, count(*) as rows from agent_memory_candidate group by 1")
        assert {row["status"]: row["rows"] for row in rows} == {"active": 1, "superseded": EDITORS}

    async def test_who_edit_delete_and_restore_at_once_leave_one_truth(
        self, app: FastAPI, secret: str, colleague: str, fresh_database: TestDatabase
    ) -> None:
        async with two_lawyers(app, secret, colleague) as clients:
            first = draft("Version 0.", scope="matter", matter="HV-1001")
            memory = (await clients[0].post("/memories", json=first)).json()["memory"]
            path = f"/memories/{memory['id']}"
            calls: list[Awaitable[httpx2.Response]] = []
            for number in range(8):
                client = clients[number % 2]
                calls += [client.patch(path, json={"content": f"Version {number + 1}."}), client.delete(path)]
                calls += [client.post(f"{path}/restore"), client.post("/memories", json=first)]
            replies = await asyncio.gather(*calls)
        assert {reply.status_code for reply in replies} <= {200, 201, 409}
        live = stored(
            fresh_database,
            """select supersedes_id, count(*) as rows from agent_memory_candidate where status = 'active'
               group by 1 having count(*) > 1""",
        )
        assert [row for row in live if row["supersedes_id"] is not None] == []
        terms = stored(
            fresh_database,
            """select m.id from agent_memory_candidate m where (m.status = 'active') <>
               exists (select from memory_term t where t.memory_id = m.id)""",
        )
        assert terms == []


class TestSweeps:
    async def test_three_at_once_write_one_rule_for_each_bucket(
        self, beside: Backend, ana: Client, firm: FirmOfTest, fresh_database: TestDatabase
    ) -> None:
        for number in range(6):
            memory = (await ana.post("/memories", json=draft(f"Fact {number}."))).json()["memory"]
            await ana.delete(f"/memories/{memory['id']}")
        swept = await asyncio.gather(*(sweep(fresh_database.scheduler_url) for _ in range(3)))
        assert sum(len(each.rules) for each in swept) == 1
        for table in ("memory_rule", "memory_rule_suggestion"):
            assert len(stored(fresh_database, f"select * from {table}")) == 1


MAY_LOSE = {("connect.py", "_answers"), ("importing.py", "commit")}
"""The question whether the database answers, and a part of a use case that is run again as a whole."""


def losing(node: ast.AST, name: str = "", *, runs_again: bool = False) -> Iterator[str]:
    """The functions that open a transaction and are not run again when it loses a race."""
    for child in ast.iter_child_nodes(node):
        inside, again = name, runs_again
        if isinstance(child, ast.AsyncFunctionDef):
            inside = child.name
            again = again or any(isinstance(each, ast.Name) and each.id == "retried" for each in child.decorator_list)
        opened = ast.unparse(child.items[0]) if isinstance(child, ast.AsyncWith) else ""
        if not again and (".tenant(" in opened or ".bound(" in opened):
            yield inside
        yield from losing(child, inside, runs_again=again)


def test_every_transaction_stands_in_a_function_that_is_run_again_when_it_loses_a_race() -> None:
    sources = Path(north.__file__).parent.rglob("*.py")
    found = {(path.name, name) for path in sources for name in losing(ast.parse(path.read_text(encoding="utf-8")))}
    assert found == MAY_LOSE
