"""Hints: the live memories of a draft's bucket with at least half of its words, whatever else the bucket holds."""

from __future__ import annotations

import asyncio
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from structlog.testing import capture_logs

from north.db.connect import Transaction
from north.db.statements import statement
from north.errors import DatabaseUnavailable
from north.memory import similar
from north.memory.backend import Backend
from north.memory.save import save
from north.memory.terms import query_terms, terms
from north.model import AlreadyKnown, Caller, Draft, Memory, Origin, Outcome, Saved, new_id
from tests.conftest import FirmOfTest, TestDatabase, open_pool
from tests.memory.remembering import of_firm, on_matter, personal, remember

WORDS = ["alder", "birch", "cedar", "dogwood", "elm", "fir", "gorse", "hazel", "ivy", "juniper", "larch", "maple"]
PLACES: dict[str, Callable[[str], Draft]] = {"personal": personal, "matter": on_matter, "firm": of_firm}


def texts(seed: int, everywhere: Sequence[str]) -> Iterator[str]:
    """Texts without end, of few different words: the first in all of them, and more of the others than of those."""
    draw = random.Random(seed)
    while True:
        others = draw.sample(WORDS[len(everywhere) :], k=draw.randint(len(everywhere) + 1, 6))
        yield " ".join([*everywhere, *others])


async def fill(backend: Backend, caller: Caller, drafts: Sequence[Draft]) -> dict[UUID, str]:
    """Save what is new; the texts by their ids."""
    saved: dict[UUID, str] = {}
    for outcome in await save(backend, caller, drafts):
        if isinstance(outcome, Saved):
            saved[outcome.memory.id] = outcome.memory.content
    return saved


def defined(draft: str, live: Mapping[UUID, str], most: int) -> dict[UUID, float]:
    """The plain definition: the weight of every memory that shares at least half of the draft's words.

    A word in more than `most` memories weighs as one in so many.
    """
    words = set(query_terms(draft))
    having = {memory_id: words & set(terms(content)) for memory_id, content in live.items()}
    df = Counter(word for shared in having.values() for word in shared)
    return {
        memory_id: sum(1 / math.log(1 + min(df[word], most)) for word in shared)
        for memory_id, shared in having.items()
        if len(shared) >= max(2, math.ceil(len(words) * similar.LEAST_SHARE))
    }


def hinted(outcome: Outcome) -> list[UUID]:
    assert isinstance(outcome, Saved | AlreadyKnown)
    return [memory.id for memory in outcome.similar]


@pytest.mark.parametrize("common", [0, 3])
@pytest.mark.parametrize("place", PLACES)
async def test_are_the_three_of_most_weight_by_the_plain_definition(
    backend: Backend, firm: FirmOfTest, place: str, common: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similar, "POSTINGS", 0)
    monkeypatch.setattr(similar, "LEAST_POSTINGS", 120)
    monkeypatch.setattr(similar, "CHECKED", 1_000)
    drafted = texts(seed=common, everywhere=WORDS[:common])
    live = await fill(backend, firm.a, [PLACES[place](text) for text in islice(drafted, 140)])
    await fill(backend, firm.a, [on_matter(text, "HV-1002") for text in islice(drafted, 30)])
    await fill(backend, firm.b, [personal(text) for text in islice(drafted, 30)])
    for text in islice(drafted, 40):
        (outcome,) = await save(backend, firm.a, [PLACES[place](text)])
        weights = defined(text, live, most=120)
        if isinstance(outcome, Saved):
            live[outcome.memory.id] = text
        elif isinstance(outcome, AlreadyKnown):
            weights.pop(outcome.memory.id, None)
        best = sorted(weights.values(), reverse=True)
        given = [weights[memory_id] for memory_id in hinted(outcome)]
        assert given == pytest.approx(best[: len(given)])
        assert len(given) == min(len(best), 3)


class TestCommonWords:
    """Of each word, only so many postings are read."""

    @pytest.fixture(autouse=True)
    def _common_from_ten_memories_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(similar, "POSTINGS", 0)
        # A fifth of them call their memories: two, since the draft itself is the newest once its save is the faster.
        monkeypatch.setattr(similar, "LEAST_POSTINGS", 10)
        monkeypatch.setattr(similar, "CHECKED", 6)

    async def test_hide_no_memory_that_has_one_of_the_others_too(self, backend: Backend, firm: FirmOfTest) -> None:
        old = await remember(backend, firm.a, "The hearing on the motion is before Judge Okonkwo.")
        others = [personal(f"The hearing on the motion {n} is before Judge X{n}.") for n in range(40)]
        await fill(backend, firm.a, others)
        (outcome,) = await save(backend, firm.a, [personal("The hearing of the motion was before Judge Okonkwo.")])
        assert hinted(outcome)[0] == old.id

    async def test_find_the_newest_with_them_where_there_are_no_others(
        self, backend: Backend, firm: FirmOfTest
    ) -> None:
        await fill(backend, firm.a, [personal(f"The hearing on the motion {n} is adjourned.") for n in range(40)])
        last = await remember(backend, firm.a, "The hearing on that motion is adjourned.")
        (outcome,) = await save(backend, firm.a, [personal("Hearing on motion: adjourned.")])
        assert hinted(outcome)[0] == last.id

    async def test_do_not_stand_for_half_of_a_drafts_words(self, backend: Backend, firm: FirmOfTest) -> None:
        await fill(backend, firm.a, [personal(f"The hearing {n} is adjourned.") for n in range(40)])
        (outcome,) = await save(backend, firm.a, [personal("A hearing about zinc, quartz, feldspar and basalt.")])
        assert hinted(outcome) == []


