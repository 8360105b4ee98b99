"""Files come in over HTTP by any of the ways, whole or not at all."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from north.access.tokens import create_token
from north.api.edge import BODY_LIMIT
from north.memory import imports
from north.memory.backend import Backend
from tests.api.conftest import Client, assert_problem
from tests.api.sending import FILE, kept, sent
from tests.conftest import FirmOfTest, TestDatabase
from tests.serving import serving

FIELDS = {
    "id", "status", "progress", "file_name", "created_at", "finished_at", "undone_at", "error", "report",
}  # fmt: skip
NOTHING_YET = {"seen": 0, "imported": 0, "skipped": {}, "failed": [], "failed_count": 0, "memories": 0}


class TestSendingAFile:
    async def test_as_a_form_answers_with_the_import_and_where_to_ask_for_it(
        self, ana: Client, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        reply = await ana.post("/imports", files={"file": ("My “export”.zip", FILE, "application/zip")})
        received = reply.json()
        assert reply.status_code == 202
        assert set(received) == FIELDS
        assert (received["status"], received["file_name"]) == ("queued", "My “export”.zip")
        assert (received["progress"], received["report"], received["error"]) == (0, NOTHING_YET, None)
        assert reply.headers["location"] == f"/api/v1/imports/{received['id']}"
        assert (await ana.get(f"/imports/{received['id']}")).json() == received
        assert (await ana.get("/imports")).json() == {"imports": [received]}
        assert kept(database, firm) == FILE

    @pytest.mark.parametrize(
        "media_type",
        ["application/zip", "application/json", "text/csv", "text/plain", "application/octet-stream", "a/b", "",
         "application/x-www-form-urlencoded"],
    )  # fmt: skip
    async def test_as_the_body_takes_any_media_type(
        self, ana: Client, database: TestDatabase, firm: FirmOfTest, media_type: str
    ) -> None:
        headers = {"Content-Type": media_type} if media_type else {}
        reply = await ana.post("/imports?name=../mine/list.txt", content=FILE, headers=headers)
        assert (reply.status_code, reply.json()["file_name"]) == (202, "list.txt")
        assert kept(database, firm) == FILE

    async def test_without_a_name_has_one_all_the_same(self, ana: Client) -> None:
        assert (await ana.post("/imports", content=FILE)).json()["file_name"]

    @pytest.mark.parametrize("name", ["a%00b%1b.txt", "%ed%a0%80", "%e2%80%aegpj.txt", "x" * 5000, "%2e%2e%2f", "%ff"])
    async def test_under_a_name_that_nobody_would_give_is_taken_under_another(self, ana: Client, name: str) -> None:
        reply = await ana.post(f"/imports?name={name}", content=FILE)
        assert reply.status_code == 202
        shown = reply.json()["file_name"]
        assert 1 <= len(shown) <= 200
        assert not set(shown) & {"\0", "\x1b", "\u202e", "/"}

    async def test_beside_other_fields_takes_the_file_alone(
        self, ana: Client, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        reply = await ana.post("/imports", data={"before": "x" * 100_000}, files={"file": ("a.txt", FILE)})
        assert reply.status_code == 202
        assert kept(database, firm) == FILE

    @pytest.mark.parametrize("size", [1, 7, 60, 1000])
    async def test_in_pieces_of_any_size_arrives_whole(
        self, ana: Client, database: TestDatabase, firm: FirmOfTest, size: int
    ) -> None:
        file = b"\r\n--edge\r\n-\r\n--edg" * 40 + b"\r\n"
        body = form(file, boundary="edge-of-it")

        async def in_pieces() -> AsyncIterator[bytes]:
            for at in range(0, len(body), size):
                yield body[at : at + size]

        reply = await ana.post("/imports", content=in_pieces(), headers=form_headers("edge-of-it"))
        assert reply.status_code == 202, reply.text
        assert kept(database, firm) == file

    async def test_over_the_limit_of_other_calls_is_what_this_one_is_for(
        self, ana: Client, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        file = bytes(range(256)) * (3 * BODY_LIMIT // 256)
        received = await sent(ana, file)
        assert kept(database, firm, received["id"]) == file

    async def test_needs_a_token_before_anything_is_read(self, anybody: Client) -> None:
        read: list[bytes] = []
        assert_problem(await anybody.post("/imports", content=noting(read)), 401, "not_signed_in")
        assert read == []


async def noting(read: list[bytes]) -> AsyncIterator[bytes]:
    """A body that notes when it is read."""
    read.append(FILE)
    yield FILE


def form(file: bytes, boundary: str = "x", disposition: str = 'form-data; name="file"; filename="a.txt"') -> bytes:
    """A form with one field, as it goes over the wire."""
    head = f"--{boundary}\r\nContent-Disposition: {disposition}\r\nContent-Type: text/plain\r\n\r\n"
    return head.encode() + file + f"\r\n--{boundary}--\r\n".encode()


def form_headers(boundary: str = "x") -> dict[str, str]:
    return {"Content-Type": f"multipart/form-data; boundary={boundary}"}


TWO_FILES = form(FILE)[: -len("--x--\r\n")] + form(FILE)


class TestWhatCannotBeUsed:
    @pytest.mark.parametrize(
        ("body", "headers", "status", "code"),
        [
            (b"", {}, 422, "import_empty"),
            (form(b""), form_headers(), 422, "import_empty"),
            (form(FILE, disposition='form-data; name="other"; filename="a.txt"'), form_headers(), 422, "file_missing"),
            (form(FILE, disposition="form-data"), form_headers(), 422, "file_missing"),
            (b"--x--\r\n", form_headers(), 422, "file_missing"),
            (b"", form_headers(), 400, "upload_broken"),
            (form(FILE)[:-9], form_headers(), 400, "upload_broken"),
            (form(FILE)[:40], form_headers(), 400, "upload_broken"),
            (TWO_FILES, form_headers(), 400, "malformed_form"),
            (b"no form at all", form_headers(), 400, "malformed_form"),
            (form(FILE), {"Content-Type": "multipart/form-data"}, 400, "malformed_form"),
            (form(FILE), {"Content-Type": "multipart/form-data; boundary="}, 400, "malformed_form"),
            (form(FILE), {"Content-Type": "multipart/mixed; boundary=x"}, 400, "malformed_form"),
            (form(FILE), form_headers("y" * 300), 400, "malformed_form"),
            (form(FILE, disposition="form-data; x=" + "y" * 5000), form_headers(), 400, "malformed_form"),
        ],
        ids=lambda value: value if isinstance(value, str) else None,
    )
    async def test_is_said_and_leaves_nothing_behind(
        self,
        ana: Client,
        database: TestDatabase,
        firm: FirmOfTest,
        body: bytes,
        headers: dict[str, str],
        status: int,
        code: str,
    ) -> None:
        assert_problem(await ana.post("/imports", content=body, headers=headers), status, code)
        assert kept(database, firm) == b""
        assert (await ana.get("/imports")).json() == {"imports": []}

    async def test_a_file_that_is_announced_as_too_large_is_refused_unread(self, ana: Client) -> None:
        read: list[bytes] = []
        headers = {"Content-Length": str(imports.IMPORT_LIMIT + 1), "Content-Type": "application/zip"}
        assert_problem(await ana.post("/imports", content=noting(read), headers=headers), 413, "import_too_large")
        assert read == []

    @pytest.mark.parametrize("as_form", [True, False], ids=["form", "body"])
    async def test_a_file_that_grows_too_large_is_refused_on_the_way(
        self,
        ana: Client,
        database: TestDatabase,
        firm: FirmOfTest,
        monkeypatch: pytest.MonkeyPatch,
        as_form: bool,
    ) -> None:
        monkeypatch.setattr("north.api.imports.IMPORT_LIMIT", 3_000_000)
        pieces = 0

        async def endless() -> AsyncIterator[bytes]:
            nonlocal pieces
            yield form(b"")[:-9] if as_form else b"x"
            while True:
                pieces += 1
                yield b"x" * 500_000

        reply = await ana.post("/imports", content=endless(), headers=form_headers() if as_form else {})
        assert_problem(reply, 413, "import_too_large")
        assert pieces == 6
        assert kept(database, firm) == b""

    async def test_other_calls_keep_their_limit(self, ana: Client) -> None:
        body = b" " * (BODY_LIMIT + 1)
        received = await sent(ana)
        json_type = {"Content-Type": "application/json"}
        for path in ("/memories", f"/imports/{received['id']}/undo/", f"/imports/{received['id']}", "/imports/"):
            reply = await ana.post(path, content=body, headers=json_type)
            assert reply.status_code in (404, 405, 413)
        assert_problem(await ana.post("/memories", content=body, headers=json_type), 413, "too_large")


PARTS_OF_A_FORM = (
    b"--x", b"--x--", b"\r\n", b"--", b"\r", b"Content-Disposition: form-data; name=\"file\"", b"Content-Disposition:",
    b"; filename*=utf-8''a", b"; filename=\"\xff", b": ", b"a", b"\0", FILE,
)  # fmt: skip


# The examples share one firm on purpose: what one left behind must not trip the next.
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(st.sampled_from(PARTS_OF_A_FORM) | st.binary(max_size=8), max_size=14))
async def test_no_form_is_a_fault(ana: Client, parts: list[bytes]) -> None:
    reply = await ana.post("/imports", content=b"--x\r\n" + b"".join(parts), headers=form_headers())
    assert reply.status_code < 500, reply.text
    assert reply.status_code == 202 or len(reply.json()["detail"]) > 10


@pytest.fixture
async def address(app: FastAPI) -> AsyncIterator[str]:
    """A real server, whose clients can go away in the middle."""
    async with serving(app, lifespan=False) as address:
        yield f"{address}/api/v1"


async def test_a_client_that_goes_away_in_the_middle_leaves_nothing_behind(
    backend: Backend, database: TestDatabase, firm: FirmOfTest, address: str
) -> None:
    _, secret = await create_token(backend, firm.a, "test")
    host, _, port = address.removeprefix("http://").partition("/")[0].partition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    head = (
        f"POST /api/v1/imports HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {secret}\r\n"
        "Content-Type: application/zip\r\nContent-Length: 50000000\r\n\r\n"
    )
    writer.write(head.encode() + b"x" * 3_000_000)
    await writer.drain()
    await until(lambda: len(kept(database, firm)) > 0)
    writer.close()
    await until(lambda: len(kept(database, firm)) == 0)
    async with Client(base_url=address, headers={"Authorization": f"Bearer {secret}"}) as ana:
        assert (await ana.get("/imports")).json() == {"imports": []}


async def until(condition: Callable[[], bool]) -> None:
    """Ask until it is so; what a server stores tells nobody."""
    async with asyncio.timeout(20):
        for _ in itertools.count():
            if condition():
                return
            await asyncio.sleep(0.02)
