"""Rules over REST."""

from __future__ import annotations

from tests.api.conftest import NEVER_AN_ID, Client, assert_problem, saved


async def test_a_rule_holds_from_creation_to_deletion(ana: Client) -> None:
    asked = {"action": "never_remember", "scope": "user_private", "type": "fact", "phrase": "health"}
    reply = await ana.post("/rules", json=asked)
    rule = reply.json()["rule"]
    assert reply.status_code == 201
    assert set(rule) == {"id", "action", "scope", "type", "phrase", "origin", "reason", "created_at"}
    assert {name: rule[name] for name in asked} == asked
    assert [each["id"] for each in (await ana.get("/rules")).json()["rules"]] == [rule["id"]]
    new = {"content": "Her health is poor.", "type": "fact", "scope": "user_private"}
    assert_problem(await ana.post("/memories", json=new), 403, "refused_by_rule")
    deleted = await ana.delete(f"/rules/{rule['id']}")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert (await ana.get("/rules")).json() == {"rules": []}
    await saved(ana, "Her health is poor.")


async def test_only_never_remember_can_be_created(ana: Client) -> None:
    for action in ("always_remember", "", "NEVER_REMEMBER"):
        assert_problem(await ana.post("/rules", json={"action": action}), 422, "rule_action_unknown")
    assert_problem(await ana.post("/rules", json={}), 422, "invalid_request")
    too_long = {"action": "never_remember", "phrase": "x" * 201}
    assert_problem(await ana.post("/rules", json=too_long), 422, "invalid_request")


async def test_a_rule_that_does_not_exist_or_is_a_colleagues_is_not_found(ana: Client, ben: Client) -> None:
    rule = (await ana.post("/rules", json={"action": "never_remember"})).json()["rule"]
    replies = [await ben.delete(f"/rules/{name}") for name in (rule["id"], NEVER_AN_ID, "zzz")]
    for reply in replies:
        assert_problem(reply, 404, "rule_not_found")
    assert len({reply.content for reply in replies}) == 1
    assert len((await ana.get("/rules")).json()["rules"]) == 1
