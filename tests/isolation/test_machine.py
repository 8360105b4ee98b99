"""A small run of the state machine: every route and every tool. `make prove-isolation` is the large one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import psycopg
import pytest
from fastmcp import Client

from north.mcp.server import make_mcp
from north.model import Caller
from tests.conftest import TestDatabase
from tests.isolation.machine.driver import Leak
from tests.isolation.machine.machine import calls_of
from tests.isolation.machine.routes import routes_of
from tests.isolation.machine.run import examples
from tests.isolation.machine.stage import Stage
from tests.isolation.machine.tool_calls import tools_driven

EXAMPLES, STEPS = 4, 45
LEAST_RESPONSES, LEAST_PROBES = 2500, 500


@pytest.fixture(scope="module")
def stage(make_database: Callable[[], TestDatabase]) -> Iterator[Stage]:
    """A stage on which the machine has run; it raises what it finds."""
    with Stage(make_database(), seed=1) as stage:
        examples(stage, EXAMPLES, STEPS, seed=1)
        yield stage


def test_nobody_was_shown_or_could_tell_what_is_somebody_elses(stage: Stage) -> None:
    assert stage.tally.responses >= LEAST_RESPONSES
    assert sum(stage.tally.probes.values()) >= LEAST_PROBES
    assert stage.tally.own_canaries >= LEAST_RESPONSES


def test_every_route_answered_with_what_it_is_there_for(stage: Stage) -> None:
    assert routes_of(stage.app) - stage.tally.routes == set(), "a new route needs a call in tests/isolation/machine"


def test_every_call_that_takes_an_id_was_given_foreign_ones(stage: Stage) -> None:
    assert {call.title for call in calls_of(stage) if call.names} - set(stage.tally.probes) == set()


def test_every_tool_is_driven(stage: Stage) -> None:
    async def nobody() -> Caller:
        raise AssertionError("listing asks for nobody")

    async def names() -> set[str]:
        async with Client(make_mcp(stage.backend, nobody)) as client:
            return {tool.name for tool in await client.list_tools()}

    assert asyncio.run(names()) == tools_driven()


def test_the_machine_finds_a_wall_that_is_down(fresh_database: TestDatabase) -> None:
    opened = """
        alter policy reach on agent_memory_candidate using (organization_id = north_organization());
        alter policy owner_wall on agent_memory_candidate using (true)"""
    with Stage(fresh_database, seed=2) as stage:
        with psycopg.connect(fresh_database.superuser_url) as superuser:
            superuser.execute(opened.encode())
        with pytest.raises(Leak):
            examples(stage, EXAMPLES, STEPS, seed=2)
        assert stage.tally.responses < LEAST_RESPONSES
