from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest

from north.memory.backend import Backend
from north.memory.imports import IMPORT_LIMIT, cancel_import, list_imports
from north.model import FailedConversation, Import, ImportReport, ImportStatus, new_id
from north.web.import_wording import SKIPPED, memories_in_words, report_in_words
from north.web.pages import render_fragment
from tests.conftest import FirmOfTest
from tests.web.conftest import HTMX, page_of

IMPORTS = "/settings/import"
LAWYERS_PAGE = Path(__file__).parents[2] / "docs" / "lawyers" / "import.md"
PARTS = "parts/imports.html"
LIST = b"[2026-03-02] - Prefers short letters without Latin.\n"
HOSTILE = "<img src=x onerror=alert(1)>"
NOW = datetime(2026, 3, 2, tzinfo=UTC)
REPORT = ImportReport(
    seen=312,
    imported=290,
    skipped={"do_not_remember": 5, "already_imported": 15},
    failed=(FailedConversation(HOSTILE, f"It holds {HOSTILE}."), FailedConversation("Lease", "It has no end.")),
    failed_count=2,
    memories=118,
)
ENDED = Import(new_id(), f"{HOSTILE}.zip", ImportStatus.FINISHED, 1, REPORT, NOW, NOW)


def shown(brought: Import) -> str:
    """The words of an import on the page."""
    return page_of(httpx2.Response(200, text=render_fragment(PARTS, "import_item", brought))).text


async def bring(client: httpx2.AsyncClient, name: str = "list.txt", **options: object) -> httpx2.Response:
    return await client.post(IMPORTS, files={"file": (name, LIST)}, **options)  # type: ignore[arg-type]  # its headers


