"""Saving, listing, changing and deleting memory over REST."""

from __future__ import annotations

import asyncio

import pytest

from north.api.problems import problem
from north.errors import EditRefusedByWall
from tests.api.conftest import NEVER_AN_ID, Client, assert_problem, saved
from tests.conftest import FirmOfTest

MEMORY_FIELDS = {
    "id",
    "content",
    "type",
    "scope",
    "matter",
    "status",
    "confidence",
    "origin",
    "created_at",
    "captured_by",
    "source",
    "supersedes_id",
    "uses",
    "last_used_at",
}


class TestSave:
    async def test_a_save_is_live_at_once_and_answers_with_the_memory(self, ana: Client, firm: FirmOfTest) -> None:
        new = {"content": "The client is a Delaware LLC.", "type": "fact", "scope": "matter", "matter": "HV-1001"}
        reply = await ana.post("/memories", json=new)
        assert reply.status_code == 201
        body = reply.json()
        assert body["outcome"] == "saved" and body["similar"] == []
        memory = body["memory"]
        assert set(memory) == MEMORY_FIELDS
        assert memory["content"] == "The client is a Delaware LLC."
        assert memory["matter"] == {"id": str(firm.matter.id), "number": "HV-1001", "name": "Harbor v. Vance"}
        assert memory["captured_by"] == {"id": str(firm.ana.id), "name": "Ana Ruiz"}
        assert (memory["status"], memory["origin"], memory["confidence"]) == ("active", "api", "high")
        recalled = (await ana.post("/recall", json={"query": "Delaware?", "matter": "HV-1001"})).json()
        assert [hit["id"] for hit in recalled["matter"]] == [memory["id"]]

    async def test_the_same_text_again_is_already_known(self, ana: Client, ben: Client) -> None:
        first = await saved(ana, "Hearings are on Tuesdays.", "matter")
        new = {"content": "hearings are  on TUESDAYS.", "type": "fact", "scope": "matter", "matter": "HV-1001"}
        reply = await ben.post("/memories", json=new)
        assert reply.status_code == 200
        assert reply.json()["outcome"] == "already_known"
        assert reply.json()["memory"]["id"] == first["id"]

    async def test_close_wording_comes_back_as_a_hint(self, ana: Client) -> None:
        first = await saved(ana, "The answer in Harbor is due on 14 June.")
        new = {"content": "The answer in Harbor is due on 21 June.", "type": "deadline", "scope": "user_private"}
        similar = (await ana.post("/memories", json=new)).json()["similar"]
        assert [memory["id"] for memory in similar] == [first["id"]]

    async def test_a_matter_is_named_by_its_id_or_its_number(self, ana: Client, firm: FirmOfTest) -> None:
        by_id = await saved(ana, "Judge Ito presides.", "matter", matter=str(firm.matter.id))
        assert by_id["matter"]["number"] == "HV-1001"

    async def test_an_idempotency_key_gets_the_first_outcome_again(self, ana: Client) -> None:
        new = {"content": "Sara is the paralegal.", "type": "party", "scope": "user_private"}
        first = await ana.post("/memories", json=new, headers={"Idempotency-Key": "k-1"})
        again = await ana.post("/memories", json=new, headers={"Idempotency-Key": "k-1"})
        assert first.status_code == again.status_code == 201
        assert again.json()["memory"]["id"] == first.json()["memory"]["id"]
        other = await ana.post(
            "/memories", json={**new, "content": "Something else."}, headers={"Idempotency-Key": "k-1"}
        )
        assert_problem(other, 422, "idempotency_key_reused")
        for key in ("", "k" * 201):
            reply = await ana.post("/memories", json=new, headers={"Idempotency-Key": key})
            assert_problem(reply, 422, "invalid_request")

    async def test_two_saves_of_the_same_text_at_once_leave_one_memory(self, ana: Client) -> None:
        new = {"content": "The retainer is signed.", "type": "fact", "scope": "user_private"}
        replies = await asyncio.gather(*(ana.post("/memories", json=new) for _ in range(6)))
        assert sorted(reply.status_code for reply in replies) == [200, 200, 200, 200, 200, 201]
        assert len({reply.json()["memory"]["id"] for reply in replies}) == 1

    async def test_a_rule_refuses_and_is_named(self, ana: Client) -> None:
        rule = (await ana.post("/rules", json={"action": "never_remember", "phrase": "settlement"})).json()["rule"]
        new = {"content": "The settlement is 2 million.", "type": "fact", "scope": "user_private"}
        refused = assert_problem(await ana.post("/memories", json=new), 403, "refused_by_rule")
        assert refused["rule"]["id"] == rule["id"]
        assert "settlement" in refused["detail"] and "2 million" not in refused["detail"]
        assert (await ana.get("/memories")).json()["memories"] == []

    def test_the_wall_refuses_and_names_its_source(self) -> None:
        refused = problem(EditRefusedByWall(source="NetDocuments"))
        assert (refused["status"], refused["code"], refused["source"]) == (403, "refused_by_wall", "NetDocuments")


