"""The ethical wall over REST: a reported consultation, and what it bars."""

from __future__ import annotations

import pytest

from north.memory.backend import Backend
from north.memory.wall import mint_session
from tests.api.conftest import Client, assert_problem, saved
from tests.conftest import FirmOfTest

LLC = {"content": "The client is a Delaware LLC.", "type": "fact", "scope": "matter", "matter": "HV-1001"}
REPORT = {"source": "netdocuments"}


@pytest.fixture
def session(backend: Backend, firm: FirmOfTest) -> str:
    """A session handle of Ana's, as a briefing gives it."""
    return mint_session(backend, firm.a)


async def consult(client: Client, **fields: str) -> None:
    reply = await client.post("/wall/consultations", json=REPORT | fields)
    assert (reply.status_code, reply.json()) == (201, REPORT)


async def test_a_report_bars_the_matter_writes_of_its_token(ana: Client) -> None:
    await consult(ana)
    problem = assert_problem(await ana.post("/memories", json=LLC), 403, "refused_by_wall")
    assert problem["source"] == "NetDocuments"
    await saved(ana, "I like short memos.")


async def test_a_report_with_a_handle_bars_that_session_and_writes_without_a_handle(
    ana: Client, session: str, backend: Backend, firm: FirmOfTest
) -> None:
    await consult(ana, session=session)
    assert_problem(await ana.post("/memories", json=LLC | {"session": session}), 403, "refused_by_wall")
    assert_problem(await ana.post("/memories", json=LLC), 403, "refused_by_wall")
    await saved(ana, LLC["content"], scope="matter", session=mint_session(backend, firm.a))


async def test_an_edit_of_matter_memory_is_refused_and_a_deletion_is_not(ana: Client, session: str) -> None:
    memory = await saved(ana, LLC["content"], scope="matter")
    await consult(ana, session=session)
    change = {"content": "The client is a Nevada LLC.", "session": session}
    assert_problem(await ana.patch(f"/memories/{memory['id']}", json=change), 403, "refused_by_wall")
    assert (await ana.delete(f"/memories/{memory['id']}")).status_code == 200


async def test_a_report_of_a_colleague_bars_nobody_else(ana: Client, ben: Client) -> None:
    await consult(ben)
    await saved(ana, LLC["content"], scope="matter")


async def test_a_handle_that_is_not_the_lawyers_is_refused(ana: Client, ben: Client, session: str) -> None:
    for handle in (session, "forged"):
        assert_problem(await ben.post("/wall/consultations", json=REPORT | {"session": handle}), 403, "session_unknown")
        assert_problem(await ben.post("/memories", json=LLC | {"session": handle}), 403, "session_unknown")
    memory = await saved(ben, "I like short memos.")
    change = {"content": "I like long memos.", "session": session}
    assert_problem(await ben.patch(f"/memories/{memory['id']}", json=change), 403, "session_unknown")


async def test_an_unknown_source_is_refused_with_the_known_ones(ana: Client) -> None:
    problem = assert_problem(
        await ana.post("/wall/consultations", json={"source": "dropbox"}), 422, "walled_source_unknown"
    )
    assert "netdocuments" in problem["detail"]
    await saved(ana, LLC["content"], scope="matter")


async def test_a_report_needs_a_token(anybody: Client) -> None:
    assert_problem(await anybody.post("/wall/consultations", json=REPORT), 401, "not_signed_in")
