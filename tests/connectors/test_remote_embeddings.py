from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
from collections.abc import AsyncIterator, Iterator

import numpy as np
import pytest
import pytest_asyncio
import structlog
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from north.connectors.embeddings import LONGEST_TEXT, Embedder, make_embedder
from north.connectors.remote_embeddings import RemoteEmbedder
from north.errors import EmbedderUnavailable

QUESTION = "How should I cite a case?"
ANSWER = "The lawyer wants citations in Bluebook form."
OTHER = "The client is a Delaware LLC."

NAME = "openai:text-embedding-3-small"
PATH = "/v1/embeddings"
SECRET = "sk-test-secret"


@pytest.fixture
def provider(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> HTTPServer:
    """A server that speaks OpenAI's wire format, where the environment says OpenAI is."""
    monkeypatch.setenv("OPENAI_BASE_URL", httpserver.url_for("/v1"))
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    return httpserver


@pytest_asyncio.fixture(loop_scope="session")
async def remote(provider: HTTPServer) -> AsyncIterator[Embedder]:
    embedder = make_embedder(NAME)
    yield embedder
    await embedder.aclose()


@pytest.fixture
def stuck() -> Iterator[threading.Event]:
    """What a server that never answers waits for."""
    event = threading.Event()
    yield event
    event.set()


def embeddings(*vectors: object) -> dict[str, object]:
    """OpenAI's answer to a request for embeddings."""
    data = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors)]
    usage = {"prompt_tokens": 3, "total_tokens": 3}
    return {"object": "list", "data": data, "model": "text-embedding-3-small", "usage": usage}


class TestRemoteEmbedder:
    async def test_brings_the_providers_vectors_at_length_one(self, remote: Embedder, provider: HTTPServer) -> None:
        provider.expect_request(PATH, method="POST", headers={"Authorization": f"Bearer {SECRET}"}).respond_with_json(
            embeddings([3.0, 4.0], [0.0, -2.0])
        )
        vectors = await remote.embed([ANSWER, OTHER])
        np.testing.assert_allclose(np.array(vectors), np.array([[0.6, 0.8], [0, -1]]), atol=1e-6)
        request = provider.log[0][0].get_json()
        assert (request["model"], request["input"]) == ("text-embedding-3-small", [ANSWER, OTHER])
        assert (remote.name, remote.local, remote.available) == (NAME, False, True)

    async def test_asks_nobody_about_nothing(self, remote: Embedder, provider: HTTPServer) -> None:
        assert await remote.embed([]) == []
        assert provider.log == []

    async def test_sends_the_beginning_of_a_long_text(self, remote: Embedder, provider: HTTPServer) -> None:
        provider.expect_request(PATH).respond_with_json(embeddings([1.0]))
        await remote.embed(["\ud83d" + "x" * 50_000], query=True)
        assert provider.log[0][0].get_json()["input"] == ["?" + "x" * (LONGEST_TEXT - 1)]

    @pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503])
    async def test_reports_a_refusal_after_one_request(
        self, remote: Embedder, provider: HTTPServer, status: int
    ) -> None:
        provider.expect_request(PATH).respond_with_json(
            {"error": {"message": f"no: {QUESTION} {SECRET}"}}, status=status, headers={"Retry-After": "30"}
        )
        with structlog.testing.capture_logs() as logs, pytest.raises(EmbedderUnavailable, match=str(status)) as failure:
            await remote.embed([QUESTION], query=True)
        assert len(provider.log) == 1
        assert len(logs) == 1
        for told in (str(failure.value), repr(logs)):
            assert QUESTION not in told
            assert SECRET not in told

    @pytest.mark.parametrize(
        ("body", "content_type"),
        [
            ("<html>busy</html>", "application/json"),
            ("<html>busy</html>", "text/html"),
            ("{}", "application/json"),
            ("null", "application/json"),
            ("[1, 2]", "application/json"),
            ('{"data": [{"embedding": "not base64!"}]}', "application/json"),
            ("", "application/json"),
        ],
    )
    async def test_reports_an_answer_that_is_no_answer(
        self, remote: Embedder, provider: HTTPServer, body: str, content_type: str
    ) -> None:
        provider.expect_request(PATH).respond_with_data(body, content_type=content_type)
        with pytest.raises(EmbedderUnavailable, match="cannot be used"):
            await remote.embed([QUESTION])

    @pytest.mark.parametrize(
        "vectors",
        [
            [],
            [[1.0, 0.0]],
            [[1.0, 0.0]] * 3,
            [[1.0, 0.0], [1.0]],
            [[1.0, 0.0], [0.0, 0.0]],
            [[1.0, 0.0], [float("nan"), 0.0]],
            [[1.0, 0.0], [float("inf"), 0.0]],
            [[1.0, 0.0], [None, 0.0]],
            [[], []],
        ],
        ids=["none", "too few", "too many", "ragged", "zero", "NaN", "infinite", "null", "empty"],
    )
    async def test_takes_all_vectors_or_none(
        self, remote: Embedder, provider: HTTPServer, vectors: list[object]
    ) -> None:
        provider.expect_request(PATH).respond_with_json(embeddings(*vectors))
        with pytest.raises(EmbedderUnavailable, match="cannot be used"):
            await remote.embed([ANSWER, OTHER])

    @pytest.mark.parametrize("query", [True, False])
    async def test_does_not_wait_for_a_slow_provider(
        self, provider: HTTPServer, stuck: threading.Event, query: bool
    ) -> None:
        def never(request: Request) -> Response:
            stuck.wait(30)
            return Response(status=503)

        provider.expect_request(PATH).respond_with_handler(never)
        patient, hasty = 20.0, 0.05
        embedder = RemoteEmbedder(
            NAME, query_seconds=hasty if query else patient, document_seconds=patient if query else hasty
        )
        with pytest.raises(EmbedderUnavailable, match=r"did not answer within 0\.05 seconds"):
            await embedder.embed([QUESTION], query=query)
        await embedder.aclose()

    async def test_reports_that_nobody_listens(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
            monkeypatch.setenv("OPENAI_API_KEY", SECRET)
            embedder = make_embedder(NAME)
            with pytest.raises(EmbedderUnavailable, match="cannot be reached"):
                await embedder.embed([QUESTION], query=True)
            await embedder.aclose()

    async def test_works_again_when_the_provider_does(self, remote: Embedder, provider: HTTPServer) -> None:
        provider.expect_ordered_request(PATH).respond_with_json({}, status=500)
        provider.expect_ordered_request(PATH).respond_with_json(embeddings([1.0, 0.0]))
        with pytest.raises(EmbedderUnavailable):
            await remote.embed([QUESTION])
        assert len(await remote.embed([QUESTION])) == 1

    async def test_hangs_up_when_it_is_closed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        hung_up = asyncio.Event()

        async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head.lower())
            assert length is not None
            await reader.readexactly(int(length[1]))
            body = json.dumps(embeddings([1.0])).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
            writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            assert await reader.read() == b""
            writer.close()
            hung_up.set()

        async with await asyncio.start_server(answer_once, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{port}/v1")
            monkeypatch.setenv("OPENAI_API_KEY", SECRET)
            embedder = make_embedder(NAME)
            await embedder.embed([QUESTION])
            assert not hung_up.is_set()
            await embedder.aclose()
            await asyncio.wait_for(hung_up.wait(), 10)
