from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import psycopg
import pytest
import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from north.connectors.netdocuments_oauth import Tokens
from north.documents.connection import connection_of, disconnect, store
from north.documents.consulting import search_documents
from north.documents.sealing import seal, unseal
from north.errors import NetDocumentsNotConnected, NetDocumentsRejected, NetDocumentsUnavailable
from north.memory.backend import Backend
from north.model import new_id
from tests.conftest import FirmOfTest, TestDatabase
from tests.netdocuments import CLIENT_SECRET, NetDocumentsServer, connect


class TestAConnection:
    async def test_is_its_owners_alone(
        self, north: Backend, firm: FirmOfTest, rival: FirmOfTest, tokens: Tokens, server: NetDocumentsServer
    ) -> None:
        for stranger in (firm.b, rival.a):
            assert await connection_of(north, stranger) is None
            with pytest.raises(NetDocumentsNotConnected, match="Connect it in Settings"):
                await search_documents(north, stranger, "lease")
            await disconnect(north, stranger)
        assert server.asked == []
        shown = await connection_of(north, firm.a)
        assert shown is not None
        assert shown.account == "Ana Ruiz"

    async def test_stands_nowhere_in_plain_text(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens, server: NetDocumentsServer, database: TestDatabase
    ) -> None:
        server.expire()
        await search_documents(north, firm.a, "lease")
        secrets = [*server.access, *server.refresh, tokens.access, tokens.refresh, CLIENT_SECRET]
        with psycopg.connect(database.superuser_url) as connection:
            rows = connection.execute("select c::text, sealed_tokens from connection c").fetchall()
        assert rows
        for text, sealed in rows:
            for secret in secrets:
                assert secret not in text
                assert secret.encode() not in sealed
                assert secret.encode().hex() not in text

    async def test_says_when_it_was_last_used(self, north: Backend, firm: FirmOfTest, tokens: Tokens) -> None:
        before = await connection_of(north, firm.a)
        await search_documents(north, firm.a, "lease")
        after = await connection_of(north, firm.a)
        assert before is not None and after is not None
        assert (before.last_used_at, after.last_used_at is not None) == (None, True)

    async def test_is_over_at_once_and_erased_when_its_owner_disconnects(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens, server: NetDocumentsServer, database: TestDatabase
    ) -> None:
        await disconnect(north, firm.a)
        with pytest.raises(NetDocumentsNotConnected):
            await search_documents(north, firm.a, "lease")
        assert server.asked == []
        with psycopg.connect(database.superuser_url) as connection:
            row = connection.execute(
                "select sealed_tokens, revoked_at is not null from connection where user_id = %s", [firm.ana.id]
            ).fetchone()
        assert row == (None, True)

    async def test_gives_way_to_a_new_one(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens, server: NetDocumentsServer
    ) -> None:
        await store(north, firm.a, server.issue(), "Ana at another repository")
        shown = await connection_of(north, firm.a)
        assert shown is not None
        assert shown.account == "Ana at another repository"

    async def test_shows_no_hidden_or_endless_account_name(
        self, north: Backend, firm: FirmOfTest, server: NetDocumentsServer
    ) -> None:
        await store(north, firm.a, server.issue(), "Ana\0\u202e\ud800" + "!" * 5000)
        shown = await connection_of(north, firm.a)
        assert shown is not None
        assert shown.account == "Ana" + "!" * 197


class TestTheSeal:
    key = bytes(32)
    pair = Tokens("the access token", "the refresh token")

    def test_opens_for_its_own_row_alone(self, firm: FirmOfTest, rival: FirmOfTest) -> None:
        row = new_id()
        sealed = seal(self.key, firm.a, row, self.pair)
        assert unseal(self.key, firm.a, row, sealed) == self.pair
        assert unseal(self.key, firm.b, row, sealed) is None
        assert unseal(self.key, rival.a, row, sealed) is None
        assert unseal(self.key, firm.a, new_id(), sealed) is None
        assert unseal(b"\1" * 32, firm.a, row, sealed) is None
        assert unseal(self.key, firm.a, row, sealed[:-1] + bytes([sealed[-1] ^ 1])) is None
        assert unseal(self.key, firm.a, row, b"") is None

    def test_is_another_each_time_and_hides_the_tokens(self, firm: FirmOfTest) -> None:
        row = new_id()
        first, second = (seal(self.key, firm.a, row, self.pair) for _ in range(2))
        assert first != second
        assert b"token" not in first
        assert "token" not in repr(self.pair)

    async def test_under_another_secret_key_is_a_lost_connection(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens
    ) -> None:
        with pytest.raises(NetDocumentsNotConnected):
            await search_documents(replace(north, secret_key=b"\1" * 32), firm.a, "lease")


