"""Transactions that came second, and trying them again."""

from __future__ import annotations

import asyncio
import functools
import random
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from north.errors import DatabaseBusy

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

ATTEMPTS = 8
LONGEST_PAUSE_SECONDS = 0.2


class LostRace(Exception):
    """Another transaction wrote first: a unique index, a serialization failure or a deadlock says so.

    Nothing of this transaction was written; looked at again, the world may give another answer. `constraint` names the
    unique index, and is None for the other two.
    """

    def __init__(self, constraint: str | None) -> None:
        self.constraint = constraint
        super().__init__(constraint)


def retried(
    once: Callable[Parameters, Coroutine[Any, Any, Result]],
) -> Callable[Parameters, Coroutine[Any, Any, Result]]:
    """A use case of one transaction, which is run again as long as it loses its race: at most eight times, in a second.

    What loses has written nothing, so that running it again is as good as having come later. Whatever it does besides
    its transaction it does again.

    Raises:
        DatabaseBusy: it has lost every time.
    """

    @functools.wraps(once)
    async def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        for attempt in range(ATTEMPTS):
            try:
                return await once(*args, **kwargs)
            except LostRace:
                # Longer each time, and never two for the same time, so that those who met do not meet again.
                await asyncio.sleep(random.uniform(0, min(0.002 * 4**attempt, LONGEST_PAUSE_SECONDS)))  # noqa: S311
        raise DatabaseBusy

    return run
