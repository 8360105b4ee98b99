from __future__ import annotations

import httpx2
import pytest

from north.memory.backend import Backend
from north.memory.rules import NEVER_REMEMBER, create_rule, list_rules
from north.model import MemoryType, Scope, new_id
from tests.conftest import FirmOfTest
from tests.web.conftest import HTMX, page_of

RULES = "/settings/memory/rules"


class TestWritingARule:
    async def test_reads_as_a_sentence_and_holds_at_once(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        form = {"type": "preference", "scope": "user_private", "phrase": "salary"}
        response = await ana.post(RULES, data=form)
        text = page_of(await ana.get(response.headers["Location"])).text
        assert "Never remember any preference in personal memory that mentions “salary”." in text
        assert "You wrote this just now" in text
        refused = await ana.post(
            "/settings/memory", data={"content": "My salary.", "type": "preference", "where": "user_private"}
        )
        assert refused.status_code == 422
        assert "refused once since" in page_of(await ana.get(RULES)).text

    async def test_in_place_answers_with_an_empty_composer_and_the_new_rule(self, ana: httpx2.AsyncClient) -> None:
        body = (await ana.post(RULES, data={"phrase": "salary"}, headers=HTMX)).text
        assert 'hx-swap-oob="afterbegin:#rule-list"' in body
        assert 'name="phrase" value=""' in body

    @pytest.mark.parametrize("headers", [{}, HTMX])
    async def test_that_would_forbid_everything_asks_for_a_choice(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest, headers: dict[str, str]
    ) -> None:
        page = page_of(await ana.post(RULES, data={"type": "", "scope": "", "phrase": " "}, headers=headers))
        assert page.status == 422
        assert "Choose what, where or which words first" in page.text
        assert await list_rules(backend, firm.a) == []

    async def test_that_cannot_be_used_leaves_the_choices_in_the_form(self, ana: httpx2.AsyncClient) -> None:
        form = {"type": "fact", "scope": "matter", "phrase": "x" * 201}
        page = page_of(await ana.post(RULES, data=form))
        assert page.status == 422
        assert "at most 200 are allowed" in page.text
        assert '<option value="fact" selected>' in page.body
        assert '<option value="matter" selected>' in page.body

    async def test_shows_a_hostile_phrase_as_text(self, ana: httpx2.AsyncClient) -> None:
        await ana.post(RULES, data={"phrase": "<script>alert(1)</script>"})
        page = page_of(await ana.get(RULES))
        assert "<script>alert" not in page.body
        assert "that mentions “<script>alert(1)</script>”." in page.text


class TestDeletingARule:
    async def test_is_done_at_once(self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest) -> None:
        rule = await create_rule(backend, firm.a, NEVER_REMEMBER, None, None, "salary")
        assert (await ana.post(f"{RULES}/{rule.id}/delete")).headers["Location"] == RULES
        assert await list_rules(backend, firm.a) == []

    async def test_in_place_offers_to_undo_it(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        rule = await create_rule(backend, firm.a, NEVER_REMEMBER, Scope.MATTER, MemoryType.FACT, "salary")
        deleted = page_of(await ana.post(f"{RULES}/{rule.id}/delete", headers=HTMX))
        assert deleted.text == "Deleted Never remember any fact in matter memory that mentions “salary”. Undo"
        form = {"type": "fact", "scope": "matter", "phrase": "salary"}
        await ana.post(f"{RULES}?undo=1", data=form, headers=HTMX)
        [again] = await list_rules(backend, firm.a)
        assert (again.scope, again.type, again.phrase) == (Scope.MATTER, MemoryType.FACT, "salary")

    async def test_of_somebody_else_answers_as_if_there_were_none(
        self, ben: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        rule = await create_rule(backend, firm.a, NEVER_REMEMBER, None, None, "salary")
        theirs = await ben.post(f"{RULES}/{rule.id}/delete")
        none = await ben.post(f"{RULES}/{new_id()}/delete")
        assert (theirs.status_code, theirs.text) == (none.status_code, none.text)
        assert theirs.status_code == 404
        assert len(await list_rules(backend, firm.a)) == 1
        assert "salary" not in (await ben.get(RULES)).text
