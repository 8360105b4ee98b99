"""North through its Python package: the door and recall, as `north_app` under row-level security.

A room is a matter. With `--texts-alone` North is told neither session nor date, as the others make no use of them.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from benchmarks.peers.systems.protocol import serve
from north.access.firms import add_user, create_firm
from north.assembly import Place, make_backend, opened
from north.memory.backend import Backend
from north.memory.both_buckets import rank_buckets
from north.memory.matters import create_matter
from north.memory.recall import note_uses
from north.memory.save import save
from north.model import AlreadyKnown, Caller, Draft, MemoryType, Origin, Saved, Scope
from north.settings import Settings


class North:
    """A firm with one lawyer."""

    def __init__(self, backend: Backend, caller: Caller, *, texts_alone: bool) -> None:
        self._backend = backend
        self._caller = caller
        self._texts_alone = texts_alone
        self._keys: dict[UUID, list[str]] = {}
        self._rooms: set[str] = set()
        self._noting: asyncio.Task[None] | None = None

    async def add(self, room: str, key: str, text: str, session: str, said_at: str) -> None:
        """Save one memory on the room's matter."""
        if room not in self._rooms:
            self._rooms.add(room)
            await create_matter(self._backend, self._caller, room, room)
        draft = Draft(
            text,
            MemoryType.FACT,
            Scope.MATTER,
            room,
            source_label=None if self._texts_alone else session,
            captured_at=None if self._texts_alone else datetime.fromisoformat(said_at),
        )
        (outcome,) = await save(self._backend, self._caller, [draft])
        assert isinstance(outcome, Saved | AlreadyKnown)
        self._keys.setdefault(outcome.memory.id, []).append(key)

    async def settle(self) -> None:
        """Wait for the vectors, which are made after the save, and for the note of what was used."""
        if self._noting is not None:
            await self._noting
        await self._backend.backlog.settled(self._caller.organization_id, seconds=600)

    async def search(self, room: str, query: str, limit: int) -> Sequence[str]:
        """Recall from the room's matter; a memory that was said twice stands for both texts.

        That they were used is noted afterwards, as every surface notes it once the answer is on its way.
        """
        found = await rank_buckets(self._backend, self._caller, query, room, limit)
        self._noting = asyncio.create_task(note_uses(self._backend, self._caller, found.memories))
        return ["|".join(self._keys[hit.memory.id]) for hit in found.matter]


async def _main(texts_alone: bool) -> None:
    settings = Settings(model="offline", embedder="local", database_url=None, secret_key=None)
    place = Place(os.environ["PEER_DATABASE_URL"], "a key of this comparison, for nothing else")
    async with opened(make_backend(settings, place)) as backend:
        firm = await create_firm(backend, f"peers-{'texts' if texts_alone else 'all'}", "Peers")
        lawyer = await add_user(
            backend, firm, f"lawyer-{'t' if texts_alone else 'a'}@peers.test", "Lawyer", "no secret at all"
        )
        await serve(North(backend, Caller(firm, lawyer.id, Origin.API), texts_alone=texts_alone))


if __name__ == "__main__":
    asyncio.run(_main("--texts-alone" in sys.argv))
