"""What every operation on memory works with."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from north.connectors.embeddings import Embedder
from north.db.connect import Database
from north.db.jobs import Jobs
from north.memory.embedding import Backlog
from north.memory.sizes import Sizes
from north.memory.vector_cache import VectorCache
from north.settings import Settings
from north.turns import Turns


@dataclass(frozen=True, slots=True)
class Backend:
    """The parts of a running North, made once by the composition root."""

    database: Database
    embedder: Embedder
    backlog: Backlog
    jobs: Jobs
    secret_key: bytes
    settings: Settings
    vector_cache: VectorCache
    sizes: Sizes = field(default_factory=Sizes)
    turns: Turns = field(default_factory=Turns)
    scheduler_url: str | None = field(default=None, repr=False)

    @property
    def memory_tokens(self) -> int:
        """How many tokens of memory a prompt may carry."""
        return self.settings.memory_tokens

    @property
    def wall_window(self) -> timedelta:
        """How long a consultation without a session handle taints its client."""
        return timedelta(hours=self.settings.wall_hours)
