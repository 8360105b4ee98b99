"""Arrays as parameters: the server has the numbers that were sent, to eleven bits, however it was asked."""

from __future__ import annotations

import numpy as np
import psycopg
import pytest

from tests.conftest import TestDatabase

READ = "select cast(cast(%s as halfvec) as text)"


def as_read(database: TestDatabase, array: np.ndarray[tuple[int], np.dtype[np.float32]], prepare: bool) -> list[float]:
    with psycopg.connect(database.application_url) as connection:
        row = connection.execute(READ, (array,), prepare=prepare).fetchone()
    assert row is not None
    return [float(number) for number in row[0].strip("[]").split(",")]


@pytest.mark.parametrize("prepare", [False, True])
@pytest.mark.parametrize("length", [1, 5, 384, 4_000])
def test_the_server_has_the_numbers_that_were_sent(database: TestDatabase, length: int, prepare: bool) -> None:
    sent = np.random.default_rng(length).normal(size=length).astype(np.float32)
    assert as_read(database, sent, prepare) == pytest.approx(sent.astype(np.float16).tolist(), rel=1e-5)


def test_an_array_of_other_numbers_and_one_that_is_part_of_another_are_sent_as_well(database: TestDatabase) -> None:
    assert as_read(database, np.array([1, -2, 0]), prepare=False) == [1, -2, 0]
    assert as_read(database, np.arange(8, dtype=np.float32)[::-2], prepare=False) == [7, 5, 3, 1]
