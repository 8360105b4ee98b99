"""LangGraph's PostgresStore with a vector index. A room is a namespace."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Sequence
from typing import Any

from benchmarks.peers.systems.protocol import embedder, serve


class LangGraph:
    """One store on one connection."""

    def __init__(self, store: Any) -> None:
        self._store = store

    async def add(self, room: str, key: str, text: str, session: str, said_at: str) -> None:
        """Put one text."""
        self._store.put((room,), key, {"text": text})

    async def settle(self) -> None:
        """A put is complete when it returns."""

    async def search(self, room: str, query: str, limit: int) -> Sequence[str]:
        """Search the room."""
        return [item.key for item in self._store.search((room,), query=query, limit=limit)]


def _main() -> None:
    encode = embedder()
    index = {"dims": 384, "embed": lambda texts: encode(list(texts)).tolist(), "fields": ["text"]}
    postgres = importlib.import_module("langgraph.store.postgres")
    with postgres.PostgresStore.from_conn_string(os.environ["PEER_DATABASE_URL"], index=index) as store:
        store.setup()
        asyncio.run(serve(LangGraph(store)))


if __name__ == "__main__":
    _main()
