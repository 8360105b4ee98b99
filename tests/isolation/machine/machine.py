"""The state machine: lawyers act at random, and after every step a patrol asks what must not be told."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.isolation.machine import agent_calls, page_calls, tool_calls
from tests.isolation.machine.calls import Call, Door, NotNow
from tests.isolation.machine.journeys import Journeys
from tests.isolation.machine.routes import routes_of
from tests.isolation.machine.stage import Stage
from tests.isolation.machine.world import Lawyer

SEEDS = st.integers(0, 2**32 - 1)
WHO = st.integers(0, 63)
FIRMS, LAWYERS = (2, 3), (1, 3)
PATROL = 12
"""Calls after each step."""
EVERY_CALL = (*agent_calls.CALLS, *page_calls.CALLS, *tool_calls.CALLS, *agent_calls.PUBLIC)


@dataclass(frozen=True)
class Beat:
    """One stop of the patrol: a call on what is one's own, or on what is somebody else's."""

    call: Call
    foreign: bool


def beats(calls: tuple[Call, ...], seed: int) -> list[Beat]:
    """Every stop of the patrol, in an order that the seed decides."""
    found = [Beat(call, foreign) for call in calls for foreign in ((False, True) if call.names else (False,))]
    random.Random(seed).shuffle(found)
    return found


def calls_of(stage: Stage) -> tuple[Call, ...]:
    """The calls that this application answers."""
    known = routes_of(stage.app)
    return tuple(call for call in EVERY_CALL if call.route in known)


class Isolation(RuleBasedStateMachine):
    """Random firms on one application; `stage` is set by whoever runs it."""

    stage: Stage
    calls: tuple[Call, ...]
    writing: tuple[Call, ...]
    patrols: list[Beat]

    def __init__(self) -> None:
        super().__init__()
        self.world, self.driver = self.stage.new_world()
        self.journeys = Journeys(self.stage, self.driver)

    @initialize(firms=st.integers(*FIRMS), lawyers=st.lists(st.integers(*LAWYERS), min_size=3, max_size=3), seed=SEEDS)
    def open_firms(self, firms: int, lawyers: list[int], seed: int) -> None:
        self._run(self._open_firms(firms, lawyers, seed))

    async def _open_firms(self, firms: int, lawyers: list[int], seed: int) -> None:
        for number in range(firms):
            firm = await self.journeys.open_firm()
            for _ in range(max(lawyers[number], 2 if number == 0 else 1)):
                lawyer = await self.journeys.join(firm)
            await self.driver.use(_call("POST /api/v1/matters"), lawyer, None, seed + number)
            await self.journeys.connect_a_program(lawyer)
            await self.journeys.connect_netdocuments(lawyer, self.world.lawyers[0])
        await self.world.look_again()

    @rule(what=st.integers(0, 2**16), who=WHO, seed=SEEDS)
    def step(self, what: int, who: int, seed: int) -> None:
        """A lawyer does something that may leave a trace; then the patrol goes on."""
        # The position too, since hypothesis likes small numbers and to repeat them.
        here = self.stage.position + what
        chance = random.Random(f"{self.stage.seed} {here} {seed}")
        self._run(self._step(here, who, chance))

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work, until something is found: hypothesis would try to find it again, in a world that has changed."""
        if self.stage.found:
            work.close()
            return
        try:
            self.stage.run(work)
        except Exception as error:
            self.stage.found = error

    async def _step(self, what: int, who: int, chance: random.Random) -> None:
        journeys = self._journeys(self._lawyer(who), chance)
        number = what % (len(journeys) + len(self.writing))
        if number < len(journeys):
            with suppress(NotNow):
                await journeys[number]()
        else:
            await self._beat(Beat(self.writing[number - len(journeys)], foreign=False), chance)
        await self.world.look_again()
        for _ in range(PATROL):
            await self._beat(self.patrols[self.stage.position % len(self.patrols)], chance)
            self.stage.position += 1
        await self.world.look_again()

    def _journeys(self, lawyer: Lawyer, chance: random.Random) -> list[Callable[[], Awaitable[None]]]:
        """What is not one call: connecting things, and what the worker does."""
        way = self.journeys
        return [
            lambda: self._join(lawyer),
            lambda: way.log_in(lawyer),
            lambda: way.start_session(lawyer),
            lambda: way.connect_a_program(lawyer),
            lambda: way.connect_netdocuments(lawyer, chance.choice(self.world.lawyers)),
            lambda: way.mine(lawyer),
            lambda: way.sweep(lawyer.firm),
            *[way.work] * 4,
        ]

    async def _join(self, colleague: Lawyer) -> None:
        """A firm gets another lawyer, or there is another firm."""
        firm = colleague.firm
        if len(firm.lawyers) >= LAWYERS[1]:
            if len(self.world.firms) >= FIRMS[1]:
                return
            firm = await self.journeys.open_firm()
        await self.journeys.join(firm)

    async def _beat(self, beat: Beat, chance: random.Random) -> None:
        """Make the call of one stop, on one of the newest things there are, by a lawyer to whom it fits."""
        call, seed, lawyers = beat.call, chance.getrandbits(32), self.world.lawyers
        if call.names is None:
            await self.driver.use(call, chance.choice(lawyers), None, seed)
            return
        acting = {str(lawyer.token_id) for lawyer in lawyers}  # a token that is deleted acts no more
        things = [thing for thing in self.world.things[call.names][-24:] if thing.name not in acting]
        chance.shuffle(things)
        for thing in things:
            fitting = [lawyer for lawyer in lawyers if thing.visible_to(lawyer) is not beat.foreign]
            if fitting:
                doing = self.driver.probe if beat.foreign else self.driver.use
                await doing(call, chance.choice(fitting), thing, seed)
                return

    def _lawyer(self, number: int) -> Lawyer:
        return self.world.lawyers[number % len(self.world.lawyers)]

    def teardown(self) -> None:
        self.stage.run(self.driver.aclose())


def _call(route: str) -> Call:
    return next(call for call in EVERY_CALL if call.route == route)


def machine_on(stage: Stage) -> type[Isolation]:
    """The machine on this stage, as hypothesis wants it: a class."""
    calls = calls_of(stage)
    writing = tuple(call for call in calls if call.writes and call.door is not Door.ANYBODY)
    on_stage = {"stage": stage, "calls": calls, "writing": writing, "patrols": beats(calls, stage.seed)}
    return type("IsolationOnStage", (Isolation,), on_stage)
