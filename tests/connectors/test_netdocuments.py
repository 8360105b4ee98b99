from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from north.connectors.netdocuments import ANSWER_LIMIT, HITS, NetDocuments
from north.connectors.netdocuments_content import TEXT_LIMIT, Content
from north.connectors.netdocuments_oauth import authorization_url, http_client, registration
from north.errors import (
    Misconfigured,
    NetDocumentsBusy,
    NetDocumentsNotConnected,
    NetDocumentsUnavailable,
)
from north.settings import Settings
from tests.netdocuments import CABINET, LEASE, NetDocumentsServer, netdocuments_server

BODY = f"/v1/Document/{LEASE}"


class Given:
    """An access token that nobody renews."""

    def __init__(self, access: str) -> None:
        self.access = access

    async def token(self) -> str:
        return self.access

    async def renewed(self, refused: str) -> str:
        raise NetDocumentsNotConnected


@pytest.fixture
async def server() -> AsyncIterator[NetDocumentsServer]:
    async with netdocuments_server() as running:
        yield running


@pytest.fixture
async def client(server: NetDocumentsServer) -> AsyncIterator[NetDocuments]:
    async with http_client() as http:
        yield NetDocuments(http, server.url, Given(server.issue().access))


class TestPatience:
    @pytest.mark.parametrize(
        "value",
        ["0", format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)],
        ids=["zero", "an hour ago"],
    )
    async def test_asks_again_after_a_rate_limit(
        self, client: NetDocuments, server: NetDocumentsServer, value: str
    ) -> None:
        answers = iter([Response(status_code=429, headers={"Retry-After": value}), JSONResponse({"id": "ana"})])

        async def limited(request: Request) -> Response:
            return next(answers)

        server.answers["/v1/User/info"] = limited
        assert await client.account() == "ana"

    @pytest.mark.parametrize(
        "value",
        ["11", "999999999999", format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)],
        ids=["seconds", "for ever", "in an hour"],
    )
    async def test_gives_up_at_once_when_the_wait_is_too_long(
        self, client: NetDocuments, server: NetDocumentsServer, value: str
    ) -> None:
        server.answers["/v1/User/info"] = Response(status_code=429, headers={"Retry-After": value})
        with pytest.raises(NetDocumentsBusy):
            await client.account()
        assert len(server.asked) == 1

    async def test_ends_though_the_server_always_says_at_once(
        self, client: NetDocuments, server: NetDocumentsServer
    ) -> None:
        server.answers["/v1/User/info"] = Response(status_code=429, headers={"Retry-After": "0"})
        with pytest.raises(NetDocumentsBusy):
            await client.account()
        assert len(server.asked) < 15

    async def test_ends_when_the_server_is_silent(self, server: NetDocumentsServer) -> None:
        never = asyncio.Event()

        async def silent(request: Request) -> Response:
            await never.wait()
            return Response()

        server.answers["/v1/User/info"] = silent
        async with http_client(silence_seconds=0.1) as http:
            slow = NetDocuments(http, server.url, Given(server.issue().access))
            with pytest.raises(NetDocumentsUnavailable, match="did not answer in time"):
                await slow.account()
        never.set()


class TestOddAnswers:
    @pytest.mark.parametrize(
        "body", ["", "null", "[]", "7", '"text"', "{}", '{"standardList": {}}', '{"list": [1, null]}']
    )
    async def test_without_records_are_no_hits(
        self, client: NetDocuments, server: NetDocumentsServer, body: str
    ) -> None:
        server.answers[f"/v1/Search/{CABINET}"] = Response(body or "[]")
        assert await client.search("lease", CABINET) == []

    @pytest.mark.parametrize("body", ["", "<html>", "{", "[" * 100_000, "\xff"])
    async def test_that_are_no_json_are_a_named_failure(
        self, client: NetDocuments, server: NetDocumentsServer, body: str
    ) -> None:
        server.answers[f"/v1/Search/{CABINET}"] = Response(body)
        with pytest.raises(NetDocumentsUnavailable, match="cannot be used"):
            await client.search("lease", CABINET)

    async def test_that_are_far_too_long_are_a_named_failure(
        self, client: NetDocuments, server: NetDocumentsServer
    ) -> None:
        server.answers["/v1/User/info"] = Response(b" " * (ANSWER_LIMIT + 1))
        with pytest.raises(NetDocumentsUnavailable, match="cannot be used"):
            await client.account()

    async def test_with_too_many_hits_are_cut(self, client: NetDocuments, server: NetDocumentsServer) -> None:
        server.answers[f"/v1/Search/{CABINET}"] = JSONResponse({"list": [{"id": str(at)} for at in range(500)]})
        assert len(await client.search("lease", CABINET)) == HITS

    async def test_that_redirect_are_not_followed_with_the_token(
        self, client: NetDocuments, server: NetDocumentsServer
    ) -> None:
        server.answers["/v1/User/info"] = Response(status_code=302, headers={"Location": f"{server.url}/v1/elsewhere"})
        with pytest.raises(NetDocumentsUnavailable):
            await client.account()
        assert server.asked == ["/v1/User/info"]