class TestRenewing:
    @pytest.mark.parametrize("rotating", [True, False])
    async def test_happens_once_and_unseen_when_a_token_is_refused(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens, server: NetDocumentsServer, rotating: bool
    ) -> None:
        server.rotating = rotating
        for _ in range(2):
            server.expire()
            assert await search_documents(north, firm.a, "lease")
        assert [grant["grant_type"] for grant in server.grants] == ["refresh_token"] * 2
        assert await search_documents(north, firm.a, "lease")
        assert len(server.grants) == 2

    async def test_of_many_at_once_asks_once_and_serves_all(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens, server: NetDocumentsServer
    ) -> None:
        server.expire()
        found = await asyncio.gather(*(search_documents(north, firm.a, "lease") for _ in range(5)))
        assert all(found)
        assert len(server.grants) == 1

    async def test_that_has_begun_is_stored_though_nobody_waits_any_more(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens, server: NetDocumentsServer
    ) -> None:
        server.expire()
        asked, answer = asyncio.Event(), asyncio.Event()

        async def slow(request: Request) -> Response:
            asked.set()
            await answer.wait()
            del server.answers["/v1/OAuth"]
            return await server.token(request)

        server.answers["/v1/OAuth"] = slow
        stopped = asyncio.create_task(search_documents(north, firm.a, "lease"))
        await asked.wait()
        stopped.cancel()
        await asyncio.wait([stopped])
        answer.set()
        assert await search_documents(north, firm.a, "lease")
        assert server.refresh.isdisjoint({tokens.refresh})

    async def test_ends_the_connection_when_the_authorization_has_ended(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens, server: NetDocumentsServer
    ) -> None:
        server.expire()
        server.refresh.clear()
        with pytest.raises(NetDocumentsNotConnected):
            await search_documents(north, firm.a, "lease")
        assert await connection_of(north, firm.a) is None

    @pytest.mark.parametrize(
        ("answer", "failure"),
        [
            (Response(status_code=503), NetDocumentsUnavailable),
            (Response("<html>busy</html>", media_type="text/html"), NetDocumentsUnavailable),
            (JSONResponse({"access_token": 7}), NetDocumentsUnavailable),
            (JSONResponse([]), NetDocumentsUnavailable),
            (JSONResponse({"error": "invalid_client"}, 401), NetDocumentsRejected),
            (JSONResponse({"error": "invalid_request"}, 400), NetDocumentsNotConnected),
        ],
    )
    async def test_that_fails_for_another_reason_keeps_the_connection_for_the_next_try(
        self,
        north: Backend,
        firm: FirmOfTest,
        tokens: Tokens,
        server: NetDocumentsServer,
        answer: Response,
        failure: type[Exception],
    ) -> None:
        server.expire()
        server.answers["/v1/OAuth"] = answer
        with pytest.raises(failure):
            await search_documents(north, firm.a, "lease")
        del server.answers["/v1/OAuth"]
        assert await search_documents(north, firm.a, "lease")

    async def test_does_not_bring_back_what_was_disconnected_meanwhile(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens, server: NetDocumentsServer
    ) -> None:
        async def disconnected(request: Request) -> Response:
            await disconnect(north, firm.a)
            del server.answers["/v1/OAuth"]
            return await server.token(request)

        server.expire()
        server.answers["/v1/OAuth"] = disconnected
        with pytest.raises(NetDocumentsNotConnected):
            await search_documents(north, firm.a, "lease")
        assert await connection_of(north, firm.a) is None

    async def test_goes_on_when_the_one_who_began_it_died(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens, server: NetDocumentsServer, database: TestDatabase
    ) -> None:
        server.expire()
        with psycopg.connect(database.superuser_url) as connection:
            connection.execute(
                "update connection set claimed_until = now() + interval '0.3 s' where user_id = %s", [firm.ana.id]
            )
        assert await search_documents(north, firm.a, "lease")
        assert len(server.grants) == 1

    async def test_that_is_refused_again_is_no_endless_loop(
        self, north: Backend, firm: FirmOfTest, tokens: Tokens, server: NetDocumentsServer
    ) -> None:
        server.answers["/v1/User/cabinets"] = Response(status_code=401)
        with pytest.raises(NetDocumentsNotConnected):
            await search_documents(north, firm.a, "lease")
        assert len(server.grants) == 1

    async def test_logs_neither_tokens_nor_search_words(
        self,
        north: Backend,
        firm: FirmOfTest,
        tokens: Tokens,
        server: NetDocumentsServer,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        caplog.set_level(logging.DEBUG)
        server.expire()
        server.refresh.clear()
        with structlog.testing.capture_logs() as logs, pytest.raises(NetDocumentsNotConnected):
            await search_documents(north, firm.a, "the Harbor lease")
        await connect(north, firm.a, server)
        server.answers["/v2/search"] = Response(status_code=500)
        with structlog.testing.capture_logs() as more, pytest.raises(NetDocumentsUnavailable):
            await search_documents(north, firm.a, "the Harbor lease")
        written = f"{logs}{more}{caplog.text}"
        assert "netdocuments_call_failed" in written
        for secret in ("access-secret", "refresh-secret", CLIENT_SECRET, "Harbor"):
            assert secret not in written
