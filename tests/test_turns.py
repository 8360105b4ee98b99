"""How many requests of one firm are worked on at once, and what becomes of the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from north import turns as limits
from north.errors import TooManyRequests
from north.model import new_id
from north.turns import Turns, bearer, in_turn


@pytest.fixture(autouse=True)
def _refusals_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REFUSED_AFTER_SECONDS", 0)


@pytest.fixture
def firm() -> UUID:
    return new_id()


@pytest.fixture
async def turns(firm: UUID) -> AsyncIterator[Turns]:
    """One request at once, one that waits; two tokens of one firm, and one of another."""
    turns = Turns(at_once=1, most_waiting=1)
    turns.remember("token", firm)
    turns.remember("colleague's token", firm)
    turns.remember("neighbour's token", new_id())
    yield turns
    assert not turns._lines, "a line is left behind"


async def waiting(turns: Turns, credential: str) -> asyncio.Task[None]:
    """A request that has come to the end of the line."""

    async def request() -> None:
        (await turns.take(credential))()

    task = asyncio.create_task(request())
    await asyncio.sleep(0)
    return task


async def test_a_firm_that_asks_too_much_is_refused_and_told_when_to_come_back(turns: Turns) -> None:
    give_back = await turns.take("token")
    second = await waiting(turns, "colleague's token")
    with pytest.raises(TooManyRequests, match="wait 1 seconds"):
        await turns.take("token")
    give_back()
    await second


async def test_another_firm_has_turns_of_its_own(turns: Turns) -> None:
    give_back = await turns.take("token")
    second = await waiting(turns, "token")
    (await turns.take("neighbour's token"))()
    assert not second.done()
    give_back()
    await second


async def test_a_firm_alone_has_more_turns_than_one_beside_others(firm: UUID) -> None:
    turns = Turns(at_once=2, most_waiting=1)
    turns.remember("token", firm)
    turns.remember("neighbour's token", new_id())
    held = [await turns.take("token"), await turns.take("token")]
    (await turns.take("neighbour's token"))()
    third = await waiting(turns, "token")
    held[0]()
    await asyncio.sleep(0)
    assert not third.done(), "one of its two turns is left, which is all that it has beside another firm"
    held[1]()
    await third


async def test_a_firm_that_asks_no_more_leaves_its_turns_to_the_others(firm: UUID) -> None:
    turns = Turns(at_once=2, most_waiting=1)
    neighbour = new_id()
    turns.remember("token", firm)
    turns.remember("neighbour's token", neighbour)
    (await turns.take("neighbour's token"))()
    turns._asking[neighbour] -= limits.ASKING_SECONDS + 1
    for give_back in [await turns.take("token"), await turns.take("token")]:
        give_back()


async def test_a_credential_that_was_never_accepted_uses_up_nobodys_turn(turns: Turns) -> None:
    give_back = await turns.take("guessed")
    second = await waiting(turns, "guessed")
    with pytest.raises(TooManyRequests):
        await turns.take("guessed")
    (await turns.take("token"))()
    (await turns.take("guessed differently"))()
    give_back()
    await second


async def test_a_turn_that_is_given_back_twice_counts_once(turns: Turns) -> None:
    give_back = await turns.take("token")
    give_back()
    give_back()
    give_back = await turns.take("token")
    second = await waiting(turns, "token")
    assert not second.done()
    give_back()
    await second


async def test_who_stops_waiting_lets_the_next_go_first(turns: Turns) -> None:
    give_back = await turns.take("token")
    gone = await waiting(turns, "token")
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    give_back()
    (await turns.take("token"))()


async def test_a_turn_that_comes_as_its_request_is_cancelled_is_passed_on(turns: Turns) -> None:
    give_back = await turns.take("token")
    gone = await waiting(turns, "token")
    give_back()
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    (await turns.take("token"))()


class TestServing:
    """A request through the middleware."""

    async def test_a_stream_gives_its_turn_back_as_it_begins(self, turns: Turns) -> None:
        went_on = asyncio.Event()
        begun = asyncio.Event()

        async def stream(scope: limits.Message, receive: limits.Receive, send: limits.Send) -> None:
            kind = (b"content-type", b"text/event-stream; charset=utf-8")
            await send({"type": "http.response.start", "headers": [kind]})
            begun.set()
            await went_on.wait()

        async def nothing(*_: object) -> limits.Message:
            return {}

        streaming = asyncio.create_task(in_turn(turns, "token", stream, {}, nothing, _swallow))
        await begun.wait()
        (await turns.take("token"))()
        went_on.set()
        await streaming

    async def test_another_reply_keeps_its_turn_until_what_follows_it_is_done(self, turns: Turns) -> None:
        noted, begun = asyncio.Event(), asyncio.Event()

        async def recall(scope: limits.Message, receive: limits.Receive, send: limits.Send) -> None:
            await send({"type": "http.response.start", "headers": [(b"content-type", b"application/json")]})
            begun.set()
            await noted.wait()

        async def nothing(*_: object) -> limits.Message:
            return {}

        recalling = asyncio.create_task(in_turn(turns, "token", recall, {}, nothing, _swallow))
        await begun.wait()
        second = await waiting(turns, "token")
        assert not second.done()
        noted.set()
        await recalling
        await second

    async def test_what_takes_long_holds_nobody_up(self, turns: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "COUNTED_SECONDS", 0)
        answered = asyncio.Event()

        async def model(scope: limits.Message, receive: limits.Receive, send: limits.Send) -> None:
            await answered.wait()

        async def nothing(*_: object) -> limits.Message:
            return {}

        asking = asyncio.create_task(in_turn(turns, "token", model, {}, nothing, _swallow))
        await asyncio.sleep(0)
        (await turns.take("token"))()
        answered.set()
        await asking

    async def test_a_fault_gives_the_turn_back(self, turns: Turns) -> None:
        async def broken(scope: limits.Message, receive: limits.Receive, send: limits.Send) -> None:
            raise ZeroDivisionError

        async def nothing(*_: object) -> limits.Message:
            return {}

        with pytest.raises(ZeroDivisionError):
            await in_turn(turns, "token", broken, {}, nothing, _swallow)
        (await turns.take("token"))()


async def _swallow(message: limits.Message) -> None:
    """A client that takes whatever it is sent."""


@pytest.mark.parametrize(
    ("header", "token"),
    [("Bearer abc", "abc"), ("bearer  abc ", "abc"), ("Basic abc", None), ("Bearer", None), ("", None)],
    ids=["bearer", "small", "basic", "empty", "none"],
)
def test_the_token_of_a_request_is_read_in_any_case(header: str, token: str | None) -> None:
    assert bearer({"authorization": header}) == token
