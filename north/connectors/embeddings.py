"""Texts to vectors: by the local model, by a provider, or not at all.

An embedder adds to a memory and to a query; nothing waits for it to be well. Whoever calls one catches
`EmbedderUnavailable` and goes on without vectors.
"""

from __future__ import annotations

import asyncio
import hashlib
import heapq
import itertools
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt
import structlog
from cachetools import LRUCache

from north.connectors import minilm
from north.errors import EmbedderUnavailable, Misconfigured

Vector = npt.NDArray[np.float32]
"""One text's vector: one-dimensional, of length 1, read-only."""

LONGEST_TEXT = 4_000
"""Characters of a text that are looked at: no memory is longer, and a pasted document as a query may be."""

RUN_BYTES = 2_048
"""How much padded text, in UTF-8 bytes, the local model takes at once: about 512 tokens or 60 ms on two
cores, which is the longest that a query waits for the run before it. Larger runs are hardly faster per text.
"""

LONGEST_COST = 1_024
"""A text's greatest cost in `RUN_BYTES`: its end is cut off, so that a longer one takes no longer."""

CACHED_QUERIES = 1_024

THREADS = 4

log = structlog.get_logger(__name__)


class Embedder(Protocol):
    """Makes vectors whose scalar product is the texts' similarity."""

    @property
    def name(self) -> str:
        """Stored beside each vector: only vectors of one name can be compared."""

    @property
    def local(self) -> bool:
        """Whether vectors are made in this process."""

    @property
    def available(self) -> bool:
        """False when every call is known to fail, so that callers need not try."""

    async def warm(self) -> None:
        """Load what the first call would have to load.

        Raises:
            EmbedderUnavailable: it cannot be loaded.
        """

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        """One vector a text, in order. Only the first `LONGEST_TEXT` characters of a text count.

        `query` marks texts that are asked for, rather than kept: somebody waits for them.

        Raises:
            EmbedderUnavailable: there are no vectors to be had now; the reason holds no text and no secret.
        """

    async def aclose(self) -> None:
        """Let go of threads and connections; calls that are waiting fail."""


def make_embedder(name: str) -> Embedder:
    """The embedder that a setting names: `local`, `none`, or pydantic-ai's `provider:model`.

    Nothing is loaded and nobody is called yet.

    Raises:
        Misconfigured: the name is none of these, or the provider lacks its package or its key.
    """
    if name == "local":
        return LocalEmbedder()
    if name == "none":
        return NoEmbedder()
    if not all(name.partition(":")):
        raise Misconfigured(
            reason=f"NORTH_EMBEDDER is `{name}`. Write `local`, `none`, or a provider and its model, such as "
            "`openai:text-embedding-3-small`."
        )
    # Only here, because the providers' libraries take longer to import than all of North.
    from north.connectors.remote_embeddings import RemoteEmbedder

    return RemoteEmbedder(name)


def readable(text: str) -> str:
    """The part of a text that is looked at, with half surrogate pairs, which no tokenizer takes, replaced."""
    return text[:LONGEST_TEXT].encode("utf-8", "replace").decode()


class NoEmbedder:
    """No vectors at all: memories are found by their words."""

    name = "none"
    local = False
    available = False

    async def warm(self) -> None:
        """Nothing to load."""

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        """Always refuses."""
        raise EmbedderUnavailable(reason="no embedder is configured (NORTH_EMBEDDER is `none`).")

    async def aclose(self) -> None:
        """Nothing to let go of."""


@dataclass(order=True, slots=True)
class _Waiting:
    """A text in the queue: queries first, then in the order in which they came."""

    background: bool
    arrival: int
    text: str = field(compare=False)
    cost: int = field(compare=False)
    vector: Future[Vector] = field(compare=False, default_factory=Future)


