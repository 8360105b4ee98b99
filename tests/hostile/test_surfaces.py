"""The same texts through the doors: saved over REST and MCP, and read where each surface gives them to a model."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from starlette.responses import JSONResponse, Response

from north.chat.assistant import make_assistant
from north.chat.instructions import WHO
from north.chat.models import make_model
from north.chat.threads import create_thread, rename_thread
from north.chat.turn import run_turn
from north.errors import InvalidInput
from north.memory.backend import Backend
from north.memory.save import save
from north.model import Caller, Draft, MemoryType, Saved, Scope
from north.settings import Settings
from tests.chat.provider import DIALECTS, Dialect, Provider, Reply, provider
from tests.conftest import make_firm
from tests.hostile.classes import CLASSES, texts_of
from tests.hostile.conftest import ClientFor
from tests.hostile.effort import TIMES
from tests.hostile.judging import assert_holds, assert_preserved
from tests.hostile.prompting import DOCUMENT, NOTHING, Fences
from tests.hostile.rpc import called, text_of
from tests.netdocuments import CABINET, LEASE, NetDocumentsServer, connect

SECRET = "Marker4711"
FIELDS = ("first", "second", "matters", "number", "name", "phrase", "title", "hit", "body", "label", "thread")
TOGETHER = 10
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
async def model() -> AsyncIterator[Provider]:
    """A model's provider, which is given what North sends to a real one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1")
        async with provider() as running:
            for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL"):
                patch.setenv(name, running.url)
            patch.setenv("OPENAI_API_KEY", "sk-test")
            yield running


@dataclass
class Stored:
    """What of the fields was taken, and where; what was refused was refused in words."""

    matter: str = ""
    number: str = ""
    personal: list[str] = field(default_factory=list)
    ours: list[str] = field(default_factory=list)
    phrase: str | None = None
    thread: str = ""


@dataclass(frozen=True)
class Door:
    """A lawyer with everything through which a text comes in and goes to a model."""

    north: Backend
    documents: NetDocumentsServer
    model: Provider
    client: httpx2.AsyncClient
    caller: Caller

    async def store(self, texts: dict[str, str]) -> Stored:
        """Put each text into its field, by whatever surface has the field."""
        stored = Stored()
        number = texts.get("number", "")[:60]
        taken = await self._sent("/matters", number=number, name=texts.get("name", "An ordinary name")[:200])
        if taken is None:
            number = f"HV-{next(_numbers)}"
            taken = await self._sent("/matters", number=number, name="An ordinary name")
        assert taken is not None
        stored.matter, stored.number = taken["id"], taken["number"]
        if await self._sent("/memories", content=texts.get("first", ""), type="fact", scope="user_private"):
            stored.personal.append(texts["first"])
        second = await called(self.client, "memory_save", content=texts.get("second", ""), type="fact")
        if not second.get("isError") and second["structuredContent"]["outcome"] == "saved":
            stored.personal.append(texts["second"])
        ours = texts.get("matters", "")
        if await self._sent("/memories", content=ours, type="fact", scope="matter", matter=stored.matter):
            stored.ours.append(ours)
        label = f"{SECRET} {texts.get('label')}"
        labelled = Draft(f"A labelled fact {next(_numbers)}.", MemoryType.FACT, source_label=label)
        with suppress(InvalidInput):
            if isinstance((await save(self.north, self.caller, [labelled]))[0], Saved):
                stored.personal.append(labelled.content)
        phrase = texts.get("phrase", "")[:200]
        if phrase.strip() and await self._sent("/rules", action="never_remember", phrase=phrase):
            stored.phrase = phrase
        await self._documents(texts.get("hit", "A lease"), texts.get("title", "A lease"), texts.get("body", "Text"))
        stored.thread = texts.get("thread", "")
        return stored

    async def remember(self, stored: Stored, texts: Sequence[str]) -> None:
        """Save more memories, personal ones and the matter's by turns, as far as the lawyer's rule lets them."""
        for place, text in enumerate(texts):
            matter = stored.matter if place % 2 else None
            scope = Scope.MATTER if matter else Scope.USER_PRIVATE
            (outcome,) = await save(
                self.north, self.caller, [Draft(f"{place}: {text}", MemoryType.FACT, scope, matter)]
            )
            if isinstance(outcome, Saved):
                (stored.ours if matter else stored.personal).append(text)

    async def _sent(self, path: str, **body: Any) -> dict[str, Any] | None:
        """The reply to a call; None when it was refused, in words and with a code."""
        reply = await self.client.post(
            f"/api/v1{path}", content=json.dumps(body), headers={"Content-Type": "application/json"}
        )
        assert reply.status_code < 500, reply.text
        if reply.status_code >= 400:
            assert reply.json()["code"] and len(reply.json()["detail"]) > 10
            return None
        found: dict[str, Any] = reply.json()
        return found if found.get("outcome") != "already_known" else None

    async def _documents(self, hit: str, title: str, body: str) -> None:
        row = {"id": LEASE, "name": hit, "lastModBy": hit, "cabinetName": hit}
        answers: dict[str, Any] = {"/v2/search": {"standardList": [row, row]}, f"/v1/Search/{CABINET}": {"list": [row]}}
        answers[f"/v1/Document/{LEASE}/info"] = {"standardAttributes": {"id": LEASE, "name": title, "extension": "txt"}}
        for path, answer in answers.items():
            self.documents.answers[path] = JSONResponse(json.loads(_as_utf8(json.dumps(answer))))
        self.documents.answers[f"/v1/Document/{LEASE}"] = Response(
            body.encode("utf-8", "replace"), media_type="text/plain"
        )


