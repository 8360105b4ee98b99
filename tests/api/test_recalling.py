"""Recall and briefing over REST."""

from __future__ import annotations

import pytest

from tests.api.conftest import Client, assert_problem, saved


async def test_a_recall_answers_from_both_buckets_and_never_from_the_firm(ana: Client) -> None:
    own = await saved(ana, "I cite cases in Bluebook form.")
    shared = await saved(ana, "The court wants cases cited in Bluebook form.", "matter")
    await saved(ana, "The firm cites cases in Bluebook form.", "firm_global")
    reply = await ana.post("/recall", json={"query": "How do I cite cases?", "matter": "HV-1001"})
    found = reply.json()
    assert set(found) == {"personal", "matter"}
    assert [hit["id"] for hit in found["personal"]] == [own["id"]]
    assert [hit["id"] for hit in found["matter"]] == [shared["id"]]
    assert found["personal"][0]["score"] > 0
    assert set(found["personal"][0]) == {*own, "score"}


async def test_without_a_matter_the_matters_bucket_is_empty(ana: Client) -> None:
    await saved(ana, "The client is a Delaware LLC.", "matter")
    assert (await ana.post("/recall", json={"query": "Delaware"})).json() == {"personal": [], "matter": []}


async def test_a_limit_counts_for_each_bucket(ana: Client) -> None:
    for number in range(3):
        await saved(ana, f"Exhibit {number} is sealed.")
    hits = (await ana.post("/recall", json={"query": "sealed exhibit", "limit": 2})).json()["personal"]
    assert len(hits) == 2
    assert hits[0]["score"] >= hits[1]["score"]


async def test_what_was_recalled_counts_as_used(ana: Client) -> None:
    memory = await saved(ana, "The docket number is 24-1187.")
    await ana.post("/recall", json={"query": "docket"})
    used = (await ana.get(f"/memories/{memory['id']}")).json()["memory"]
    assert used["uses"] == 1
    assert used["last_used_at"] is not None


@pytest.mark.parametrize(
    "asked",
    [
        {"query": ""},
        {"query": "   "},
        {"query": "x" * 10_001},
        {"query": "x", "limit": 0},
        {"query": "x", "limit": 201},
        {"query": "x", "limit": True},
        {"query": "x", "limit": "5"},
        {"query": 5},
        {},
    ],
)
async def test_a_question_that_cannot_be_asked_is_explained(ana: Client, asked: dict[str, object]) -> None:
    assert_problem(await ana.post("/recall", json=asked), 422, "invalid_request")


async def test_an_unknown_matter_is_not_found(ana: Client) -> None:
    assert_problem(await ana.post("/recall", json={"query": "x", "matter": "HV-9"}), 404, "matter_not_found")
    assert_problem(await ana.get("/briefing", params={"matter": "HV-9"}), 404, "matter_not_found")


async def test_a_briefing_is_the_fenced_text_with_its_memories(ana: Client) -> None:
    memory = await saved(ana, "The client is a Delaware LLC.", "matter")
    brief = (await ana.get("/briefing", params={"matter": "HV-1001"})).json()
    assert set(brief) == {"text", "memories"}
    assert [each["id"] for each in brief["memories"]] == [memory["id"]]
    assert '<matter_memory matter="HV-1001">' in brief["text"] and "Delaware LLC" in brief["text"]


async def test_a_briefing_comes_as_plain_text_when_asked(ana: Client) -> None:
    await saved(ana, "I cite in Bluebook form.")
    reply = await ana.get("/briefing", headers={"Accept": "text/plain"})
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    assert "Bluebook" in reply.text and reply.text.endswith("</user_memory>")
