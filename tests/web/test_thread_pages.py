from __future__ import annotations

import httpx2
import pytest

from north.chat.threads import create_thread, get_thread, list_threads, rename_thread
from north.memory.backend import Backend
from north.memory.listing import MemoryFilter, list_memories
from north.memory.matters import create_matter
from north.model import new_id
from tests.conftest import FirmOfTest
from tests.web.conftest import HTMX, STREAM, page_of

BLUEBOOK = "I always want citations in Bluebook form."
HOSTILE = "<script>alert(1)</script>"


class TestSearching:
    async def test_lists_the_conversations_whose_name_has_the_words(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        for title in ("Lease of the Harbor yard", "Vance deposition"):
            await rename_thread(backend, firm.a, (await create_thread(backend, firm.a, None)).id, title)
        found = page_of(await ana.get("/chat/threads?find=yard+lease", headers=HTMX))
        assert found.text == "Lease of the Harbor yard"
        whole = page_of(await ana.get("/chat?find=yard+lease"))
        assert "Lease of the Harbor yard" in whole.text
        assert "Vance deposition" not in whole.text
        assert "No conversation has these words" in page_of(await ana.get("/chat/threads?find=zzz", headers=HTMX)).text


class TestRenaming:
    @pytest.mark.parametrize("headers", [{}, HTMX])
    async def test_is_done_at_once(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest, headers: dict[str, str]
    ) -> None:
        thread = await create_thread(backend, firm.a, "HV-1001")
        await ana.post(f"/chat/{thread.id}/rename", data={"title": HOSTILE}, headers=headers)
        page = page_of(await ana.get(f"/chat/{thread.id}"))
        assert page.text.count(HOSTILE) == 3  # the window's title, the head and the list
        assert HOSTILE not in page.body
        assert "Matter HV-1001" in page.text

    @pytest.mark.parametrize("headers", [{}, HTMX])
    async def test_says_what_is_wrong_with_a_name(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest, headers: dict[str, str]
    ) -> None:
        thread = await create_thread(backend, firm.a, None)
        page = page_of(await ana.post(f"/chat/{thread.id}/rename", data={"title": "x" * 121}, headers=headers))
        assert page.status == 422
        assert "at most 120 are allowed" in page.text


class TestDeleting:
    async def test_is_done_at_once_and_can_be_undone(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        thread = await create_thread(backend, firm.a, None)
        after = await ana.post(f"/chat/{thread.id}/delete")
        page = page_of(await ana.get(after.headers["Location"]))
        assert "The conversation is deleted. Undo" in page.text
        assert await list_threads(backend, firm.a) == []
        assert (await ana.get(f"/chat/{thread.id}")).status_code == 404
        assert (await ana.post(f"/chat/{thread.id}/restore")).headers["Location"] == f"/chat/{thread.id}"
        assert [each.id for each in await list_threads(backend, firm.a)] == [thread.id]

    async def test_leaves_the_memory_without_a_link_to_it(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        await ana.post("/chat", data={"text": BLUEBOOK})
        [thread] = await list_threads(backend, firm.a)
        listed = page_of(await ana.get("/settings/memory"))
        assert f'from <a href="/chat/{thread.id}">{BLUEBOOK}</a>' in listed.body
        await ana.post(f"/chat/{thread.id}/delete")
        listed = page_of(await ana.get("/settings/memory"))
        assert str(thread.id) not in listed.body
        assert "from a conversation that you deleted" in listed.text

    async def test_of_a_colleagues_conversation_is_answered_as_if_there_were_none(
        self, ben: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        thread = await create_thread(backend, firm.a, "HV-1001")
        for act, form in (("rename", {"title": "Mine"}), ("delete", {}), ("restore", {})):
            theirs = await ben.post(f"/chat/{thread.id}/{act}", data=form)
            none = await ben.post(f"/chat/{new_id()}/{act}", data=form)
            assert (theirs.status_code, theirs.text) == (none.status_code, none.text)
            assert theirs.status_code == 404
        used = await ben.get(f"/chat/{thread.id}/messages/{new_id()}/used")
        assert used.status_code == 404
        assert (await get_thread(backend, firm.a, thread.id)).title == ""


class TestASourceOfAColleague:
    async def test_is_named_as_such_and_stays_closed(
        self, ana: httpx2.AsyncClient, ben: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        title = "The client is a Delaware LLC."
        await ana.post("/chat", data={"text": title, "matter": "HV-1001"})
        [thread] = await list_threads(backend, firm.a)
        await rename_thread(backend, firm.a, thread.id, "A title of Ana's own")
        page = page_of(await ben.get("/settings/memory"))
        assert "from a colleague’s conversation" in page.text
        assert "A title of Ana's own" not in page.text
        assert str(thread.id) not in page.body


class TestAChatThatIsNotRemembered:
    @pytest.mark.parametrize("headers", [{}, STREAM])
    async def test_says_so_at_all_times_and_saves_nothing(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest, headers: dict[str, str]
    ) -> None:
        form = {"text": BLUEBOOK, "matter": "HV-1001", "incognito": "true"}
        reply = await ana.post("/chat", data=form, headers=headers)
        if headers:
            assert "Not remembered" in reply.text
        [thread] = await list_threads(backend, firm.a)
        page = page_of(await ana.get(f"/chat/{thread.id}"))
        assert "Matter HV-1001 · Harbor v. Vance Not remembered" in page.text
        assert (await list_memories(backend, firm.a, MemoryFilter())).memories == ()

    async def test_is_chosen_and_not_the_default(self, ana: httpx2.AsyncClient, firm: FirmOfTest) -> None:
        page = page_of(await ana.get("/chat"))
        assert '<input type="checkbox" name="incognito" value="true">' in page.body
        await ana.post("/chat", data={"text": BLUEBOOK})
        assert "Not remembered" not in page_of(await ana.get("/chat")).text


class TestAFirmWithManyMatters:
    async def test_types_a_matter_and_gets_proposals(
        self, ana: httpx2.AsyncClient, backend: Backend, firm: FirmOfTest
    ) -> None:
        for number in range(101):
            await create_matter(backend, firm.a, f"M-{number:03}", f"Matter of {number}")
        new = page_of(await ana.get("/chat")).body
        assert "<select" not in new
        assert 'list="matters-to-choose"' in new
        proposals = page_of(await ana.get("/settings/matters?matter=harbor", headers=HTMX)).body
        assert proposals.strip() == '<option value="HV-1001">Harbor v. Vance</option>'
        await ana.post("/chat", data={"text": BLUEBOOK, "matter": " HV-1001 "})
        [thread] = await list_threads(backend, firm.a)
        assert thread.matter and thread.matter.number == "HV-1001"
        wrong = page_of(await ana.post("/chat", data={"text": "Hello", "matter": "harb"}))
        assert wrong.status == 404
        assert 'value="harb"' in wrong.body
        saved = await ana.post("/settings/memory", data={"content": "Due.", "where": "matter", "matter": "HV-1001"})
        assert saved.status_code == 303
        unnamed = page_of(await ana.post("/settings/memory", data={"content": "Due.", "where": "matter"}))
        assert unnamed.status == 422
        assert "Which matter" in unnamed.text