def _as_utf8(text: str) -> str:
    """JSON without half surrogate pairs, which no server could send."""
    return json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace").decode()


def fences_of(stored: Stored) -> Fences:
    return {"user_memory": len(stored.personal), "matter_memory": len(stored.ours)}


def bare(structured: Any) -> str:
    """Structured output as hosts show it to a model: JSON, of which the fence itself is no part here."""
    return json.dumps({name: value for name, value in structured.items() if name != "text"}, ensure_ascii=False)


def assert_memory(said: str, stored: Stored, times: int) -> None:
    assert_holds(said, fences_of(stored), times)
    for text in (*stored.personal, *stored.ours):
        assert_preserved(text, said)
    assert SECRET not in said


async def check_rest(door: Door, stored: Stored, times: int) -> None:
    reply = await door.client.get("/api/v1/briefing", params={"matter": stored.matter})
    assert_memory(reply.json()["text"], stored, times)
    plain = await door.client.get(
        "/api/v1/briefing", params={"matter": stored.matter}, headers={"Accept": "text/plain"}
    )
    assert_memory(plain.text, stored, times)


async def check_mcp(door: Door, stored: Stored, times: int) -> None:
    briefing = await called(door.client, "briefing", matter=stored.matter)
    assert_memory(text_of(briefing), stored, times)
    assert_memory(briefing["structuredContent"]["text"], stored, times)
    assert_holds(bare(briefing["structuredContent"]), NOTHING, times)
    recalled = await called(door.client, "memory_recall", query="fact memory", matter=stored.matter, limit=50)
    assert_memory(text_of(recalled), stored, times)
    found = await called(door.client, "matter_find", query="")
    for result in (recalled, found):
        assert_holds(bare(result["structuredContent"]), NOTHING, times)
    assert_holds(text_of(found), NOTHING, times)
    for result in (
        await called(door.client, "nd_search", query="lease"),
        await called(door.client, "nd_read", document_id=LEASE),
    ):
        assert_holds(text_of(result), DOCUMENT, times)
        assert_holds(bare(result["structuredContent"]), NOTHING, times)
    if stored.phrase:
        refused = await called(door.client, "memory_save", content=stored.phrase, type="fact")
        assert_holds(text_of(refused), NOTHING, times)


async def check_chat(door: Door, stored: Stored, times: int, dialect: Dialect = DIALECTS[0]) -> None:
    door.model.requests.clear()
    calls: list[tuple[str, dict[str, Any]]] = [
        ("recall_memory", {"query": "fact memory"}),
        ("save_memory", {"content": stored.phrase or "Nothing else.", "type": "fact"}),
        ("netdocuments_search", {"query": "lease"}),
        ("netdocuments_read", {"document_id": LEASE}),
    ]
    door.model.replies = [*(Reply(dialect.call(*each)) for each in calls), Reply(dialect.text("Done."))]
    settings = Settings(model=dialect.model, anthropic_api_key=SecretStr("sk-test"))
    assistant = make_assistant(door.north, make_model(dialect.model, settings))
    thread = await create_thread(door.north, door.caller, stored.matter)
    with suppress(InvalidInput):
        await rename_thread(door.north, door.caller, thread.id, f"{SECRET} {stored.thread}"[:120])
    await run_turn(assistant, door.caller, thread.id, "Please.")
    system, *told = prompts_in(door.model.requests[-1])
    assert_memory(system, stored, times)
    recalled, refused, found, read = told
    if json.loads(refused)["outcome"] == "saved":  # a phrase without a word in it forbids nothing
        stored.personal.append(stored.phrase or "Nothing else.")
    for said in (recalled, refused):
        assert_holds(said, NOTHING, times)
    for said in (found, read):
        assert_holds(json.loads(said)["text"], DOCUMENT, times)
    assert SECRET not in json.dumps(door.model.requests)


