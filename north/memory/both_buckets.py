"""Both buckets, ranked: what stands behind a recall, a prompt's memory and a briefing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import structlog
from psycopg import AsyncCursor

from north.after_reply import after_reply
from north.connectors.embeddings import Vector
from north.db.connect import Row, Transaction
from north.db.races import retried
from north.errors import EmbedderUnavailable, MatterNotFound, NotSignedIn, Unavailable
from north.memory.backend import Backend
from north.memory.buckets import Bucket, Question, make_question, matter_bucket, own_bucket
from north.memory.comparing import (
    ByPostgres,
    ask,
    ask_for_newest,
    best_at_hand,
    keep_vectors,
    way_to_compare,
)
from north.memory.looking import Seen, look, weighed
from north.memory.matters import check_matter_reference, id_in
from north.memory.ranking import WEIGHTS, Weights
from north.memory.rows import to_memory
from north.model import Caller, Recall, Recalled, Status

log = structlog.get_logger(__name__)

STILL_LIVE = {"status": Status.ACTIVE} | dict.fromkeys(
    ("superseded_at", "archived_at", "archived_by_id", "archived_by_name")
)
"""What is known of a recalled memory without reading it."""
FRESH_VECTOR_SECONDS = 0.25
"""How long a recall waits for the vectors of what was saved a moment before."""


@retried
async def rank_buckets(
    backend: Backend, caller: Caller, query: str, matter: str | None, limit: int, weights: Weights = WEIGHTS
) -> Recall:
    """Both buckets, ranked; notes no use.

    What needs no vector is asked for while the query's is made. No connection is held meanwhile.
    """
    reference = check_matter_reference(matter) if matter else None
    buckets = [own_bucket(caller), *([matter_bucket(caller, reference)] if reference else [])]
    question = make_question(query, backend.embedder.name, weights, limit)
    if query.strip():
        place, (own, *shared) = await _closest(backend, caller, buckets, query, question)
    else:
        place, (own, *shared) = await _newest(backend, caller, buckets, question)
    return Recall(
        personal=tuple(_recalled(row, None, caller) for row in own),
        matter=tuple(_recalled(row, place, caller) for rows in shared for row in rows),
        matter_number=place["number"] if place else None,
    )


async def _newest(
    backend: Backend, caller: Caller, buckets: Sequence[Bucket], question: Question
) -> tuple[Row | None, Sequence[Sequence[Row]]]:
    """The matter, and the newest memories of each bucket, in one round trip."""
    async with _asking(backend, caller) as transaction:
        matter = await _find(transaction, buckets)
        answers = [await ask_for_newest(transaction, bucket, question) for bucket in buckets]
    return await _found(matter), [await answer.fetchall() for answer in answers]


async def _closest(
    backend: Backend, caller: Caller, buckets: Sequence[Bucket], query: str, question: Question
) -> tuple[Row | None, Sequence[Sequence[Row]]]:
    """The matter, and the memories of each bucket that are closest to a query."""
    unsettled = backend.backlog.holds(caller.organization_id)
    under_way = asyncio.Event()
    if not backend.sizes.slow(buckets):
        under_way.set()
    vector, (place, seen), _ = await asyncio.gather(
        _vector_once(under_way, backend, query),
        _look(backend, caller, buckets, question, under_way),
        backend.backlog.settled(caller.organization_id, FRESH_VECTOR_SECONDS),
    )
    question = replace(question, vector=vector)
    if question.blank:
        return await _newest(backend, caller, buckets, question)
    ways = [
        way_to_compare(each, question, backend.sizes, backend.vector_cache, settled=unsettled)
        for each in seen
        if not each.empty
    ]
    best = await best_at_hand(ways)
    if left := [way for way in ways if way.seen.id not in best]:
        async with _asking(backend, caller) as transaction:
            answers = await ask(transaction, left, question)
        best |= {way.seen.id: await answer.fetchall() for way, answer in zip(left, answers, strict=True)}
    for way in ways:
        if isinstance(way, ByPostgres):
            await _keep_vectors_after_reply(backend, caller, way.seen, question)
    return place, [best.get(each.id, []) for each in seen]


async def _look(
    backend: Backend, caller: Caller, buckets: Sequence[Bucket], question: Question, under_way: asyncio.Event
) -> tuple[Row | None, list[Seen]]:
    """The matter, and what is seen of the buckets; `under_way` is set when all has been asked."""
    try:
        async with _asking(backend, caller) as transaction:
            matter = await _find(transaction, buckets)
            looking = await look(transaction, backend.sizes, buckets, question)
            under_way.set()
    finally:
        under_way.set()  # also when it failed: somebody waits for it
    place = await _found(matter)
    seen = await looking.seen(place["id"] if place else None, backend.sizes)
    return place, [weighed(each, question, backend.vector_cache) for each in seen]


async def _vector_once(under_way: asyncio.Event, backend: Backend, query: str) -> Vector | None:
    """The query's vector, begun when a long look is under way: its thread keeps the event loop from the processor."""
    await under_way.wait()
    return await query_vector(backend, query)


def _asking(backend: Backend, caller: Caller) -> AbstractAsyncContextManager[Transaction]:
    return backend.database.tenant(caller, keep_plans=True, read_only=True)


async def _find(transaction: Transaction, buckets: Sequence[Bucket]) -> AsyncCursor[Row] | None:
    """Queue the question for the matter, if one of the buckets is a matter's."""
    for bucket in buckets:
        if bucket.matter is not None:
            return await transaction.send("matters.find", matter=bucket.matter, matter_id=id_in(bucket.matter))
    return None


async def _found(matter: AsyncCursor[Row] | None) -> Row | None:
    if matter is None:
        return None
    place = await matter.fetchone()
    if place is None:
        raise MatterNotFound
    return place


async def _keep_vectors_after_reply(backend: Backend, caller: Caller, seen: Seen, question: Question) -> None:
    """Keep a bucket's vectors for the next recall; whoever waits for this one does not wait for them."""

    async def keep() -> None:
        try:
            await keep_vectors(backend.database, caller, backend.vector_cache, seen, question)
        except (Unavailable, NotSignedIn) as error:
            log.warning("vectors_not_kept", code=error.code)

    await after_reply(keep)


async def query_vector(backend: Backend, query: str) -> Vector | None:
    """The vector of a query; None without an embedder, or while it is away."""
    if not backend.embedder.available or not query.strip():
        return None
    try:
        (vector,) = await backend.embedder.embed([query], query=True)
    except EmbedderUnavailable as error:
        log.warning("recall_by_words_alone", code=error.code)
        return None
    return vector


def _recalled(row: Row, place: Row | None, caller: Caller) -> Recalled:
    matter = {f"matter_{name}": place[name] if place else None for name in ("id", "number", "name")}
    return Recalled(to_memory({**row, **matter, **STILL_LIVE}, caller), row["score"], row["cosine"])
