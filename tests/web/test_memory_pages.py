from __future__ import annotations

import html
import json
import re

import httpx2
import pytest

from north.memory.backend import Backend
from north.memory.edit import archive, edit
from north.model import MemoryType, Scope
from tests.conftest import FirmOfTest, shared_data
from tests.web.conftest import HTMX, live, page_of, remember, remember_all, text_sources, texts_on

MEMORIES = "/settings/memory"


class TestTheList:
    async def test_says_how_memory_works_and_shows_the_newest_first(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        await remember(backend, firm.a, "The older one.")
        await remember(backend, firm.a, "The newer one.")
        page = page_of(await ana.get(MEMORIES))
        assert texts_on(page.body) == ["The newer one.", "The older one."]
        assert "saves what is worth knowing and uses it at once. Edit or delete any of it" in page.text

    async def test_says_whom_a_memory_belongs_to(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        await remember(backend, firm.a, "Mine.")
        await remember(backend, firm.a, "Ours.", scope=Scope.MATTER, matter="HV-1001")
        await remember(backend, firm.a, "Everybody's.", scope=Scope.FIRM_GLOBAL)
        text = page_of(await ana.get(MEMORIES)).text
        assert "Fact Personal just now" in text
        assert "Matter HV-1001 · shared with the firm" in text
        assert "Firm · shared with the firm" in text

    async def test_shows_a_colleague_what_is_shared_and_nothing_personal(
        self, ben: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        await remember(backend, firm.a, "Ana's own.")
        await remember(backend, firm.a, "On the matter.", scope=Scope.MATTER, matter="HV-1001")
        assert texts_on((await ben.get(MEMORIES)).text) == ["On the matter."]

    async def test_shows_another_firm_nothing(
        self, rhea: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        await remember(backend, firm.a, "On the matter.", scope=Scope.MATTER, matter="HV-1001")
        await remember(backend, firm.a, "In the firm.", scope=Scope.FIRM_GLOBAL)
        assert texts_on((await rhea.get(MEMORIES)).text) == []

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("scope=user_private", ["I like Bluebook."]),
            ("scope=matter", ["Due in June."]),
            ("matter=HV-1001", ["Due in June."]),
            ("matter=HV-1002", []),
            ("matter=NO-SUCH", []),
            ("type=deadline", ["Due in June."]),
            ("origin=api", ["Due in June.", "I like Bluebook."]),
            ("origin=import", []),
            ("q=bluebook", ["I like Bluebook."]),
            ("q=%25", []),
            ("scope=nonsense&type=%00&q=", ["Due in June.", "I like Bluebook."]),
            ("cursor=nonsense", ["Due in June.", "I like Bluebook."]),
        ],
    )
    async def test_is_filtered_by_its_address(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest, query: str, found: list[str]
    ) -> None:
        await remember(backend, firm.a, "I like Bluebook.", type=MemoryType.PREFERENCE)
        due = "Due in June."
        await remember(backend, firm.a, due, scope=Scope.MATTER, matter="HV-1001", type=MemoryType.DEADLINE)
        assert texts_on((await ana.get(f"{MEMORIES}?{query}")).text) == found

    async def test_tells_the_browser_the_address_of_a_filtered_list(self, ana: httpx2.AsyncClient) -> None:
        response = await ana.get(f"{MEMORIES}?q=june&scope=&type=deadline", headers=HTMX)
        assert response.headers["HX-Push-Url"] == f"{MEMORIES}?q=june&type=deadline"
        assert "<html" not in response.text

    async def test_loads_every_row_once_page_by_page(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        await remember_all(backend, firm.a, [f"Fact number {number}." for number in range(60)])
        first = (await ana.get(f"{MEMORIES}?type=fact")).text
        [more] = re.findall(r'<li class="load-more"><a class="button" href="([^"]*)"', first)
        assert "type=fact" in more
        rest = (await ana.get(html.unescape(more), headers=HTMX)).text
        assert len(texts_on(first)) == 50
        assert texts_on(first) + texts_on(rest) == [f"Fact number {number}." for number in reversed(range(60))]
        assert "load-more" not in rest

    async def test_marks_the_memory_that_a_link_points_at_wherever_it_is(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        old = await remember(backend, firm.a, "The oldest.")
        await remember_all(backend, firm.a, [f"Fact number {number}." for number in range(51)])
        body = (await ana.get(f"{MEMORIES}?highlight={old.id}")).text
        assert f'class="memory is-highlighted" id="memory-{old.id}"' in body

    async def test_shows_what_a_linked_memory_has_become(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        first = await remember(backend, firm.a, "The first text.")
        second = await edit(backend, firm.a, first.id, "The second text.")
        body = (await ana.get(f"{MEMORIES}?highlight={first.id}")).text
        assert f'class="memory is-highlighted" id="memory-{second.id}"' in body
        await archive(backend, firm.a, second.id)
        page = page_of(await ana.get(f"{MEMORIES}?highlight={first.id}"))
        assert "Deleted The second text." in page.text
        assert "Undo" in page.text

    async def test_shows_hostile_text_as_text(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        hostile = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7*7 }}", "'onfocus=x"]
        for text in hostile:
            await remember(backend, firm.a, text)
        body = (await ana.get(MEMORIES)).text
        assert texts_on(body) == hostile[::-1]
        assert "<script>alert" not in body
        assert "<img" not in body

    async def test_shows_the_hostile_list_as_text(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        hostile: list[str] = json.loads(shared_data("hostile/blns.json").read_text())
        await remember_all(backend, firm.a, [text for text in hostile if "<" in text and text.isprintable()][:50])
        body = (await ana.get(MEMORIES)).text
        assert texts_on(body) == await live(backend, firm.a)
        assert not re.search(r"<(img|iframe|object|embed|style|script|body|form)\b", "".join(text_sources(body)))


class TestHistory:
    async def test_shows_every_version_with_who_and_when(
        self, ben: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        memory = await remember(backend, firm.a, "Due 12 June.", scope=Scope.MATTER, matter="HV-1001")
        new = await edit(backend, firm.b, memory.id, "Due 14 June.")
        await archive(backend, firm.a, new.id)
        for headers in ({}, HTMX):
            text = page_of(await ben.get(f"{MEMORIES}/{memory.id}/history", headers=headers)).text
            assert text.index("Due 14 June.") < text.index("Due 12 June.")
            assert "Deleted just now by Ben Okafor" in text
            assert "deleted just now by Ana Ruiz" in text
            assert "Replaced just now by Ana Ruiz" in text
