"""Imports over HTTP: looked at, cancelled, undone; and the whole story of one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import httpx2
import pytest

from north.memory.backend import Backend
from tests.api.conftest import NEVER_AN_ID, Client, assert_problem
from tests.api.sending import kept, sent
from tests.conftest import FirmOfTest, TestDatabase
from tests.exports import chatgpt_shards, read

ON_AN_IMPORT: dict[str, Callable[[Client, str], Awaitable[httpx2.Response]]] = {
    "get": lambda client, name: client.get(f"/imports/{name}"),
    "cancel": lambda client, name: client.post(f"/imports/{name}/cancel"),
    "undo": lambda client, name: client.post(f"/imports/{name}/undo"),
}


class TestSomebodyElsesImport:
    @pytest.mark.parametrize("call", ON_AN_IMPORT.values(), ids=ON_AN_IMPORT)
    async def test_answers_as_none(
        self,
        ana: Client,
        ben: Client,
        stranger: Client,
        call: Callable[[Client, str], Awaitable[httpx2.Response]],
    ) -> None:
        received = await sent(ana)
        for client in (ben, stranger):
            foreign, absent, nonsense = [await call(client, name) for name in (received["id"], NEVER_AN_ID, "zzz")]
            assert_problem(foreign, 404, "import_not_found")
            assert foreign.content == absent.content == nonsense.content
            assert sorted(foreign.headers.items()) == sorted(absent.headers.items())
        assert (await ana.get(f"/imports/{received['id']}")).json() == received

    async def test_is_in_no_list(self, ana: Client, ben: Client, stranger: Client) -> None:
        await sent(ana)
        for client in (ben, stranger):
            assert (await client.get("/imports")).json() == {"imports": []}


class TestCancelling:
    async def test_ends_an_import_that_waits(self, ana: Client, database: TestDatabase, firm: FirmOfTest) -> None:
        received = await sent(ana)
        cancelled = (await ana.post(f"/imports/{received['id']}/cancel")).json()
        assert (cancelled["status"], cancelled["error"]) == ("cancelled", None)
        assert cancelled["finished_at"]
        assert kept(database, firm) == b""

    async def test_again_says_that_it_has_ended(self, ana: Client) -> None:
        received = await sent(ana)
        await ana.post(f"/imports/{received['id']}/cancel")
        assert_problem(await ana.post(f"/imports/{received['id']}/cancel"), 409, "import_ended")


async def test_undoing_an_import_that_runs_says_to_cancel_it_first(ana: Client) -> None:
    received = await sent(ana)
    assert_problem(await ana.post(f"/imports/{received['id']}/undo"), 409, "import_running")


async def test_the_newest_import_comes_first(ana: Client) -> None:
    names = ["first.txt", "second.txt", "third.txt"]
    for name in names:
        await sent(ana, name=name)
    assert [each["file_name"] for each in (await ana.get("/imports")).json()["imports"]] == names[::-1]


class TestTheWholeStory:
    async def test_of_an_export_that_is_read_and_undone(
        self, ana: Client, ben: Client, backend: Backend, firm: FirmOfTest
    ) -> None:
        export = chatgpt_shards()
        received = await sent(ana, export, "chatgpt.zip")
        await read(backend, firm.a, received["id"])
        finished = (await ana.get(f"/imports/{received['id']}")).json()
        assert (finished["status"], finished["progress"], finished["error"]) == ("finished", 1, None)
        report = finished["report"]
        assert report["seen"] == report["imported"] + sum(report["skipped"].values()) + report["failed_count"]
        assert report["failed"] == [
            {"conversation": "Corrupted entry", "reason": "It has no messages: its `mapping` is missing."}
        ]
        memories = (await ana.get("/memories")).json()["memories"]
        assert len(memories) == report["memories"] == 4
        assert {(each["origin"], each["scope"]) for each in memories} == {("import", "user_private")}
        (sre,) = [each for each in memories if each["content"] == "The user is an SRE."]
        assert sre["created_at"].startswith("2025-08-24T01:46:40")
        assert sre["source"]["label"] == "ChatGPT · About you"
        assert (await ben.get("/memories")).json()["memories"] == []

        again = await sent(ana, export, "chatgpt.zip")
        assert (await read(backend, firm.a, again["id"])).report.memories == 0
        assert (await ana.get(f"/imports/{again['id']}")).json()["report"]["skipped"]["already_imported"] == 6

        undone = await ana.post(f"/imports/{received['id']}/undo")
        assert undone.json() == (await ana.get(f"/imports/{received['id']}")).json()
        assert undone.json()["undone_at"]
        assert (await ana.get("/memories")).json()["memories"] == []
        assert (await ana.post(f"/imports/{received['id']}/undo")).json() == undone.json()

    async def test_of_a_file_that_is_no_export(self, ana: Client, backend: Backend, firm: FirmOfTest) -> None:
        received = await sent(ana, b'{"nothing": "of use"}', "notes.json")
        await read(backend, firm.a, received["id"])
        failed = (await ana.get(f"/imports/{received['id']}")).json()
        assert (failed["status"], failed["error"]["code"]) == ("failed", "export_not_recognised")
        assert "It reads exports of ChatGPT" in failed["error"]["detail"]
        assert failed["finished_at"]
