"""Tokens over REST."""

from __future__ import annotations

import pytest

from tests.api.conftest import NEVER_AN_ID, Client, assert_problem, saved
from tests.conftest import FirmOfTest


async def test_a_new_token_acts_for_its_maker_until_it_is_deleted(ana: Client, firm: FirmOfTest) -> None:
    reply = await ana.post("/tokens", json={"name": "research agent"})
    made = reply.json()
    assert reply.status_code == 201
    assert set(made) == {"token", "secret"}
    assert set(made["token"]) == {"id", "name", "created_at", "last_used_at", "expires_at"}
    ana.headers["Authorization"], old = f"Bearer {made['secret']}", ana.headers["Authorization"]
    memory = await saved(ana, "The client is a Delaware LLC.")
    assert memory["captured_by"]["id"] == str(firm.ana.id)
    listed = (await ana.get("/tokens")).json()["tokens"]
    assert [token["name"] for token in listed] == ["research agent", "test"]
    assert made["secret"] not in str(listed)
    assert (await ana.delete(f"/tokens/{made['token']['id']}")).status_code == 204
    assert_problem(await ana.get("/memories"), 401, "not_signed_in")
    ana.headers["Authorization"] = old
    assert (await ana.get("/memories")).status_code == 200


async def test_a_token_that_does_not_exist_or_is_a_colleagues_is_not_found(ana: Client, ben: Client) -> None:
    token = (await ana.post("/tokens", json={"name": "mine"})).json()["token"]
    replies = [await ben.delete(f"/tokens/{name}") for name in (token["id"], NEVER_AN_ID, "zzz")]
    for reply in replies:
        assert_problem(reply, 404, "token_not_found")
    assert len({reply.content for reply in replies}) == 1


@pytest.mark.parametrize("name", ["", " ", "x" * 101, "a\nb", "a\0b"])
async def test_a_token_needs_a_name(ana: Client, name: str) -> None:
    assert_problem(await ana.post("/tokens", json={"name": name}), 422, "invalid_request")


@pytest.mark.parametrize("credential", [None, "Bearer", "Bearer nonsense", "Basic YTpi", "nonsense", "Bearer \xff"])
async def test_without_a_token_that_is_known_nothing_is_answered(anybody: Client, credential: str | None) -> None:
    headers = [(b"authorization", credential.encode("latin-1"))] if credential else []
    reply = await anybody.get("/memories", headers=headers)
    assert_problem(reply, 401, "not_signed_in")
    assert reply.headers["www-authenticate"] == "Bearer"