class TestList:
    async def test_newest_first_page_by_page_until_there_is_no_next(self, ana: Client) -> None:
        ids = [(await saved(ana, f"Fact number {number}."))["id"] for number in range(5)]
        seen, cursor = [], None
        while True:
            page = (await ana.get("/memories", params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
            seen += [memory["id"] for memory in page["memories"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert seen == ids[::-1]

    @pytest.mark.parametrize(
        ("asked", "expected"),
        [
            ({"scope": "matter"}, {"On the matter."}),
            ({"type": "deadline"}, {"Due on Friday."}),
            ({"matter": "HV-1001"}, {"On the matter."}),
            ({"matter": "HV-1002"}, set()),
            ({"q": "friday due"}, {"Due on Friday."}),
            ({"q": "100%"}, set()),
            ({"status": "archived"}, {"Gone."}),
            ({}, {"On the matter.", "Due on Friday.", "For the firm."}),
        ],
    )
    async def test_filters_narrow(self, ana: Client, asked: dict[str, str], expected: set[str]) -> None:
        await saved(ana, "On the matter.", "matter")
        await saved(ana, "Due on Friday.", type="deadline")
        await saved(ana, "For the firm.", "firm_global")
        await ana.delete(f"/memories/{(await saved(ana, 'Gone.'))['id']}")
        memories = (await ana.get("/memories", params=asked)).json()["memories"]
        assert {memory["content"] for memory in memories} == expected

    @pytest.mark.parametrize(
        "asked",
        [
            {"limit": "0"},
            {"limit": "201"},
            {"limit": "x"},
            {"cursor": "x"},
            {"cursor": "W" * 300},
            {"status": "pending"},
        ],
    )
    async def test_what_cannot_be_asked_is_explained(self, ana: Client, asked: dict[str, str]) -> None:
        refused = assert_problem(await ana.get("/memories", params=asked), 422, "invalid_request")
        assert next(iter(asked)) in refused["detail"]


class TestChange:
    async def test_an_edit_makes_a_new_version_that_is_live_at_once(self, ana: Client, ben: Client) -> None:
        old = await saved(ana, "The client is a Delaware LLC.", "matter")
        reply = await ben.patch(f"/memories/{old['id']}", json={"content": "The client is a Nevada LLC."})
        new = reply.json()["memory"]
        assert (reply.status_code, new["supersedes_id"], new["status"]) == (200, old["id"], "active")
        recalled = (await ana.post("/recall", json={"query": "client LLC", "matter": "HV-1001"})).json()["matter"]
        assert [hit["content"] for hit in recalled] == ["The client is a Nevada LLC."]
        versions = (await ana.get(f"/memories/{old['id']}/history")).json()["versions"]
        assert [(each["content"], each["status"], each["captured_by"]["name"]) for each in versions] == [
            ("The client is a Nevada LLC.", "active", "Ben Okafor"),
            ("The client is a Delaware LLC.", "superseded", "Ana Ruiz"),
        ]

    async def test_the_type_alone_can_change(self, ana: Client) -> None:
        old = await saved(ana, "Answer by Friday.")
        new = (await ana.patch(f"/memories/{old['id']}", json={"type": "deadline"})).json()["memory"]
        assert (new["type"], new["content"]) == ("deadline", "Answer by Friday.")

    async def test_the_second_of_two_editors_sees_what_won(self, ana: Client, ben: Client) -> None:
        old = await saved(ana, "Trial in May.", "matter")
        new = (await ana.patch(f"/memories/{old['id']}", json={"content": "Trial in June."})).json()["memory"]
        late = await ben.patch(f"/memories/{old['id']}", json={"content": "Trial in July."})
        assert assert_problem(late, 409, "conflict")["current"]["id"] == new["id"]

    async def test_an_edit_of_a_deleted_memory_says_that_nothing_stands(self, ana: Client) -> None:
        gone = await saved(ana, "Trial in May.")
        await ana.delete(f"/memories/{gone['id']}")
        late = await ana.patch(f"/memories/{gone['id']}", json={"content": "Trial in July."})
        assert assert_problem(late, 409, "conflict")["current"] is None

    async def test_an_edit_into_another_memory_is_a_duplicate(self, ana: Client) -> None:
        other = await saved(ana, "Trial in June.")
        edited = await saved(ana, "Trial in May.")
        late = await ana.patch(f"/memories/{edited['id']}", json={"content": "Trial in June."})
        assert assert_problem(late, 409, "duplicate")["current"]["id"] == other["id"]

    async def test_a_rule_refuses_an_edit(self, ana: Client) -> None:
        old = await saved(ana, "The price is open.")
        rule = (await ana.post("/rules", json={"action": "never_remember", "phrase": "million"})).json()["rule"]
        late = await ana.patch(f"/memories/{old['id']}", json={"content": "The price is a million."})
        assert assert_problem(late, 403, "refused_by_rule")["rule"]["id"] == rule["id"]

    @pytest.mark.parametrize("change", [{}, {"content": None}, {"content": None, "type": None}])
    async def test_an_edit_of_nothing_is_refused(self, ana: Client, change: dict[str, None]) -> None:
        old = await saved(ana, "Trial in May.")
        assert_problem(await ana.patch(f"/memories/{old['id']}", json=change), 422, "nothing_to_change")

    async def test_a_scope_cannot_be_changed(self, ana: Client) -> None:
        old = await saved(ana, "Trial in May.")
        refused = await ana.patch(f"/memories/{old['id']}", json={"scope": "firm_global"})
        assert "`scope` is not a field" in assert_problem(refused, 422, "invalid_request")["detail"]


class TestDelete:
    async def test_a_deleted_memory_is_gone_from_recall_until_it_is_restored(self, ana: Client) -> None:
        memory = await saved(ana, "The docket number is 24-1187.")
        asked = {"query": "docket number"}
        deleted = (await ana.delete(f"/memories/{memory['id']}")).json()["memory"]
        assert deleted["status"] == "archived"
        assert (await ana.post("/recall", json=asked)).json()["personal"] == []
        assert (await ana.delete(f"/memories/{memory['id']}")).status_code == 200
        restored = (await ana.post(f"/memories/{memory['id']}/restore")).json()["memory"]
        assert restored["status"] == "active"
        assert [hit["id"] for hit in (await ana.post("/recall", json=asked)).json()["personal"]] == [memory["id"]]

    async def test_an_old_version_can_be_neither_deleted_nor_restored(self, ana: Client) -> None:
        old = await saved(ana, "Trial in May.")
        new = (await ana.patch(f"/memories/{old['id']}", json={"content": "Trial in June."})).json()["memory"]
        for reply in (await ana.delete(f"/memories/{old['id']}"), await ana.post(f"/memories/{old['id']}/restore")):
            assert assert_problem(reply, 409, "conflict")["current"]["id"] == new["id"]

    async def test_a_memory_whose_text_was_saved_again_is_not_restored_beside_it(self, ana: Client) -> None:
        first = await saved(ana, "Trial in May.")
        await ana.delete(f"/memories/{first['id']}")
        second = await saved(ana, "Trial in May.")
        late = await ana.post(f"/memories/{first['id']}/restore")
        assert assert_problem(late, 409, "duplicate")["current"]["id"] == second["id"]


async def test_a_memory_that_does_not_exist_is_not_found(ana: Client) -> None:
    for name in (NEVER_AN_ID, "zzz", "%00", "%ff"):
        assert_problem(await ana.get(f"/memories/{name}"), 404, "memory_not_found")