class TestBringingAFile:
    async def test_leads_back_to_the_page_with_the_import_on_top(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        response = await bring(ana)
        [brought] = await list_imports(backend, firm.a)
        assert response.status_code == 303
        assert response.headers["Location"] == f"{IMPORTS}#import-{brought.id}"
        text = page_of(await ana.get(IMPORTS)).text
        assert "list.txt Waiting to be read · brought in just now" in text.replace(" brought", " · brought")
        assert "You can leave this page; it goes on." in text

    async def test_in_place_answers_with_its_row_alone(self, ana: httpx2.AsyncClient) -> None:
        body = (await bring(ana, headers=HTMX)).text
        assert 'hx-swap-oob="afterbegin:#import-list"' in body
        assert body.count('<li class="import"') == 1

    async def test_takes_a_pasted_list(self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest) -> None:
        await ana.post(IMPORTS, files={"pasted": (None, LIST)})
        [brought] = await list_imports(backend, firm.a)
        assert brought.file_name == "Pasted list"

    @pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "in place"])
    @pytest.mark.parametrize(
        ("form", "says"),
        [
            ({"files": {"file": ("a.txt", b"")}}, "The file is empty"),
            ({"files": {"other": ("a.txt", LIST)}}, "no file in the form"),
            ({"content": b"--x\r\n", "headers": {"Content-Type": "multipart/form-data; boundary=x"}}, "upload ended"),
        ],
        ids=["empty", "missing", "broken"],
    )
    async def test_that_cannot_be_used_says_why(
        self,
        ana: httpx2.AsyncClient,
        backend: Backend,
        firm: FirmOfTest,
        form: dict[str, object],
        says: str,
        headers: dict[str, str],
    ) -> None:
        sent = {**form, "headers": {**headers, **form.get("headers", {})}}  # type: ignore[dict-item]  # a form's own
        page = page_of(await ana.post(IMPORTS, **sent))  # type: ignore[arg-type]  # one of several kinds of body
        assert page.status in (400, 422)
        assert says in page.text
        assert ('role="alert"' in page.body, "<html" in page.body) == (True, not headers)
        assert await list_imports(backend, firm.a) == []

    async def test_that_is_too_large_is_refused_unread(self, ana: httpx2.AsyncClient) -> None:
        headers = {"Content-Length": str(IMPORT_LIMIT + 1), "Content-Type": "application/zip"}
        page = page_of(await ana.post(IMPORTS, content=b"PK", headers=headers))
        assert page.status == 413
        assert "Split it, or export fewer conversations" in page.text

    async def test_from_another_site_is_refused(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        response = await bring(ana, headers={"Sec-Fetch-Site": "cross-site"})
        assert response.status_code == 403
        assert await list_imports(backend, firm.a) == []

    async def test_without_a_login_leads_to_it(self, stranger: httpx2.AsyncClient) -> None:
        assert (await bring(stranger)).headers["Location"].startswith("/login")


class TestWatchingIt:
    async def test_gives_the_bar_alone_and_asks_again_until_it_has_ended(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        await bring(ana)
        [brought] = await list_imports(backend, firm.a)
        address = f"{IMPORTS}/{brought.id}"
        going = await ana.get(address, headers=HTMX)
        assert f'hx-get="{address}" hx-trigger="every 1s"' in going.text
        assert "<progress" in going.text and "<li" not in going.text
        await cancel_import(backend, firm.a, brought.id)
        ended = await ana.get(address, headers=HTMX)
        assert ended.headers["HX-Retarget"] == f"#import-{brought.id}"
        assert "<progress" not in ended.text and "every 1s" not in ended.text
        assert "list.txt: cancelled. Nothing was read." in page_of(ended).text

    async def test_shows_how_far_it_is(self) -> None:
        report = ImportReport(seen=41, imported=40, skipped={"empty": 1}, memories=7)
        running = replace(ENDED, status=ImportStatus.RUNNING, progress=0.426, report=report, finished_at=None)
        assert 'value="42"' in render_fragment(PARTS, "import_item", running)
        assert (
            "So far: 41 conversations and memories: 40 imported, 1 skipped (1 holds nothing that you said)."
            in shown(running)
        )

    async def test_without_script_leads_to_the_page(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        await bring(ana)
        [brought] = await list_imports(backend, firm.a)
        assert (await ana.get(f"{IMPORTS}/{brought.id}")).headers["Location"] == f"{IMPORTS}#import-{brought.id}"


class TestTheReport:
    @pytest.mark.parametrize(
        ("report", "words"),
        [
            (
                REPORT,
                "312 conversations and memories: 290 imported, 20 skipped (15 were imported before, 5 were marked not "
                "to be remembered), 2 failed.",
            ),
            (ImportReport(), "Nothing was read."),
            (ImportReport(seen=1, imported=1), "1 conversation or memory: 1 imported."),
            (ImportReport(seen=2100, imported=2100), "2,100 conversations and memories: 2,100 imported."),
            (
                ImportReport(seen=3, skipped={"already_imported": 1, "new_reason": 2}),
                "3 conversations and memories: 0 imported, 3 skipped (2 left out as “new reason”, 1 was imported "
                "before).",
            ),
        ],
        ids=["everything", "nothing", "one", "many", "unknown"],
    )
    def test_adds_up_in_words(self, report: ImportReport, words: str) -> None:
        assert report_in_words(report) == words

    def test_gives_the_reasons_that_the_documentation_explains(self) -> None:
        page = LAWYERS_PAGE.read_text()
        explained = re.findall(r"^\| ([a-z ]+) \| (?!what)", page, re.MULTILINE)
        assert sorted(explained) == sorted(several for _, several in SKIPPED.values())

    def test_says_how_many_memories_were_saved_and_leads_to_them(self) -> None:
        assert [memories_in_words(count) for count in (0, 1, 1200)] == [
            "No memory was saved",
            "1 memory was saved",
            "1,200 memories were saved",
        ]
        assert "118 memories were saved, for you alone. See imported memories" in shown(ENDED)
        assert '<a href="/settings/memory?origin=import">' in render_fragment(PARTS, "import_item", ENDED)

    def test_names_what_failed_and_why(self) -> None:
        assert "What failed, and why" in shown(ENDED)
        assert "Lease It has no end." in shown(ENDED)
        many = replace(ENDED, report=replace(REPORT, failed_count=1002))
        assert "… and 1,000 more" in shown(many)

    def test_says_why_the_whole_file_failed(self) -> None:
        failed = replace(
            ENDED, status=ImportStatus.FAILED, report=ImportReport(), error_code="export_refused", error="It is a bomb."
        )
        assert "Failed" in shown(failed) and "It is a bomb." in shown(failed)
        assert "Nothing was read" not in shown(failed)

    def test_shows_hostile_names_as_text(self) -> None:
        body = render_fragment(PARTS, "ended_import", ENDED) + render_fragment(
            PARTS, "import_item", replace(ENDED, status=ImportStatus.RUNNING)
        )
        assert "<img" not in body
        assert "&lt;img src=x onerror=alert(1)&gt;" in body

    def test_offers_to_undo_it_once(self) -> None:
        assert "Undo the import" in shown(ENDED)
        undone = replace(ENDED, undone_at=NOW)
        assert "Undo the import" not in shown(undone)
        assert "what it saved is deleted, except what you have edited since" in shown(undone)


class TestCancellingAndUndoing:
    @pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "in place"])
    async def test_cancelling_ends_it_at_once(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest, headers: dict[str, str]
    ) -> None:
        await bring(ana)
        [brought] = await list_imports(backend, firm.a)
        for _ in range(2):  # the second time it has ended already, which is no failure
            response = await ana.post(f"{IMPORTS}/{brought.id}/cancel", headers=headers)
            assert response.status_code == (200 if headers else 303)
        assert "Cancelled" in page_of(await ana.get(IMPORTS)).text

    async def test_undoing_one_that_runs_shows_it_as_it_stands(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        await bring(ana)
        [brought] = await list_imports(backend, firm.a)
        response = await ana.post(f"{IMPORTS}/{brought.id}/undo", headers=HTMX)
        assert "Waiting to be read" in page_of(response).text

    @pytest.mark.parametrize("action", ["", "/cancel", "/undo"])
    async def test_of_somebody_else_answers_as_if_there_were_none(
        self,
        ana: httpx2.AsyncClient,
        ben: httpx2.AsyncClient,
        rhea: httpx2.AsyncClient,
        backend: Backend,
        firm: FirmOfTest,
        action: str,
    ) -> None:
        await bring(ana)
        [brought] = await list_imports(backend, firm.a)
        for client in (ben, rhea):
            ask = client.post if action else client.get
            theirs, none = [await ask(f"{IMPORTS}/{each}{action}") for each in (brought.id, new_id())]
            assert (theirs.status_code, theirs.text) == (404, none.text)
            assert "list.txt" not in (await client.get(IMPORTS)).text
        assert [each.status for each in await list_imports(backend, firm.a)] == [ImportStatus.QUEUED]
