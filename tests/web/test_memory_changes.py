from __future__ import annotations

import re
from uuid import UUID

import httpx2
import pytest

from north.memory.backend import Backend
from north.memory.edit import archive, edit, history
from north.memory.listing import MemoryFilter, get_memory, list_memories
from north.memory.rules import NEVER_REMEMBER, create_rule
from north.model import Memory, Scope, Status, new_id
from tests.conftest import FirmOfTest
from tests.web.conftest import HTMX, live, page_of, remember, texts_on

MEMORIES = "/settings/memory"


class TestAdding:
    async def test_saves_at_once_and_leads_to_the_row(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        form = {"content": "The judge is Abara.", "type": "fact", "where": str(firm.matter.id)}
        response = await ana.post(MEMORIES, data=form)
        assert response.status_code == 303
        [memory] = (await list_memories(backend, firm.a, MemoryFilter())).memories
        assert (memory.content, memory.scope, memory.origin) == ("The judge is Abara.", "matter", "settings")
        assert memory.matter is not None
        assert memory.matter.number == "HV-1001"
        assert response.headers["Location"] == f"{MEMORIES}?highlight={memory.id}#memory-{memory.id}"

    async def test_in_place_answers_with_an_empty_form_and_the_new_row(self, ana: httpx2.AsyncClient) -> None:
        form = {"content": "The judge is Abara.", "type": "fact", "where": "user_private"}
        body = (await ana.post(MEMORIES, data=form, headers=HTMX)).text
        assert "Saved, and used from the next answer on." in body
        assert 'hx-swap-oob="afterbegin:#memory-list"' in body
        assert texts_on(body) == ["The judge is Abara."]
        assert re.search(r"<textarea[^>]*></textarea>", body)

    async def test_says_that_it_is_known_already(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        await remember(backend, firm.a, "The judge is Abara.")
        form = {"content": "the judge is  ABARA.", "type": "fact", "where": "user_private"}
        page = page_of(await ana.post(MEMORIES, data=form))
        assert "North knows this already: The judge is Abara." in page.text
        assert await live(backend, firm.a) == ["The judge is Abara."]

    async def test_names_the_rule_that_forbids_it_and_leaves_the_text_in_the_form(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        await create_rule(backend, firm.a, NEVER_REMEMBER, None, None, "salary")
        form = {"content": "My salary is my own.", "type": "fact", "where": "user_private"}
        for headers in ({}, HTMX):
            page = page_of(await ana.post(MEMORIES, data=form, headers=headers))
            assert page.status == 422
            assert "Never remember anything that mentions “salary”." in page.text
            assert "My salary is my own.</textarea>" in page.body
        assert await live(backend, firm.a) == []

    @pytest.mark.parametrize(
        ("content", "where", "reason"),
        [
            ("   ", "user_private", "There is nothing to remember"),
            ("x" * 2001, "user_private", "a memory holds at most 2000"),
            ("nul \x00 here", "user_private", "cannot be stored"),
            ("On no matter.", "", "needs a matter"),
            ("On no matter.", "NO-SUCH", "There is no such matter"),
            ("On no matter.", "00000000-0000-7000-8000-000000000000", "There is no such matter"),
        ],
    )
    async def test_says_what_is_wrong_with_the_text_or_its_place(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest, content: str, where: str, reason: str
    ) -> None:
        page = page_of(await ana.post(MEMORIES, data={"content": content, "type": "fact", "where": where}))
        assert page.status in (404, 422)
        assert reason in page.text
        assert await live(backend, firm.a) == []


class TestEditing:
    async def test_puts_the_new_text_in_place_at_once(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        memory = await remember(backend, firm.a, "Due 12 June.")
        form = {"content": "Due 14 June.", "type": "deadline", "next": f"{MEMORIES}?q=june"}
        response = await ana.post(f"{MEMORIES}/{memory.id}/edit", data=form)
        [new, old] = await history(backend, firm.a, memory.id)
        assert response.headers["Location"] == f"{MEMORIES}?q=june#memory-{new.id}"
        assert (new.content, new.type, new.status) == ("Due 14 June.", "deadline", Status.ACTIVE)
        assert (old.content, old.status) == ("Due 12 June.", Status.SUPERSEDED)

    async def test_in_place_answers_with_the_row_alone(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        memory = await remember(backend, firm.a, "Due 12 June.")
        form = await ana.get(f"{MEMORIES}/{memory.id}/edit", headers=HTMX)
        assert "Due 12 June.</textarea>" in form.text
        body = (await ana.post(f"{MEMORIES}/{memory.id}/edit", data={"content": "Due 14 June."}, headers=HTMX)).text
        assert texts_on(body) == ["Due 14 June."]
        assert "<html" not in body

    @pytest.mark.parametrize("headers", [{}, HTMX])
    async def test_shows_both_texts_when_a_colleague_was_faster(
        self, ben: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest, headers: dict[str, str]
    ) -> None:
        memory = await remember(backend, firm.a, "Due 12 June.", scope=Scope.MATTER, matter="HV-1001")
        anas = await edit(backend, firm.a, memory.id, "Due 13 June, says Ana.")
        response = await ben.post(
            f"{MEMORIES}/{memory.id}/edit", data={"content": "Due 14 June, says Ben."}, headers=headers
        )
        page = page_of(response)
        assert page.status == 409
        assert "What stands now Due 13 June, says Ana." in page.text
        assert "Due 14 June, says Ben.</textarea>" in page.body
        assert f'action="{MEMORIES}/{anas.id}/edit"' in page.body
        assert await live(backend, firm.a) == ["Due 13 June, says Ana."]

    async def test_loses_nothing_when_the_memory_was_deleted_meanwhile(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        memory = await remember(backend, firm.a, "Due 12 June.")
        await archive(backend, firm.a, memory.id)
        page = page_of(await ana.post(f"{MEMORIES}/{memory.id}/edit", data={"content": "Due 14 June."}))
        assert page.status == 409
        assert "This memory was deleted while you were editing it." in page.text
        assert "Due 14 June.</textarea>" in page.body

    @pytest.mark.parametrize("headers", [{}, HTMX])
    async def test_says_what_is_wrong_with_the_new_text(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest, headers: dict[str, str]
    ) -> None:
        memory = await remember(backend, firm.a, "Short.")
        long = "long " * 500
        page = page_of(await ana.post(f"{MEMORIES}/{memory.id}/edit", data={"content": long}, headers=headers))
        assert page.status == 422
        assert "a memory holds at most 2000" in page.text
        assert long in page.body
        assert await live(backend, firm.a) == ["Short."]

    async def test_by_a_rule_of_the_lawyers_own_is_refused(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        memory = await remember(backend, firm.a, "Harmless.")
        await create_rule(backend, firm.a, NEVER_REMEMBER, None, None, "salary")
        page = page_of(await ana.post(f"{MEMORIES}/{memory.id}/edit", data={"content": "My salary."}))
        assert page.status == 422
        assert "mentions “salary”" in page.text
        assert await live(backend, firm.a) == ["Harmless."]

    async def test_that_was_cancelled_shows_what_stands_now(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        memory = await remember(backend, firm.a, "Old.")
        await edit(backend, firm.a, memory.id, "New.")
        assert texts_on((await ana.get(f"{MEMORIES}/{memory.id}", headers=HTMX)).text) == ["New."]


class TestDeleting:
    async def test_is_done_at_once_and_undone_from_the_page_that_follows(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        memory = await remember(backend, firm.a, "Due 12 June.")
        response = await ana.post(f"{MEMORIES}/{memory.id}/delete")
        assert await live(backend, firm.a) == []
        page = page_of(await ana.get(response.headers["Location"]))
        assert "Deleted Due 12 June. Undo" in page.text
        await ana.post(f"{MEMORIES}/{memory.id}/restore")
        assert await live(backend, firm.a) == ["Due 12 June."]

    async def test_in_place_leaves_undo_where_the_row_was(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        memory = await remember(backend, firm.a, "Due 12 June.")
        deleted = page_of(await ana.post(f"{MEMORIES}/{memory.id}/delete", headers=HTMX))
        assert deleted.text == "Deleted Due 12 June. Undo"
        assert "autofocus" in deleted.body
        restored = (await ana.post(f"{MEMORIES}/{memory.id}/restore", headers=HTMX)).text
        assert texts_on(restored) == ["Due 12 June."]

    async def test_of_what_a_colleague_just_changed_shows_the_change_and_deletes_nothing(
        self, ben: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        memory = await remember(backend, firm.a, "Due 12 June.", scope=Scope.MATTER, matter="HV-1001")
        await edit(backend, firm.a, memory.id, "Due 13 June.")
        response = await ben.post(f"{MEMORIES}/{memory.id}/delete", headers=HTMX)
        assert response.status_code == 409
        assert texts_on(response.text) == ["Due 13 June."]
        assert await live(backend, firm.a) == ["Due 13 June."]


class TestIdsOfOthers:
    async def test_answer_as_ids_that_do_not_exist(
        self, ben: httpx2.AsyncClient, rhea: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        personal = await remember(backend, firm.a, "Ana's own.")
        shared = await remember(backend, firm.a, "On the matter.", scope=Scope.MATTER, matter="HV-1001")
        for client, memory in ((ben, personal), (rhea, personal), (rhea, shared)):
            for headers in ({}, HTMX):
                assert await _answers(client, memory.id, headers) == await _answers(client, new_id(), headers)
        assert (await get_memory(backend, firm.a, personal.id)).status == Status.ACTIVE
        assert (await get_memory(backend, firm.a, shared.id)).content == "On the matter."

    async def test_make_no_difference_to_a_link(
        self, rhea: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        memory: Memory = await remember(backend, firm.a, "Ana's own.")
        theirs, none = memory.id, new_id()
        bodies = [(await rhea.get(f"{MEMORIES}?highlight={each}")).text for each in (theirs, none)]
        assert bodies[0].replace(str(theirs), "") == bodies[1].replace(str(none), "")


async def _answers(client: httpx2.AsyncClient, memory_id: UUID, headers: dict[str, str]) -> list[tuple[int, str]]:
    path = f"{MEMORIES}/{memory_id}"
    form = {"content": "Taken over."}
    replies = [
        await client.get(path, headers=headers),
        await client.get(f"{path}/edit", headers=headers),
        await client.get(f"{path}/history", headers=headers),
        await client.post(f"{path}/edit", data=form, headers=headers),
        await client.post(f"{path}/delete", headers=headers),
        await client.post(f"{path}/restore", headers=headers),
    ]
    assert {reply.status_code for reply in replies} == {404}
    return [(reply.status_code, reply.text.replace(str(memory_id), "")) for reply in replies]