class LocalEmbedder:
    """MiniLM in threads of its own, one a core and at most `THREADS`, so that the event loop never waits for it.

    Texts that queue up behind running inferences are embedded together, queries ahead of everything else; where there
    are two threads or more, one is always left to queries. It belongs to no event loop: any number of them may use one
    embedder.
    """

    name = minilm.NAME
    local = True

    def __init__(
        self, load: Callable[[], minilm.Encode] = minilm.load_minilm, threads: int = min(THREADS, os.cpu_count() or 1)
    ) -> None:
        self._load = load
        self._encode: minilm.Encode | None = None
        self._failure: str | None = None
        self._threads = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="north-embed")
        self._loading = threading.Lock()
        self._lock = threading.Lock()
        self._queue: list[_Waiting] = []
        self._background_most = max(1, threads - 1)
        self._background_runs = 0
        self._arrivals = itertools.count()
        self._queries: LRUCache[bytes, Vector] = LRUCache(CACHED_QUERIES)

    @property
    def available(self) -> bool:
        """False once the model could not be loaded, or after `aclose`."""
        return self._failure is None

    async def warm(self) -> None:
        """Load the model now rather than at the first call."""
        self._refuse_if_failed()
        await asyncio.wrap_future(self._threads.submit(self._model))

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        """One vector a text; a query that was asked before is answered from memory."""
        texts = [readable(text) for text in texts]
        if not query:
            return await self._made(texts, background=True)
        keys = [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts]
        with self._lock:
            known = {key: self._queries[key] for key in keys if key in self._queries}
        asked = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        known.update(zip(asked, await self._made(list(asked.values()), background=False), strict=True))
        with self._lock:
            self._queries.update(known)
        return [known[key] for key in keys]

    async def aclose(self) -> None:
        """End the threads after the runs that they are in."""
        with self._lock:
            self._failure = self._failure or "North is stopping."
            abandoned, self._queue = self._queue, []
        _fail([waiting for waiting in abandoned if waiting.vector.set_running_or_notify_cancel()], self._failure)
        await asyncio.to_thread(self._threads.shutdown)

    async def _made(self, texts: list[str], *, background: bool) -> list[Vector]:
        """Queue texts, those of one length together so that little is padded, and await their vectors."""
        costs = [min(len(text.encode()), LONGEST_COST) for text in texts]
        queued: dict[int, _Waiting] = {}
        with self._lock:
            self._refuse_if_failed()
            for at in sorted(range(len(texts)), key=costs.__getitem__):
                queued[at] = _Waiting(background, next(self._arrivals), texts[at], costs[at])
                heapq.heappush(self._queue, queued[at])
            if queued:
                self._threads.submit(self._drain)
        return await asyncio.gather(*(asyncio.wrap_future(queued[at].vector) for at in range(len(texts))))

    def _refuse_if_failed(self) -> None:
        if self._failure is not None:
            raise EmbedderUnavailable(reason=self._failure)

    # --- what follows runs in the embedder's threads --------------------------------------------------------

    def _model(self) -> minilm.Encode:
        """The model, loaded once. A failure is final: the files do not mend themselves while North runs."""
        with self._loading:
            self._refuse_if_failed()
            if self._encode is None:
                try:
                    self._encode = self._load()
                except Exception as error:
                    unknown = f"the local model cannot be loaded ({type(error).__name__})."
                    self._failure = error.detail["reason"] if isinstance(error, EmbedderUnavailable) else unknown
                    log.error("embedder_not_loaded", embedder=self.name, reason=self._failure)
                    raise EmbedderUnavailable(reason=self._failure) from error
            return self._encode

    def _drain(self) -> None:
        """Embed what is waiting until nothing is."""
        while run := self._next_run():
            try:
                rows = self._model()([waiting.text for waiting in run])
            except EmbedderUnavailable as error:
                _fail(run, error.detail["reason"])
            except Exception as error:  # the edge of a thread: somebody awaits an answer
                log.error("embedding_failed", embedder=self.name, error=type(error).__name__, texts=len(run))
                _fail(run, f"the local model failed ({type(error).__name__}).")
            else:
                rows.setflags(write=False)
                for waiting, row in zip(run, rows, strict=True):
                    waiting.vector.set_result(row)
            finally:
                with self._lock:
                    self._background_runs -= run[0].background

    def _next_run(self) -> list[_Waiting]:
        """The texts to embed together: the first in the queue and those of its kind that fit beside it.

        None while others hold all that texts to keep may hold; they come back for what is left here.
        """
        run: list[_Waiting] = []
        widest = 0
        with self._lock:
            while self._queue:
                first = self._queue[0]
                if not run and first.background and self._background_runs >= self._background_most:
                    break
                widest = max(widest, first.cost)
                if run and (first.background != run[0].background or widest * (len(run) + 1) > RUN_BYTES):
                    break
                heapq.heappop(self._queue)
                if first.vector.set_running_or_notify_cancel():
                    run.append(first)
            if run:
                self._background_runs += run[0].background
        return run


def _fail(run: list[_Waiting], reason: str) -> None:
    for waiting in run:
        waiting.vector.set_exception(EmbedderUnavailable(reason=reason))
