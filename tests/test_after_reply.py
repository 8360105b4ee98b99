"""Work that follows a reply is done after it, wherever it was put off; and at once where no reply is being made."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from north.after_reply import Work, after_reply, replying


@pytest.fixture
def done() -> list[str]:
    return []


@pytest.fixture
def work(done: list[str]) -> Callable[[str], Work]:
    def named(name: str) -> Work:
        async def work() -> None:
            done.append(name)

        return work

    return named


async def test_is_done_in_its_order_once_the_reply_is_sent(done: list[str], work: Callable[[str], Work]) -> None:
    async with replying():
        await after_reply(work("first"))
        await asyncio.create_task(after_reply(work("second")))
        done.append("sent")
    assert done == ["sent", "first", "second"]


async def test_is_done_at_once_outside_a_reply(done: list[str], work: Callable[[str], Work]) -> None:
    await after_reply(work("now"))
    assert done == ["now"]


async def test_is_done_at_once_by_a_task_that_outlives_the_reply(done: list[str], work: Callable[[str], Work]) -> None:
    sent = asyncio.Event()

    async def outlive() -> None:
        await sent.wait()
        await after_reply(work("late"))

    async with replying():
        task = asyncio.create_task(outlive())
    sent.set()
    await task
    assert done == ["late"]


async def test_is_left_undone_when_there_was_no_reply(done: list[str], work: Callable[[str], Work]) -> None:
    with pytest.raises(ValueError, match="nothing was sent"):
        async with replying():
            await after_reply(work("of no use"))
            raise ValueError("nothing was sent")
    assert done == []
