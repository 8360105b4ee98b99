"""NetDocuments in a conversation: what the tools tell the model, and what the wall does afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from starlette.responses import Response

from north.chat.assistant import make_assistant
from north.chat.events import CaptureRefused, MemorySaved
from north.chat.models import make_model
from north.errors import Misconfigured
from north.memory.backend import Backend
from tests.chat.script import Script, call, events_of, open_thread
from tests.conftest import FirmOfTest
from tests.netdocuments import LEASE, NetDocumentsServer, connect, netdocuments_server, set_up

SAVE = call("save_memory", content="The client wants a shorter lease.", type="fact", scope="matter")
READ = call("netdocuments_read", document_id=LEASE)


@pytest.fixture
async def server() -> AsyncIterator[NetDocumentsServer]:
    async with netdocuments_server() as running:
        yield running


@pytest.fixture
async def north(backend: Backend, firm: FirmOfTest, server: NetDocumentsServer) -> Backend:
    """North, registered at the server; Ana is connected."""
    configured = set_up(backend, server)
    await connect(configured, firm.a, server)
    return configured


class TestTheTools:
    async def test_search_and_read_for_the_lawyer(self, north: Backend, firm: FirmOfTest) -> None:
        script = Script([call("netdocuments_search", query="lease")], [READ], ["Five years."])
        await events_of(script.assistant(north), firm.a, await open_thread(north, firm.a), "How long is the lease?")
        found, read = script.told()
        assert f"[{LEASE}] Lease Harbor Street.txt" in found["text"]
        assert "\nThe term of the lease is five years.\nThe rent is 4,000 a month.\n</document>" in read["text"]
        assert "netdocuments_search" in script.instructions[0]

    async def test_tell_the_model_what_a_failure_means(
        self, north: Backend, firm: FirmOfTest, server: NetDocumentsServer
    ) -> None:
        server.answers["/v2/search"] = Response(status_code=503)
        script = Script([call("netdocuments_search", query="lease")], ["It is away."])
        await events_of(script.assistant(north), firm.a, await open_thread(north, firm.a), "Find the lease.")
        [told] = script.told()
        assert told["outcome"] == "failed"
        assert "answered with status 503. Try again in a moment. Tell the lawyer" in told["message"]

    async def test_say_to_a_lawyer_who_is_not_connected_what_to_do(self, north: Backend, firm: FirmOfTest) -> None:
        script = Script([READ], ["Connect it first."])
        await events_of(script.assistant(north), firm.b, await open_thread(north, firm.b), "Read the lease.")
        assert "Connect it in Settings → Connections" in script.told()[0]["message"]

    async def test_are_offered_only_where_netdocuments_is_set_up(
        self, backend: Backend, north: Backend, firm: FirmOfTest
    ) -> None:
        script = Script(["Hello."])
        await events_of(script.assistant(backend), firm.a, await open_thread(backend, firm.a), "Hello.")
        assert "NetDocuments" not in script.instructions[0]
        assert not script.assistant(backend).documents
        assert script.assistant(north).documents

    def test_are_checked_when_north_starts(self, north: Backend) -> None:
        odd = replace(north, settings=north.settings.model_copy(update={"netdocuments_region": "mars"}))
        with pytest.raises(Misconfigured, match="NORTH_NETDOCUMENTS_REGION"):
            make_assistant(odd, make_model("offline", odd.settings))


class TestTheWall:
    async def test_refuses_a_matter_save_after_a_reading_with_one_sentence(
        self, north: Backend, firm: FirmOfTest
    ) -> None:
        thread = await open_thread(north, firm.a, "HV-1001")
        before = await events_of(Script([SAVE], ["Saved."]).assistant(north), firm.a, thread, "She wants it shorter.")
        assert any(isinstance(event, MemorySaved) for event in before)
        await events_of(Script([READ], ["Read."]).assistant(north), firm.a, thread, "Read the lease.")
        again = call("save_memory", content="The term is five years.", type="fact", scope="matter")
        after = await events_of(Script([again], ["No."]).assistant(north), firm.a, thread, "Remember the term.")
        [refusal] = [event.reason for event in after if isinstance(event, CaptureRefused)]
        assert refusal == (
            "Not saved for the matter: this conversation has read from NetDocuments and may only save personal memory."
        )

    async def test_leaves_personal_saves_and_other_conversations_alone(self, north: Backend, firm: FirmOfTest) -> None:
        tainted = await open_thread(north, firm.a, "HV-1001")
        await events_of(Script([READ], ["Read."]).assistant(north), firm.a, tainted, "Read the lease.")
        personal = call("save_memory", content="I prefer short leases.", type="preference")
        events = await events_of(Script([personal], ["Saved."]).assistant(north), firm.a, tainted, "I like them short.")
        assert any(isinstance(event, MemorySaved) for event in events)
        other = await open_thread(north, firm.a, "HV-1001")
        events = await events_of(Script([SAVE], ["Saved."]).assistant(north), firm.a, other, "She wants it shorter.")
        assert any(isinstance(event, MemorySaved) for event in events)