async def content_of(
    client: NetDocuments, server: NetDocumentsServer, body: bytes, media_type: str, extension: str | None = None
) -> Content:
    server.answers[BODY] = Response(body, headers={"Content-Type": media_type} if media_type else {})
    return await client.content(LEASE, extension)


class TestContent:
    @pytest.mark.parametrize(
        ("body", "media_type", "extension"),
        [
            ("Die Prüfung".encode(), "text/plain", None),
            ("Die Prüfung".encode(), "text/plain; charset=no-such-charset", None),
            ("Die Prüfung".encode(), "application/octet-stream", "TXT"),
            ("Die Prüfung".encode(), "", ".md"),
            ("Die Prüfung".encode("utf-8-sig"), "text/plain", None),
            ("Die Prüfung".encode("utf-16"), "text/plain", None),
            ("Die Prüfung".encode("cp1252"), "text/plain", None),
            ("Die Prüfung".encode("latin-1"), "text/csv; charset=iso-8859-1", None),
            ("Die Prüfung".encode(), "application/vnd.firm+json", None),
        ],
    )
    async def test_that_is_text_is_decoded(
        self, client: NetDocuments, server: NetDocumentsServer, body: bytes, media_type: str, extension: str | None
    ) -> None:
        assert (await content_of(client, server, body, media_type, extension)).text == "Die Prüfung"

    @pytest.mark.parametrize(
        ("body", "media_type", "extension"),
        [
            (b"%PDF-1.7", "application/pdf", None),
            (b"PK\x03\x04", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
            (b"%PDF-1.7", "application/octet-stream", "pdf"),
            (b"anything", "", None),
            (b"MZ\0\0\x01", "text/plain", "txt"),
        ],
    )
    async def test_that_is_no_text_is_said_to_be_none(
        self, client: NetDocuments, server: NetDocumentsServer, body: bytes, media_type: str, extension: str | None
    ) -> None:
        assert (await content_of(client, server, body, media_type, extension)).text is None

    async def test_that_is_long_is_cut_and_said_to_be(self, client: NetDocuments, server: NetDocumentsServer) -> None:
        long = await content_of(client, server, b"x" * (TEXT_LIMIT + 1), "text/plain")
        assert (long.text, long.cut) == ("x" * TEXT_LIMIT, True)
        whole = await content_of(client, server, b"x" * TEXT_LIMIT, "text/plain")
        assert (whole.text, whole.cut) == ("x" * TEXT_LIMIT, False)

    async def test_that_is_huge_is_not_read_to_its_end(self, client: NetDocuments, server: NetDocumentsServer) -> None:
        left = asyncio.Event()

        async def huge(request: Request) -> Response:
            async def pieces() -> AsyncIterator[bytes]:
                while not left.is_set():  # unless the reader stops, this has no end
                    yield "ü".encode() * 25_000
                    await asyncio.sleep(0)

            return StreamingResponse(pieces(), media_type="text/plain")

        server.answers[BODY] = huge
        content = await client.content(LEASE)
        left.set()
        assert content.text == "ü" * TEXT_LIMIT
        assert content.cut


def settings(**changes: str) -> Settings:
    secret = {"netdocuments_client_secret": "s", "netdocuments_client_id": "AP-1"}
    return Settings.model_validate({**secret, **changes})


class TestRegions:
    @pytest.mark.parametrize(
        ("region", "web", "api"),
        [
            ("us", "https://vault.netvoyage.com", "https://api.vault.netvoyage.com"),
            ("EU", "https://eu.netdocuments.com", "https://api.eu.netdocuments.com"),
            ("ca", "https://can.netdocuments.com", "https://api.can.netdocuments.com"),
            ("ducot.netdocuments.com", "https://ducot.netdocuments.com", "https://api.ducot.netdocuments.com"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ],
    )
    def test_lead_to_the_login_and_the_api(self, region: str, web: str, api: str) -> None:
        known = registration(settings(netdocuments_region=region))
        assert known is not None
        assert (known.web_url, known.api_url) == (web, api)
        assert authorization_url(known, "https://north.test/back", "a state").startswith(
            f"{web}/neWeb2/OAuth.aspx?client_id=AP-1&scope=read&response_type=code&redirect_uri=https%3A%2F%2Fnorth.test"
        )

    @pytest.mark.parametrize(
        "region", ["mars", "http://eu.netdocuments.com", "ftp://x.test", "a b.test", "x.test/path"]
    )
    def test_that_are_none_are_refused_at_the_start(self, region: str) -> None:
        with pytest.raises(Misconfigured, match="NORTH_NETDOCUMENTS_REGION"):
            registration(settings(netdocuments_region=region))

    def test_keep_the_secret_out_of_sight(self) -> None:
        known = registration(settings(netdocuments_client_secret="very secret"))
        assert "very secret" not in repr(known)
