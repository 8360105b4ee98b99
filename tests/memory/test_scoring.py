"""A bucket is ranked as the score is defined, in whichever way its memories are compared with the question."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from north.connectors.embeddings import Vector
from north.db.connect import Row
from north.memory import comparing, scoring
from north.memory.at_hand import AtHand
from north.memory.backend import Backend
from north.memory.buckets import Question, own_bucket
from north.memory.comparing import (
    ByKeptVectors,
    ByPostgres,
    BySigns,
    ask,
    best_at_hand,
    keep_vectors,
    way_to_compare,
)
from north.memory.looking import Seen, look, weighed
from north.memory.ranking import Weights
from north.memory.save import save
from north.memory.sizes import Sizes
from north.memory.terms import terms
from north.memory.vector_cache import VectorCache
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
    months: int
    """How many months ago it was captured, each of thirty days."""


NOW = datetime.now(UTC)
MONTH = timedelta(days=30)


def times(months: set[int]) -> str:
    """These months, as Postgres reads them."""
    return f"{{{','.join(f'[{NOW - MONTH * ago - MONTH / 2},{NOW - MONTH * ago + MONTH / 2})' for ago in months)}}}"


def vector_of(numbers: tuple[int, int], length: int) -> Vector:
    return np.resize(np.array(numbers, np.float32), length)


numbers = st.tuples(st.integers(-2, 2), st.integers(1, 2))
months = st.integers(0, 3)
known = st.builds(Known, st.sampled_from("abc"), st.sampled_from([MODEL, MODEL, MODEL, "other", None]), numbers, months)
questions = st.builds(
    Question,
    terms=st.lists(st.sampled_from([*WORDS, "nowhere"]), min_size=1, unique=True),
    vector=st.none() | st.builds(vector_of, numbers, st.sampled_from([4, WIDE])),
    model=st.just(MODEL),
    weights=st.builds(Weights, *[st.sampled_from([0.0, 0.3, 0.5])] * 3),
    limit=st.sampled_from([1, 3, 12, 200]),
    dates=st.dictionaries(st.sampled_from([*WORDS, "then"]), st.sets(months, min_size=1).map(times), max_size=2),
)


def bucket_of(size: int) -> st.SearchStrategy[list[Known]]:
    return st.lists(known, min_size=size, max_size=size)


def length_of(question: Question) -> int:
    """Of the vectors of the question's model."""
    return 4 if question.vector is None else len(question.vector)


def learn(database: TestDatabase, ids: Sequence[UUID], memories: Sequence[Known], question: Question) -> None:
    """Give memories other sources and vectors; those of the question's model are as long as the question's."""
    rows = [
        (
            each.source,
            vector_of(each.numbers, length_of(question) if each.model == MODEL else 5) if each.model else None,
            each.model,
            NOW - MONTH * each.months,
            own,
        )
        for own, each in zip(ids, memories, strict=True)
    ]
    change = b"""update agent_memory_candidate
                set source_label = %s, embedding = %s, embedding_model = %s, created_at = %s where id = %s"""
    with psycopg.connect(database.superuser_url) as connection, connection.cursor() as cursor:
        cursor.executemany(change, rows)


def cosine_of(memory: Known, question: Question) -> float | None:
    if question.vector is None or memory.model != MODEL:
        return None
    return float(np.dot(vector_of(memory.numbers, len(question.vector)), question.vector))


def by_definition(memories: Mapping[UUID, Known], question: Question) -> dict[UUID, float]:
    """Each memory's score, as `north.memory.ranking` says it, one memory after the other."""
    held = dict(zip(memories, map(terms, TEXTS), strict=True))
    mean = sum(map(len, held.values())) / len(held)

    def count(term: str, key: UUID) -> int:
        captured_then = times({memories[key].months})[1:-1] in question.dates.get(term, "")
        return (held[key].count(term) if term in question.terms else 0) or int(captured_then)

    def part(term: str, key: UUID) -> float:
        df = sum(count(term, other) > 0 for other in held)
        idf = math.log(1 + (len(held) - df + 0.5) / (df + 0.5))
        tf = count(term, key)
        return idf * tf * 1.9 / (tf + 0.9 * (0.6 + 0.4 * len(held[key]) / mean))

    asked = sorted({*question.terms, *question.dates})
    said = {key: [part(term, key) for term in asked] for key in held}
    most = max(map(sum, said.values())) or 1.0
    cosines = {key: cosine_of(memory, question) for key, memory in memories.items()}
    seen = [cosine for cosine in cosines.values() if cosine is not None]
    low, width = (min(seen), max(seen) - min(seen)) if seen else (0.0, 0.0)

    def meaning(cosine: float | None) -> float:
        return 0.5 if cosine is None or not width else (cosine - low) / width

    weights = question.weights
    near = {key: meaning(cosines[key]) for key in memories}
    scores = {}
    for key, memory in memories.items():
        together = sorted(other for other in memories if memories[other].source == memory.source)
        at = together.index(key)
        beside = [*together[max(0, at - 2) : at], *together[at + 1 : at + 3]]
        gains = [
            weights.words
            / most
            * sum(
                max(0.0, weights.neighbours * theirs - own) for own, theirs in zip(said[key], said[other], strict=True)
            )
            + weights.meaning * weights.neighbours * max(0.0, near[other] - 0.5)
            for other in beside
        ]
        fit = weights.words * sum(said[key]) / most + weights.meaning * near[key]
        recency = weights.recency * 0.5 ** (memory.months * 30 / 90)
        scores[key] = fit + max(gains, default=0.0) + recency
    return scores


