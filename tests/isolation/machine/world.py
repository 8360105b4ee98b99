"""Who there is, whom what they write may reach, and what is whose: told by the database itself, past the walls."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from uuid import UUID

from psycopg import AsyncConnection

EVERYBODY = 0
"""Stands for every lawyer of a firm."""
CANARY = re.compile(rb"qz([0-9a-f]{4})x([0-9a-f]{4})zq", re.IGNORECASE)
ID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
numbers = itertools.count(1)
"""Firms and lawyers are counted together, for as long as the process runs."""


class Kind(StrEnum):
    """What an id can name."""

    MEMORY = "memory"
    MATTER = "matter"
    MATTER_NUMBER = "matter number"
    THREAD = "thread"
    MESSAGE = "message"
    RULE = "rule"
    TOKEN = "token"
    GRANT = "grant"
    IMPORT = "import"
    SESSION = "session handle"


@dataclass
class Lawyer:
    """A lawyer, the secrets by which North knows them, and their number in canaries."""

    firm: Firm
    id: UUID
    email: str
    number: int
    token: str = ""
    token_id: UUID | None = None
    oauth: str | None = None

    @property
    def private(self) -> str:
        """Marks a text that this lawyer alone may see."""
        return canary(self.firm.number, self.number)


@dataclass
class Firm:
    """A firm and its lawyers."""

    id: UUID
    number: int
    lawyers: list[Lawyer] = field(default_factory=list)

    @property
    def shared(self) -> str:
        """Marks a text that every lawyer of the firm may see."""
        return canary(self.number, EVERYBODY)


def canary(firm: int, lawyer: int) -> str:
    return f"qz{firm:04x}x{lawyer:04x}zq"


@dataclass(frozen=True)
class Thing:
    """What an id names, and whose it is: a lawyer's, or with None the whole firm's."""

    name: str
    firm: Firm
    owner: Lawyer | None
    shared: bool = False
    """Whether what is written into it may reach the whole firm; of a thread, because it is on a matter."""

    def visible_to(self, lawyer: Lawyer) -> bool:
        return self.firm is lawyer.firm and (self.owner is None or self.owner is lawyer)


NEW_ROWS = {
    Kind.MEMORY: "select organization_id, id, target_user_id, null from agent_memory_candidate",
    Kind.MATTER: "select organization_id, id, null::uuid, number from matter",
    Kind.THREAD: "select organization_id, id, user_id, matter_id::text from chat_thread",
    Kind.MESSAGE: "select organization_id, id, user_id, thread_id::text from chat_message",
    Kind.RULE: "select organization_id, id, user_id, null from memory_rule",
    Kind.TOKEN: "select organization_id, id, user_id, null from access_token",
    Kind.GRANT: "select organization_id, id, user_id, null from oauth_grant",
    Kind.IMPORT: "select organization_id, id, user_id, null from import_batch",
}
TABLES = {kind: query.rpartition(" ")[2] for kind, query in NEW_ROWS.items()}
SINCE = " union all ".join(
    f"select '{kind}' as kind, * from ({query}) t (firm, id, owner, more) where firm = any(%(firms)s) and id > %(seen)s"
    for kind, query in NEW_ROWS.items()
)


ADDED_LATER = ("embedding", "embedding_model", "sketch", "wide")
"""Columns that the embedder fills in its own time."""


class World:
    """The firms of one run, and everything that they have, as a superuser reads it."""

    def __init__(self, superuser: AsyncConnection[Any]) -> None:
        self._superuser = superuser
        self._seen = UUID(int=0)
        self.firms: list[Firm] = []
        self.things: dict[Kind, list[Thing]] = {kind: [] for kind in Kind}
        self.owners: dict[bytes, Thing] = {}
        self.thread_of: dict[str, str] = {}

    @property
    def lawyers(self) -> list[Lawyer]:
        return [lawyer for firm in self.firms for lawyer in firm.lawyers]

    def add(self, kind: Kind, thing: Thing) -> None:
        self.things[kind].append(thing)
        self.owners[thing.name.encode()] = thing

    async def look_again(self) -> None:
        """Take in what has come into being since the last time; ids grow with time."""
        firms = {firm.id: firm for firm in self.firms}
        lawyers = {lawyer.id: lawyer for lawyer in self.lawyers}
        rows = await self._superuser.execute(SINCE.encode(), {"firms": list(firms), "seen": self._seen})
        newest = self._seen
        for name, firm_id, row_id, owner_id, more in await rows.fetchall():
            firm, owner = firms[firm_id], lawyers[owner_id] if owner_id else None
            newest = max(newest, row_id)
            shared = owner is None or (name == Kind.THREAD and more is not None)
            self.add(Kind(name), Thing(str(row_id), firm, owner, shared))
            if name == Kind.MATTER:
                self.add(Kind.MATTER_NUMBER, Thing(more, firm, None, shared=True))
            if name == Kind.MESSAGE:
                self.thread_of[str(row_id)] = more
        self._seen = newest

    async def row(self, kind: Kind, name: str) -> Any:
        """The row that an id names as it stands, without what the embedder adds in its own time."""
        if kind not in TABLES:
            return None
        query = f"select to_jsonb(t) - %s::text[] from {TABLES[kind]} t where id = %s"
        found = await self._superuser.execute(query.encode(), (list(ADDED_LATER), name))
        return await found.fetchall()

    def visible(self, kind: Kind, lawyer: Lawyer) -> list[Thing]:
        return [thing for thing in self.things[kind] if thing.visible_to(lawyer)]
