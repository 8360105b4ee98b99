"""Matters over REST."""

from __future__ import annotations

import pytest

from tests.api.conftest import Client, assert_problem


async def test_a_matter_is_the_firms_at_once(ana: Client, ben: Client) -> None:
    reply = await ana.post("/matters", json={"number": " HV-2001 ", "name": "Estate of Lindqvist"})
    matter = reply.json()
    assert reply.status_code == 201
    assert set(matter) == {"id", "number", "name", "created_at"}
    assert matter["number"] == "HV-2001"
    listed = (await ben.get("/matters")).json()["matters"]
    assert [each["number"] for each in listed] == ["HV-2001", "HV-1002", "HV-1001"]
    found = (await ben.get("/matters", params={"q": "lindqvist"})).json()["matters"]
    assert found == [matter]


async def test_a_number_belongs_to_one_matter(ana: Client) -> None:
    assert_problem(await ana.post("/matters", json={"number": "HV-1001", "name": "Again"}), 409, "already_exists")


@pytest.mark.parametrize(("number", "name"), [("", "x"), ("x", "\t"), ("x" * 65, "x"), ("x", "x" * 201), ("a\nb", "x")])
async def test_a_matter_needs_a_number_and_a_name_of_one_line(ana: Client, number: str, name: str) -> None:
    assert_problem(await ana.post("/matters", json={"number": number, "name": name}), 422, "invalid_request")
