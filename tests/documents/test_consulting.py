from __future__ import annotations

from dataclasses import replace

import psycopg
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from north.assembly import make_backend, opened
from north.connectors.netdocuments_oauth import Tokens
from north.documents.consulting import is_set_up, read_document, search_documents
from north.errors import (
    CabinetNotFound,
    DatabaseUnavailable,
    DocumentNotFound,
    InvalidInput,
    Misconfigured,
    NetDocumentsBusy,
    NetDocumentsDenied,
    NetDocumentsNotConnected,
    NetDocumentsUnavailable,
    SessionUnknown,
)
from north.memory.backend import Backend
from north.memory.save import save
from north.memory.wall import mint_session
from north.model import Caller, Draft, MemoryType, Outcome, RefusedByWall, Saved, Scope, new_id
from tests.conftest import FirmOfTest, TestDatabase
from tests.netdocuments import CABINET, LEASE, LEASE_TEXT, STANDING, NetDocumentsServer, connect

INFO, BODY = f"/v1/Document/{LEASE}/info", f"/v1/Document/{LEASE}"


def consultations(database: TestDatabase, caller: Caller) -> list[str]:
    with psycopg.connect(database.superuser_url) as connection:
        rows = connection.execute("select source from walled_consultation where user_id = %s", [caller.user_id])
        return [source for (source,) in rows]


def in_thread(caller: Caller) -> Caller:
    return replace(caller, thread_id=new_id())


async def save_for_matter(backend: Backend, caller: Caller) -> Outcome:
    draft = Draft(f"The client wants to settle, {new_id()}.", MemoryType.FACT, Scope.MATTER, "HV-1001")
    [outcome] = await save(backend, caller, [draft])
    return outcome


class TestSearching:
    async def test_asks_every_cabinet_of_the_lawyer_at_once(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens, server: NetDocumentsServer
    ) -> None:
        [found] = await search_documents(north, firm.a, "lease of Harbor Street")
        assert (found.id, found.name, found.version) == (LEASE, "Lease Harbor Street.txt", "2")
        assert server.queries[-1]["q"] == "lease of Harbor Street"
        assert server.queries[-1]["cabinets"] == f"{CABINET},NG-CAB2"

    @pytest.mark.parametrize("cabinet", [CABINET, "Client Documents", " client documents "])
    async def test_asks_one_cabinet_by_its_id_or_name(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens, server: NetDocumentsServer, cabinet: str
    ) -> None:
        [found] = await search_documents(north, firm.a, "lease", cabinet)
        assert (found.id, str(found.modified), found.modified_by) == (LEASE, "2024-07-01", "Ben Okafor")
        assert server.asked[-1] == f"/v1/Search/{CABINET}"

    async def test_in_an_unknown_cabinet_says_so(self, north: Backend, firm: FirmOfTest, tokens: Tokens) -> None:
        for cabinet in ("Litigation", "NG-GONE"):
            with pytest.raises(CabinetNotFound):
                await search_documents(north, firm.a, "lease", cabinet)

    @pytest.mark.parametrize("query", ["", "  ", "a\nb", "a\0b", "\ud800", "x" * 501])
    async def test_refuses_words_that_are_none(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens, server: NetDocumentsServer, query: str
    ) -> None:
        with pytest.raises(InvalidInput):
            await search_documents(north, firm.a, query)
        assert server.asked == []

    async def test_that_finds_nothing_is_a_consultation_too(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens, server: NetDocumentsServer, database: TestDatabase
    ) -> None:
        server.answers["/v2/search"] = JSONResponse({"standardList": []})
        assert await search_documents(north, firm.a, "lease") == []
        assert consultations(database, firm.a) == ["netdocuments"]


class TestReading:
    async def test_gives_the_text_and_what_is_known_of_it(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens
    ) -> None:
        document = await read_document(north, firm.a, LEASE)
        assert document.info.name == "Lease Harbor Street.txt"
        assert document.content is not None
        assert document.content.text == LEASE_TEXT

    async def test_without_a_profile_still_gives_the_content(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens, server: NetDocumentsServer, database: TestDatabase
    ) -> None:
        server.answers |= {INFO: Response("nonsense"), BODY: Response(LEASE_TEXT, media_type="text/plain")}
        document = await read_document(north, firm.a, LEASE)
        assert document.content is not None
        assert (document.info.title, document.content.text) == (LEASE, LEASE_TEXT)
        assert consultations(database, firm.a) == ["netdocuments"]

    @pytest.mark.parametrize("status", [403, 500])
    async def test_in_part_is_a_consultation(
        self,
        north: Backend,
        firm: FirmOfTest,
        tokens: Tokens,
        server: NetDocumentsServer,
        database: TestDatabase,
        status: int,
    ) -> None:
        server.answers[BODY] = Response(status_code=status)
        document = await read_document(north, firm.a, LEASE)
        assert document.content is None
        assert document.problem
        assert consultations(database, firm.a) == ["netdocuments"]