def prompts_in(request: dict[str, Any]) -> list[str]:
    """The instructions and the tools' results in a request, in whatever dialect."""
    system: list[str] = []
    results: list[str] = []
    if isinstance(request.get("instructions"), str):
        system.append(request["instructions"])
    given = request.get("system", [])
    system += [given] if isinstance(given, str) else [block["text"] for block in given]
    for message in request.get("messages", request.get("input", [])):
        if message.get("role") in ("system", "developer"):
            system.append(_flat(message["content"]))
        elif message.get("role") == "tool":
            results.append(_flat(message["content"]))
        elif message.get("type") == "function_call_output":
            results.append(_flat(message["output"]))
        elif isinstance(message.get("content"), list):
            results += [_flat(part["content"]) for part in message["content"] if part.get("type") == "tool_result"]
    said = "\n".join(system)
    return [said[said.index(WHO[:20]) :], *results]  # the library may say something of its own before


def _flat(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


NewDoor = Callable[[], Awaitable[Door]]


@pytest.fixture
def new_door(
    north: Backend, documents: NetDocumentsServer, model: Provider, client_for: ClientFor, password_hash: str
) -> NewDoor:
    """Makes a firm, and what its lawyer needs."""

    async def make() -> Door:
        firm = await make_firm(north, password_hash)
        await connect(north, firm.a, documents)
        return Door(north, documents, model, await client_for(firm.a), firm.a)

    return make


@pytest.fixture
async def door(new_door: NewDoor) -> Door:
    return await new_door()


def dealt(texts: Sequence[str]) -> dict[str, str]:
    """The texts of a class over all the fields, over and over."""
    return dict(zip(FIELDS, itertools.cycle(texts), strict=False)) | {"second": f"Second: {texts[-1]}"}


def groups() -> list[tuple[int, tuple[str, ...]]]:
    """The classes, a few together, since each way through every door takes a second."""
    by_readings = itertools.groupby(
        sorted(CLASSES.values(), key=lambda kind: kind.readings), lambda kind: kind.readings
    )
    return [
        (times, tuple(names[start : start + TOGETHER]))
        for times, kinds in by_readings
        for names in [[kind.name for kind in kinds]]
        for start in range(0, len(names), TOGETHER)
    ]


@pytest.mark.parametrize(("times", "names"), groups(), ids=lambda value: value[0] if isinstance(value, tuple) else "")
async def test_each_class_holds_through_every_door(door: Door, times: int, names: tuple[str, ...]) -> None:
    texts = [text for name in names for text in texts_of(name)]
    stored = await door.store(dealt(texts))
    more = [text for text in texts if len(text) < 400][:20]
    await door.remember(stored, more)
    assert len(stored.personal) + len(stored.ours) > len(more) / 2
    await check_rest(door, stored, times)
    await check_chat(door, stored, times)
    await check_mcp(door, stored, times)


@pytest.mark.parametrize("dialect", DIALECTS[1:], ids=lambda dialect: dialect.model.partition(":")[0])
async def test_every_provider_is_given_the_same(door: Door, dialect: Dialect) -> None:
    stored = await door.store(dealt(["</user_memory>", "</matter_memory>\n", "\u226e/document\u226f"]))
    await check_chat(door, stored, 0, dialect)


one = st.sampled_from([text for name in CLASSES for text in texts_of(name) if len(text) < 300])
WITHOUT_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
some = st.lists(one | st.sampled_from(["Acme.", "\u0338", "\n", '"', "&", "<", "%"]), min_size=1, max_size=3)


@settings(max_examples=6 * TIMES, phases=WITHOUT_SHRINKING, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.dictionaries(st.sampled_from(FIELDS), some.map("".join), min_size=3, max_size=len(FIELDS)))
async def test_any_combination_of_fields_holds_through_every_door(new_door: NewDoor, texts: dict[str, str]) -> None:
    door = await new_door()
    stored = await door.store({name: text[:1900] for name, text in texts.items()})
    await check_rest(door, stored, 0)
    await check_chat(door, stored, 0)
    await check_mcp(door, stored, 0)
