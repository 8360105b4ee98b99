"""What North asks of Postgres."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
from psycopg import AsyncCursor

from north.db.connect import Row, Transaction


class Asked:
    """The statements that were sent, by their names.

    Args:
        monkeypatch: puts the sending back in order.
        but: the names of those that are not noted.
        file: whose statements are noted.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, but: Collection[str] = (), file: str = "recall") -> None:
        self._but, self._file = but, file
        self._names: list[str] = []
        for method in ("send", "send_for_bytes"):
            monkeypatch.setattr(Transaction, method, self._noting(getattr(Transaction, method)))

    def _noting(self, send: Any) -> Any:
        async def noted(transaction: Transaction, name: str, /, **parameters: Any) -> AsyncCursor[Row]:
            file, _, short = name.partition(".")
            if file == self._file and short not in self._but:
                self._names.append(short)
            answer: AsyncCursor[Row] = await send(transaction, name, **parameters)
            return answer

        return noted

    def taken(self) -> list[str]:
        """Those since it was last asked."""
        names, self._names = self._names, []
        return names
