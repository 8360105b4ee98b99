"""mem0 with `infer=False` over its pgvector store. A room is a user; the relevance threshold is off."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.systems.protocol import embedder, serve


class MiniLM:
    """mem0's embedding interface over the common embedder."""

    def __init__(self) -> None:
        self._encode = embedder()

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One text's vector."""
        vector: list[float] = self._encode([text])[0].tolist()
        return vector

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """The vectors of several texts."""
        vectors: list[list[float]] = self._encode(texts).tolist()
        return vectors


class Mem0:
    """One `Memory`; its language model is never called."""

    def __init__(self) -> None:
        store = {"connection_string": os.environ["PEER_DATABASE_URL"], "embedding_model_dims": 384}
        config = {
            "vector_store": {"provider": "pgvector", "config": store},
            "history_db_path": str(Path(os.environ["MEM0_DIR"]) / "history.db"),
        }
        self._memory: Any = importlib.import_module("mem0").Memory.from_config(config)
        self._memory.embedding_model = MiniLM()

    async def add(self, room: str, key: str, text: str, session: str, said_at: str) -> None:
        """Add one text as it is."""
        self._memory.add(text, user_id=room, metadata={"key": key}, infer=False)

    async def settle(self) -> None:
        """An add is complete when it returns."""

    async def search(self, room: str, query: str, limit: int) -> Sequence[str]:
        """Search the room."""
        found = self._memory.search(query, top_k=limit, filters={"user_id": room}, threshold=0.0)
        return [hit["metadata"]["key"] for hit in found["results"]]


if __name__ == "__main__":
    asyncio.run(serve(Mem0()))
