"""A rule stands inside the door: no surface and no server is a way around it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import psycopg
import pytest

from north.assembly import make_backend, opened
from north.memory.backend import Backend
from north.memory.rules import create_rule, delete_rule, list_rules
from north.memory.save import save
from north.model import Draft, MemoryType, Origin, RefusedByRule
from north.settings import Settings
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.remembering import count, everything, on_matter, personal, remember


@pytest.fixture
async def other_server(database: TestDatabase) -> AsyncIterator[Backend]:
    """A second server on the same database."""
    async with opened(make_backend(Settings(model="offline", embedder="none"), database.place)) as running:
        yield running


@pytest.mark.parametrize("origin", Origin)
async def test_a_rule_refuses_what_comes_by_any_surface_and_nothing_is_written(
    backend: Backend, database: TestDatabase, firm: FirmOfTest, origin: Origin
) -> None:
    rule = await create_rule(backend, firm.a, "never_remember", None, None, "home address")
    caller = replace(firm.a, origin=origin)
    draft = Draft("Her home addresses, both of them, are in Kent.", MemoryType.FACT)
    assert await save(backend, caller, [draft]) == [RefusedByRule(rule)]
    assert count(database, "agent_memory_candidate", caller) == count(database, "memory_term", caller) == 0
    await remember(backend, caller, personal("She dresses well at home."))


async def test_a_rule_made_on_one_server_holds_for_the_next_save_on_another(
    backend: Backend, other_server: Backend, firm: FirmOfTest
) -> None:
    await remember(other_server, firm.a, "The first one is in Kent.")
    rule = await create_rule(backend, firm.a, "never_remember", None, None, "Kent")
    assert await save(other_server, firm.a, [personal("The second one is in Kent.")]) == [RefusedByRule(rule)]
    await delete_rule(other_server, firm.a, rule.id)
    await remember(backend, firm.a, "The second one is in Kent.")
    assert len(await everything(other_server, firm.a)) == 2


@pytest.mark.parametrize("action", ["always_remember", "always_review", "something that nobody knows"])
async def test_a_stored_rule_of_another_action_blocks_nothing(
    backend: Backend, database: TestDatabase, firm: FirmOfTest, action: str
) -> None:
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute(
            """insert into memory_rule (organization_id, id, user_id, action, origin)
               values (%s, gen_random_uuid(), %s, %s, 'settings')""",
            (firm.ana.organization_id, firm.ana.id, action),
        )
    await remember(backend, firm.a, "The home address is in Kent.")
    assert len(await list_rules(backend, firm.a)) == 1


async def test_a_rule_binds_its_own_lawyer_and_nobody_else(backend: Backend, firm: FirmOfTest) -> None:
    await create_rule(backend, firm.a, "never_remember", None, None, None)
    assert await list_rules(backend, firm.b) == []
    await remember(backend, firm.b, on_matter("The hearing is in Kent."))