class TestTheWall:
    async def test_bars_matter_memory_of_the_thread_and_of_no_other(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens
    ) -> None:
        tainted, clean = in_thread(firm.a), in_thread(firm.a)
        await read_document(north, tainted, LEASE)
        assert await save_for_matter(north, tainted) == RefusedByWall("NetDocuments")
        assert isinstance(await save_for_matter(north, clean), Saved)
        [personal] = await save(north, tainted, [Draft("I like short memos.", MemoryType.PREFERENCE)])
        assert isinstance(personal, Saved)

    async def test_bars_a_host_by_its_handle(self, north: Backend, firm: FirmOfTest, tokens: Tokens) -> None:
        host = replace(firm.a, client="host")
        tainted, clean = (replace(host, session=mint_session(north, host)) for _ in range(2))
        await search_documents(north, tainted, "lease")
        assert await save_for_matter(north, tainted) == RefusedByWall("NetDocuments")
        assert isinstance(await save_for_matter(north, clean), Saved)
        assert await save_for_matter(north, host) == RefusedByWall("NetDocuments")

    async def test_reads_nothing_for_a_forged_handle(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens, server: NetDocumentsServer
    ) -> None:
        for session in ("forged", mint_session(north, firm.b)):
            with pytest.raises(SessionUnknown):
                await read_document(north, replace(firm.a, session=session), LEASE)
        assert server.asked == []

    @pytest.mark.parametrize("last_call", [BODY, "/v2/search"])
    async def test_that_cannot_be_recorded_means_that_nothing_is_handed_over(
        self,
        north: Backend,
        firm: FirmOfTest,
        tokens: Tokens,
        server: NetDocumentsServer,
        database: TestDatabase,
        last_call: str,
    ) -> None:
        """The database goes away after the last call to NetDocuments and before the record."""
        async with opened(make_backend(north.settings, database.place)) as failing:

            async def goes_away(request: Request) -> Response:
                await failing.database.close()
                return STANDING[last_call]

            server.answers[last_call] = goes_away
            with pytest.raises(DatabaseUnavailable):
                if last_call == BODY:
                    await read_document(failing, firm.a, LEASE)
                else:
                    await search_documents(failing, firm.a, "lease")
        assert server.asked[-1] == last_call
        assert consultations(database, firm.a) == []


class TestFailures:
    @pytest.mark.parametrize(
        ("status", "failure"),
        [
            (400, InvalidInput),
            (403, NetDocumentsDenied),
            (500, NetDocumentsUnavailable),
            (302, NetDocumentsUnavailable),
        ],
    )
    async def test_of_a_search_hand_over_nothing_and_are_no_consultation(
        self,
        north: Backend,
        firm: FirmOfTest,
        tokens: Tokens,
        server: NetDocumentsServer,
        database: TestDatabase,
        status: int,
        failure: type[Exception],
    ) -> None:
        server.answers["/v2/search"] = Response(status_code=status, headers={"Location": "https://elsewhere.test/"})
        with pytest.raises(failure):
            await search_documents(north, firm.a, "lease")
        assert consultations(database, firm.a) == []

    async def test_of_both_calls_of_a_reading_are_a_failure(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens, server: NetDocumentsServer, database: TestDatabase
    ) -> None:
        server.answers |= {INFO: Response(status_code=500), BODY: Response(status_code=500)}
        with pytest.raises(NetDocumentsUnavailable, match="answered with status 500"):
            await read_document(north, firm.a, LEASE)
        assert consultations(database, firm.a) == []

    @pytest.mark.parametrize("document_id", ["0000-0000-0000", "..", "../User/info", "a/b", "a?b", "a%2fb", "é", "."])
    async def test_of_an_id_that_is_none_read_nothing_else(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens, server: NetDocumentsServer, document_id: str
    ) -> None:
        with pytest.raises(DocumentNotFound):
            await read_document(north, firm.a, document_id)
        assert all(path.startswith("/v1/Document/0000") for path in server.asked)

    async def test_say_how_long_a_rate_limit_lasts(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens, server: NetDocumentsServer
    ) -> None:
        server.answers["/v2/search"] = Response(status_code=429, headers={"Retry-After": "3600"})
        with pytest.raises(NetDocumentsBusy, match="in 3600 seconds"):
            await search_documents(north, firm.a, "lease")

    async def test_of_the_server_itself_are_named(self, north: Backend, firm: FirmOfTest) -> None:
        settings = north.settings.model_copy(update={"netdocuments_region": "http://127.0.0.1:9"})
        away = replace(north, settings=settings)
        await connect(away, firm.a, NetDocumentsServer())
        with pytest.raises(NetDocumentsUnavailable, match="cannot be reached"):
            await search_documents(away, firm.a, "lease")


class TestSettingUp:
    def test_is_by_both_settings_or_by_none(self, backend: Backend, north: Backend) -> None:
        assert not is_set_up(backend)
        assert is_set_up(north)
        half = north.settings.model_copy(update={"netdocuments_client_secret": None})
        with pytest.raises(Misconfigured, match="set both or neither"):
            is_set_up(replace(north, settings=half))

    async def test_is_needed_for_reading(self, backend: Backend, firm: FirmOfTest) -> None:
        with pytest.raises(NetDocumentsNotConnected):
            await search_documents(backend, firm.a, "lease")
