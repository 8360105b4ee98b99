"""The whole API against its own description, with hostile values: no fault, and each refusal a documented problem."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from north.access.tokens import create_token
from north.api.description import describe_api
from north.api.site import make_api
from north.assembly import Place, make_backend
from north.chat.assistant import make_assistant
from north.chat.models import make_model
from north.chat.threads import create_thread
from north.memory.backend import Backend
from north.memory.rules import create_rule
from north.memory.save import save
from north.model import Draft, MemoryType, Saved
from north.settings import Settings
from tests.conftest import SECRET_KEY, TestDatabase, make_firm, shared_data
from tests.hostile.described import Target, ask, operations, served
from tests.hostile.effort import SEED, TIMES

EXAMPLES = 25 * TIMES


def described() -> list[str]:
    """Every call, as the description names it."""
    settings = Settings(model="offline", embedder="none")
    backend = make_backend(settings, Place("postgresql://nowhere", SECRET_KEY))
    api = make_api(backend, make_assistant(backend, make_model("offline", settings)))
    paths = describe_api(api, "/api")["paths"]
    return sorted(f"{method.upper()} {path}" for path, calls in paths.items() for method in calls)


async def target_for(backend: Backend, password_hash: str, url: str, naughty: list[str]) -> Target:
    """A lawyer who has one of everything."""
    firm = await make_firm(backend, password_hash)
    (outcome,) = await save(backend, firm.a, [Draft("The client is a Delaware LLC.", MemoryType.FACT)])
    assert isinstance(outcome, Saved)
    thread = await create_thread(backend, firm.a, "HV-1001")
    rule = await create_rule(backend, firm.a, "never_remember", None, None, "settlement of nothing")
    _, secret = await create_token(backend, firm.a, "hostile")
    return Target(url, secret, [str(outcome.memory.id), str(thread.id), str(rule.id)], naughty)


@pytest.fixture(scope="module")
def url(database: TestDatabase) -> Iterator[str]:
    with served(database.place) as address:
        yield address


@pytest.fixture(scope="module")
async def target(backend: Backend, password_hash: str, url: str) -> Target:
    naughty: list[str] = json.loads(shared_data("hostile/blns.json").read_text())
    return await target_for(backend, password_hash, url, naughty)


@pytest.mark.parametrize("call", described())
def test_a_call_answers_as_it_is_described(target: Target, call: str) -> None:
    assert ask(target, operations(target.url)[call], EXAMPLES, SEED) >= 1
