"""chroma on disk, cosine distance. A room is a collection."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Sequence
from typing import Any

from benchmarks.peers.systems.protocol import embedder, serve


class Chroma:
    """One persistent client."""

    def __init__(self) -> None:
        chromadb = importlib.import_module("chromadb")
        quiet = importlib.import_module("chromadb.config").Settings(anonymized_telemetry=False)
        self._client: Any = chromadb.PersistentClient(path=os.environ["PEER_FOLDER"], settings=quiet)
        self._rooms: dict[str, Any] = {}
        self._encode = embedder()

    def _room(self, room: str) -> Any:
        if room not in self._rooms:
            self._rooms[room] = self._client.create_collection(
                room, configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
            )
        return self._rooms[room]

    async def add(self, room: str, key: str, text: str, session: str, said_at: str) -> None:
        """Add one text with its vector."""
        self._room(room).add(ids=[key], documents=[text], embeddings=self._encode([text]))

    async def settle(self) -> None:
        """An add is complete when it returns."""

    async def search(self, room: str, query: str, limit: int) -> Sequence[str]:
        """Query the room."""
        found = self._room(room).query(query_embeddings=self._encode([query]), n_results=limit)
        keys: list[str] = found["ids"][0]
        return keys


if __name__ == "__main__":
    asyncio.run(serve(Chroma()))
