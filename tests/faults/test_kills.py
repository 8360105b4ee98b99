"""Whatever is killed in whatever moment: what was acknowledged is there, once, and North is soon at work again.

A few kills; `make prove-faults` does a hundred.
"""

from __future__ import annotations

import random
from pathlib import Path

from tests.faults.harness import postgres_in
from tests.faults.imports import kill_in_mid_import
from tests.faults.kills import VICTIMS, kill_again_and_again

RECOVERY_SECONDS = 30.0
"""Ten, where nothing else keeps the machine busy, as `make prove-faults` wants it."""


async def test_nothing_is_lost_and_nothing_doubled_by_kills_under_load(tmp_path: Path) -> None:
    with postgres_in(tmp_path / "data") as postgres:
        found = await kill_again_and_again(
            postgres, tmp_path, list(VICTIMS), clients=3, pause=0.1, chance=random.Random()
        )
    assert found.wrong == []
    assert found.saves > 20 and found.threads > 0
    assert max(max(seconds) for seconds in found.seconds.values()) < RECOVERY_SECONDS


async def test_an_import_whose_worker_is_killed_goes_on_and_imports_everything_once(tmp_path: Path) -> None:
    with postgres_in(tmp_path / "data") as postgres:
        assert await kill_in_mid_import(postgres, tmp_path, statements=400, kills=1) == []
