"""What tests of the memory share."""

from __future__ import annotations

import pytest

from north.memory import both_buckets


@pytest.fixture
def new_vectors_are_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A recall waits for the vectors of what was just saved, however long the machine takes for them."""
    monkeypatch.setattr(both_buckets, "FRESH_VECTOR_SECONDS", 60)
