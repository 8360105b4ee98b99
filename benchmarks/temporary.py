"""A North of a benchmark's own: an embedded server in a folder that goes away with it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from north.assembly import Place
from north.commands.place import prepare
from north.db.embedded import EmbeddedServer, embedded
from north.settings import Settings


@contextmanager
def temporary_north(embedder: str = "local") -> Iterator[tuple[Settings, Place, EmbeddedServer]]:
    """A migrated database on an embedded server, with the settings that every server on it should have."""
    with tempfile.TemporaryDirectory(prefix="north-bench-") as folder:
        settings = Settings(
            data_dir=Path(folder), database_url=None, secret_key=None, model="offline", embedder=embedder
        )
        with embedded(settings.data_dir) as server:
            yield settings, prepare(server, settings), server