@pytest.fixture
async def ids(backend: Backend, firm: FirmOfTest) -> list[UUID]:
    """The memories of a lawyer who has forty."""
    outcomes = await save(backend, firm.a, [personal(text) for text in TEXTS])
    await backend.backlog.settled(firm.a.organization_id, seconds=60)
    return [outcome.memory.id for outcome in outcomes if isinstance(outcome, Saved)]


@dataclass(frozen=True, slots=True)
class Asking:
    """The lawyer's bucket, and what this process keeps of it."""

    backend: Backend
    firm: FirmOfTest
    cache: VectorCache
    sizes: Sizes

    async def seen(self, question: Question) -> Seen:
        async with self.backend.database.tenant(self.firm.a) as transaction:
            looking = await look(transaction, self.sizes, [own_bucket(self.firm.a)], question)
        (seen,) = await looking.seen(None, self.sizes)
        return weighed(seen, question, self.cache)

    async def keep(self, question: Question) -> None:
        seen = await self.seen(question)
        await keep_vectors(self.backend.database, self.firm.a, self.cache, seen, question)

    async def answer(self, question: Question) -> tuple[type, Sequence[Row]]:
        """In which way the question was compared, and the best memories."""
        way = way_to_compare(await self.seen(question), question, self.sizes, self.cache, settled=False)
        for rows in (await best_at_hand([way])).values():
            return AtHand, rows
        async with self.backend.database.tenant(self.firm.a) as transaction:
            (best,) = await ask(transaction, [way], question)
        return type(way), await best.fetchall()

    async def weighs_words_first(self, question: Question, times: int = 3) -> bool:
        """Whether a bucket's words are weighed before the question's vector is there, once the bucket is known.

        Postgres may list it in another order than a moment ago, and vacuum does that now and then.
        """
        for _ in range(times):
            await self.answer(question)
            if (await self.seen(question)).worded is not None:
                return True
        return False


@pytest.fixture(autouse=True)
def _ids_compete_for_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "TABLE_MASK", 7)


def check(rows: Sequence[Row], memories: Mapping[UUID, Known], question: Question) -> None:
    scores = by_definition(memories, question)
    assert len(rows) == min(question.limit, len(memories))
    assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)
    best = sorted(scores.values(), reverse=True)
    for row, expected in zip(rows, best, strict=False):
        assert row["score"] == pytest.approx(expected, abs=1e-5), "none that is better is left out"
        assert row["score"] == pytest.approx(scores[row["id"]], abs=1e-5)
        cosine = cosine_of(memories[row["id"]], question)
        assert row["cosine"] == (cosine if cosine is None else pytest.approx(cosine, abs=1e-4))
        assert row["content"] == dict(zip(memories, TEXTS, strict=True))[row["id"]]


@few
@given(data=st.data())
async def test_ranks_as_the_score_is_defined_whoever_compares(
    backend: Backend, firm: FirmOfTest, database: TestDatabase, ids: list[UUID], data: st.DataObject
) -> None:
    question, memories = data.draw(questions), data.draw(bucket_of(len(ids)))
    learn(database, ids, memories, question)
    asking = Asking(backend, firm, VectorCache(1), Sizes(small=0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparing, "FEW", 0)
        way, rows = await asking.answer(question)
    assert way is ByPostgres
    check(rows, dict(zip(ids, memories, strict=True)), question)
    few_are_missing = data.draw(st.booleans())
    if not few_are_missing:
        await asking.keep(question)
    for again in (asking, asking, replace(asking, sizes=Sizes(small=len(ids)))):
        way, rows = await again.answer(question)
        assert way is ByKeptVectors
        check(rows, dict(zip(ids, memories, strict=True)), question)
    way, rows = await again.answer(question)
    assert await again.weighs_words_first(question) == (question.vector is not None)
    of_another_model = question.vector is not None and any(each.model == "other" for each in memories)
    assert way is (ByKeptVectors if of_another_model else AtHand), "vectors of the question's model are looked for"
    check(rows, dict(zip(ids, memories, strict=True)), question)


@few
@given(data=st.data())
async def test_a_first_pass_invents_nothing(
    backend: Backend, firm: FirmOfTest, database: TestDatabase, ids: list[UUID], data: st.DataObject
) -> None:
    question = data.draw(questions)
    learn(database, ids, data.draw(bucket_of(len(ids))), question)
    _, everyone = await Asking(backend, firm, VectorCache(1), Sizes()).answer(replace(question, limit=200))
    whole = {row["id"]: row for row in everyone}
    way, found = await Asking(backend, firm, VectorCache(1), Sizes(large=0)).answer(question)
    assert way is BySigns
    assert len({row["id"] for row in found}) == len(found) <= question.limit
    assert [row["score"] for row in found] == sorted((row["score"] for row in found), reverse=True)
    for row in found:
        cosine = whole[row["id"]]["cosine"]
        assert row["cosine"] == (cosine if cosine is None else pytest.approx(cosine, abs=1e-4))
        assert row["content"] == whole[row["id"]]["content"]