class TestWithoutThem:
    """A save takes the time of its own transaction and needs its own connection alone."""

    async def test_a_save_goes_on(self, backend: Backend, firm: FirmOfTest, monkeypatch: pytest.MonkeyPatch) -> None:
        async def fail(*_: object) -> list[list[Memory]]:
            raise DatabaseUnavailable

        await remember(backend, firm.a, "The hearing is before Judge Okonkwo.")
        monkeypatch.setattr(similar, "_find", fail)
        with capture_logs() as logs:
            (outcome,) = await save(backend, firm.a, [personal("The hearing was before Judge Okonkwo.")], "a key")
        assert isinstance(outcome, Saved) and outcome.similar == ()
        assert [(line["event"], line["code"]) for line in logs] == [("no_hints", "database_unavailable")]
        assert "Okonkwo" not in str(logs)

    async def test_a_save_does_not_wait_for_them_for_long(
        self, backend: Backend, firm: FirmOfTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def hang(*_: object) -> list[list[Memory]]:
            await asyncio.Event().wait()
            raise AssertionError

        monkeypatch.setattr(similar, "_find", hang)
        monkeypatch.setattr(similar, "SECONDS", 0.01)
        with capture_logs() as logs:
            (outcome,) = await save(backend, firm.a, [personal("The hearing was before Judge Okonkwo.")])
        assert isinstance(outcome, Saved) and outcome.similar == ()
        assert [(line["event"], line["code"]) for line in logs] == [("no_hints", "too_slow")]

    async def test_several_saves_share_one_connection(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        await remember(backend, firm.a, "The hearing is before Judge Okonkwo.")
        async with open_pool(database.application_url) as one:
            narrow = replace(backend, database=one)
            texts = [f"The hearing number {number} is before Judge Okonkwo." for number in range(8)]
            keys = [None, "1", None, "2", None, "3", None, "4"]
            saves = (save(narrow, firm.a, [personal(text)], key) for text, key in zip(texts, keys, strict=True))
            for (outcome,) in await asyncio.gather(*saves):
                assert isinstance(outcome, Saved) and outcome.similar


FILL = """
    insert into memory_term (organization_id, bucket, term, memory_id, tf, length, scope, target_user_id)
    select %(firm)s, %(lawyer)s, 'word' || word, md5('memory' || memory)::uuid, 1, 12, 'user_private', %(lawyer)s
    from generate_series(1, %(memories)s) as memory, generate_series(1, 12) as word
    where memory %% word = 0
"""
"""Of twelve words, the first is in every memory, the second in every other, and so on."""


@pytest.mark.parametrize("analyzed", [False, True], ids=["without statistics", "with statistics"])
async def test_cost_the_same_in_a_bucket_of_any_size(
    fresh_database: TestDatabase, analyzed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similar, "POSTINGS", 600)
    caller = Caller(new_id(), new_id(), Origin.API)
    read = []
    for memories in (1_000, 9_000):
        with psycopg.connect(fresh_database.superuser_url, autocommit=True) as connection:
            connection.execute("alter table memory_term set (autovacuum_enabled = false)")
            connection.execute("truncate memory_term")
            of_lawyer = {"firm": caller.organization_id, "lawyer": caller.user_id, "memories": memories}
            connection.execute(FILL, of_lawyer)
            if analyzed:
                connection.execute("vacuum analyze memory_term")
        async with open_pool(fresh_database.application_url) as database, database.tenant(caller) as transaction:
            scans = await explained(transaction, caller, personal(" ".join(f"word{n}" for n in range(1, 13))))
        assert scans[0]["Index Name"] == "memory_term_pkey" and scans[0]["Node Type"] == "Index Only Scan"
        read.append(sum(rows_read(scan) for scan in scans))
    assert max(read) <= similar.POSTINGS + similar.CHECKED * 12


async def explained(transaction: Transaction, caller: Caller, draft: Draft) -> list[dict[str, Any]]:
    """The scans of the postings by which hints are found, as the server's kept plan makes them."""
    given = {**similar.parameters(caller, draft), "organization_id": caller.organization_id}
    names: list[str] = []

    def numbered(found: re.Match[str]) -> str:
        names.extend({found[1]}.difference(names))
        return f"${names.index(found[1]) + 1}"

    text = re.sub(r"%\((\w+)\)s", numbered, statement("memory.similar"))
    await transaction.connection.execute(b"set local plan_cache_mode = force_generic_plan")
    await transaction.connection.execute(f"prepare hints as {text}".encode())
    values = sql.SQL(", ").join(sql.Literal(given[name]) for name in names)
    explain = sql.SQL("explain (analyze, timing off, format json) execute hints ({})").format(values)
    row = await (await transaction.connection.execute(explain)).fetchone()
    assert row is not None

    return [node for node in below(row["QUERY PLAN"][0]["Plan"]) if node.get("Relation Name") == "memory_term"]


def below(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from below(child)


def rows_read(scan: Mapping[str, Any]) -> float:
    return float((scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0)) * scan["Actual Loops"])
