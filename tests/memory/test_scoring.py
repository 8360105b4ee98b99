"""A bucket of thousands is ranked in two steps, partly in this process: as the one statement ranks it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from north.connectors.embeddings import Vector
from north.db.connect import Row
from north.memory import scoring
from north.memory.backend import Backend
from north.memory.buckets import Question, ask, own_bucket
from north.memory.ranking import Weights
from north.memory.save import save
from north.memory.sizes import LARGE, SMALL, Sizes
from north.model import Saved
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.remembering import personal

WORDS = ("appeal", "bond", "claim", "deed")
TEXTS = [" ".join(words) for length in (1, 2, 3) for words in itertools.permutations(WORDS, length)]
MODEL = "model-of-the-question"
WIDE = 1100


few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one memory, besides its words; its vector consists of two numbers over and over."""

    source: str
    model: str | None
    numbers: tuple[int, int]


def vector_of(numbers: tuple[int, int], length: int) -> Vector:
    return np.resize(np.array(numbers, np.float32), length)


numbers = st.tuples(st.integers(-2, 2), st.integers(1, 2))
known = st.builds(Known, st.sampled_from("abc"), st.sampled_from([MODEL, MODEL, MODEL, "other", None]), numbers)
questions = st.builds(
    Question,
    st.lists(st.sampled_from([*WORDS, "nowhere"]), min_size=1, unique=True),
    st.none() | st.builds(vector_of, numbers, st.sampled_from([4, WIDE])),
    st.just(MODEL),
    st.builds(Weights, *[st.sampled_from([0.0, 0.3, 0.5])] * 3),
    st.sampled_from([1, 3, 12, 200]),
)


def bucket_of(size: int) -> st.SearchStrategy[list[Known]]:
    return st.lists(known, min_size=size, max_size=size)


def learn(database: TestDatabase, ids: Sequence[UUID], memories: Sequence[Known], question: Question) -> None:
    """Give memories other sources and vectors; those of the question's model are as long as the question's."""
    length = 4 if question.vector is None else len(question.vector)
    rows = [
        (
            each.source,
            vector_of(each.numbers, length if each.model == MODEL else 5) if each.model else None,
            each.model,
            own,
        )
        for own, each in zip(ids, memories, strict=True)
    ]
    change = b"update agent_memory_candidate set source_label = %s, embedding = %s, embedding_model = %s where id = %s"
    with psycopg.connect(database.superuser_url) as connection, connection.cursor() as cursor:
        cursor.executemany(change, rows)


@pytest.fixture
async def ids(backend: Backend, firm: FirmOfTest) -> list[UUID]:
    """The memories of a lawyer who has forty."""
    outcomes = await save(backend, firm.a, [personal(text) for text in TEXTS])
    await backend.backlog.settled(firm.a.organization_id, seconds=60)
    return [outcome.memory.id for outcome in outcomes if isinstance(outcome, Saved)]


async def answered(backend: Backend, firm: FirmOfTest, question: Question, documents: int) -> list[Row]:
    """What the lawyer's bucket answers while it is held to be so large."""
    bucket, held = own_bucket(firm.a), Sizes()
    held.note(bucket, documents)
    async with backend.database.tenant(firm.a) as transaction:
        (answer,) = await ask(transaction, held, [bucket], question)
    return await answer.rows(held)


@pytest.fixture(autouse=True)
def _ids_compete_for_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "TABLE_MASK", 7)


@few
@given(data=st.data())
async def test_two_steps_rank_as_one_does(
    backend: Backend, firm: FirmOfTest, database: TestDatabase, ids: list[UUID], data: st.DataObject
) -> None:
    question = data.draw(questions)
    learn(database, ids, data.draw(bucket_of(len(ids))), question)
    one, two = [await answered(backend, firm, question, documents) for documents in (SMALL, SMALL + 1)]
    assert len(one) == min(question.limit, len(ids))
    assert [row["score"] for row in two] == pytest.approx([row["score"] for row in one], abs=1e-9)
    expected = {row["id"]: row for row in one}
    for row in two:
        same = expected.get(row["id"])
        # Of equals any may be the last.
        assert same is not None or row["score"] == pytest.approx(one[-1]["score"], abs=1e-9)
        if same is not None:
            assert row["score"] == pytest.approx(same["score"], abs=1e-9)
            assert row["cosine"] == same["cosine"]
            assert row["content"] == same["content"]


@few
@given(data=st.data())
async def test_a_first_pass_invents_nothing(
    backend: Backend, firm: FirmOfTest, database: TestDatabase, ids: list[UUID], data: st.DataObject
) -> None:
    question = data.draw(questions)
    learn(database, ids, data.draw(bucket_of(len(ids))), question)
    whole = {row["id"]: row for row in await answered(backend, firm, replace(question, limit=200), SMALL)}
    found = await answered(backend, firm, question, LARGE + 1)
    assert len({row["id"] for row in found}) == len(found) <= question.limit
    assert [row["score"] for row in found] == sorted((row["score"] for row in found), reverse=True)
    for row in found:
        assert row["cosine"] == whole[row["id"]]["cosine"]
        assert row["content"] == whole[row["id"]]["content"]
