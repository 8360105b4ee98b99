from __future__ import annotations

import csv
import io
import json

import httpx2
import pytest
from markdown_it import MarkdownIt

from north.memory.backend import Backend
from north.model import MemoryType, Scope
from north.web.memory_export import COLUMNS
from tests.conftest import FirmOfTest, shared_data
from tests.web.conftest import live, remember, remember_all

EXPORT = "/settings/memory/export"


def rows(body: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(body.removeprefix("\ufeff"), newline="")))


class TestExport:
    async def test_has_every_row_and_not_only_the_first_page(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        facts = [f"Fact number {number}." for number in range(405)]
        await remember_all(backend, firm.a, facts)
        newest_first = facts[::-1]
        assert [each["content"] for each in json.loads((await ana.get(f"{EXPORT}/json")).text)] == newest_first
        assert [each["content"] for each in rows((await ana.get(f"{EXPORT}/csv")).text)] == newest_first
        markdown = (await ana.get(f"{EXPORT}/markdown")).text
        assert [line[2:].strip() for line in markdown.splitlines() if line.startswith("- ")] == newest_first

    async def test_has_what_is_shown_and_says_so_in_its_columns(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        await remember(backend, firm.a, "Mine.")
        await remember(backend, firm.b, "Ben's own.")
        due = "Due in June."
        await remember(backend, firm.b, due, scope=Scope.MATTER, matter="HV-1001", type=MemoryType.DEADLINE)
        [row] = rows((await ana.get(f"{EXPORT}/csv?type=deadline")).text)
        assert tuple(row) == COLUMNS
        assert (row["content"], row["matter"], row["captured_by"]) == (due, "HV-1001", "Ben Okafor")
        everything = (await ana.get(f"{EXPORT}/json")).text
        assert [each["content"] for each in json.loads(everything)] == [due, "Mine."]
        assert "Due in June" in (await ana.get(f"{EXPORT}/markdown?q=june")).text
        assert json.loads((await ana.get(f"{EXPORT}/json?matter=NO-SUCH")).text) == []

    async def test_is_a_file_to_keep(self, ana: httpx2.AsyncClient, firm: FirmOfTest) -> None:
        for format, media_type, ending in (
            ("json", "application/json", "json"),
            ("csv", "text/csv", "csv"),
            ("markdown", "text/markdown", "md"),
        ):
            headers = (await ana.get(f"{EXPORT}/{format}")).headers
            assert headers["Content-Type"].startswith(media_type)
            assert headers["Content-Disposition"].startswith('attachment; filename="north-memory-')
            assert headers["Content-Disposition"].endswith(f'.{ending}"')
        assert (await ana.get(f"{EXPORT}/exe")).status_code == 404

    async def test_needs_a_login(self, stranger: httpx2.AsyncClient) -> None:
        assert (await stranger.get(f"{EXPORT}/json")).headers["Location"].startswith("/login")


class TestFormulas:
    @pytest.mark.parametrize(
        "text",
        ["=1+1", "+1", "-1", "@SUM(A1)", " =1+1", "\uff1d1+1", '=HYPERLINK("http://evil.test","x")', "\u00a0=1"],
    )
    async def test_are_text_to_a_spreadsheet(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest, text: str
    ) -> None:
        await remember(backend, firm.a, text)
        [row] = rows((await ana.get(f"{EXPORT}/csv")).text)
        assert row["content"].startswith("'")
        [known] = await live(backend, firm.a)
        assert row["content"] == f"'{known}"

    async def test_leave_other_text_as_it_is(self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest) -> None:
        text = 'A "quoted", comma\nand a line'
        await remember(backend, firm.a, text)
        assert rows((await ana.get(f"{EXPORT}/csv")).text)[0]["content"] == text


class TestMarkdown:
    @pytest.mark.parametrize(
        "text",
        [
            "![seal](https://evil.test/x.png)",
            "[click](javascript:alert(1))",
            "<img src=x onerror=alert(1)>",
            "# A heading",
            "1. one",
            "- a list\n- of two",
            "a `code` and **bold** &amp; ~~no~~ | table",
            "---",
        ],
    )
    async def test_renders_a_memory_as_its_own_text(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest, text: str
    ) -> None:
        await remember(backend, firm.a, text)
        tokens = MarkdownIt("gfm-like", {"linkify": False}).parse((await ana.get(f"{EXPORT}/markdown")).text)
        inline = [token for token in tokens if token.type == "inline"][1]
        assert {child.type for child in inline.children or []} <= {"text", "hardbreak", "text_special"}
        shown = "".join(child.content for child in inline.children or [] if child.type != "hardbreak")
        assert shown.startswith(" ".join(text.split("\n")))
        assert [token.type for token in tokens].count("list_item_open") == 1

    async def test_holds_the_hostile_list(self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest) -> None:
        hostile: list[str] = json.loads(shared_data("hostile/blns.json").read_text())
        await remember_all(backend, firm.a, [text for text in hostile if text.strip() and text.isprintable()][:400])
        known = await live(backend, firm.a)
        for format in ("json", "csv", "markdown"):
            assert (await ana.get(f"{EXPORT}/{format}")).status_code == 200
        written = rows((await ana.get(f"{EXPORT}/csv")).text)
        assert [row["content"].removeprefix("'") for row in written][: len(known)] == [
            text.removeprefix("'") for text in known
        ]
        assert not [row for row in written if row["content"].lstrip()[:1] in set("=+-@")]
