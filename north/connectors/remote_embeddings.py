"""Vectors from a provider, by pydantic-ai. Apart from `embeddings`, because its imports take a second."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import structlog
from openai import AsyncOpenAI
from pydantic_ai.embeddings import infer_embedding_model
from pydantic_ai.exceptions import ModelConnectionError, ModelHTTPError, UserError
from pydantic_ai.providers import Provider, infer_provider

from north.connectors.embeddings import Vector, readable
from north.errors import EmbedderUnavailable, Misconfigured

QUERY_SECONDS = 2.0
"""How long a recall waits before it goes on without a vector."""

DOCUMENT_SECONDS = 10.0

log = structlog.get_logger(__name__)


class RemoteEmbedder:
    """A provider's embedding model, asked once: a recall goes on without it, the worker comes back later."""

    local = False
    available = True

    def __init__(
        self, name: str, *, query_seconds: float = QUERY_SECONDS, document_seconds: float = DOCUMENT_SECONDS
    ) -> None:
        self.name = name
        self._query_seconds = query_seconds
        self._document_seconds = document_seconds
        try:
            self._model = infer_embedding_model(name, provider_factory=self._open_provider)
        except (UserError, ValueError, ImportError) as error:
            raise Misconfigured(reason=f"NORTH_EMBEDDER is `{name}`: {error}") from error

    async def warm(self) -> None:
        """Nothing to load."""

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        """One vector a text, in one request; how many texts it may hold is the provider's to say."""
        if not texts:
            return []
        seconds = self._query_seconds if query else self._document_seconds
        try:
            async with asyncio.timeout(seconds):
                result = await self._model.embed(
                    [readable(text) for text in texts], input_type="query" if query else "document"
                )
            return _unit_vectors(result.embeddings, len(texts))
        except Exception as error:  # the edge: each provider fails in ways of its own
            reason = _reason(error, seconds)
            # Neither message nor traceback: they may quote the request.
            log.warning("embedding_failed", embedder=self.name, reason=reason, error=type(error).__name__)
            raise EmbedderUnavailable(reason=f"`{self.name}` {reason}.") from None

    async def aclose(self) -> None:
        """Close the provider's connections, which leaving it does."""
        async with self._provider:
            pass

    def _open_provider(self, provider_name: str) -> Provider[Any]:
        self._provider = infer_provider(provider_name)
        if isinstance(self._provider.client, AsyncOpenAI):
            # Its own retries sleep for seconds, and would hide what went wrong behind a timeout.
            self._provider.client.max_retries = 0
        return self._provider


def _unit_vectors(embeddings: Sequence[Sequence[float]], expected: int) -> list[Vector]:
    """The provider's vectors at length 1. Raises ValueError when they are not that many usable ones."""
    rows = np.asarray(embeddings, dtype=np.float32)
    if rows.ndim != 2 or len(rows) != expected:
        raise ValueError("not one vector a text")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise ValueError("vectors that are not finite, or zero")
    rows = rows / lengths
    rows.setflags(write=False)
    return list(rows)


def _reason(error: Exception, seconds: float) -> str:
    """What went wrong, in words that hold nothing of the request or the answer."""
    match error:
        case TimeoutError():
            return f"did not answer within {seconds:g} seconds"
        case ModelHTTPError():
            return f"answered with HTTP status {error.status_code}"
        case ModelConnectionError():
            return "cannot be reached"
        case _:
            return "gave an answer that cannot be used"
