"""Sending files to the API, and what is stored of them."""

from __future__ import annotations

from typing import Any

from tests.api.conftest import Client
from tests.conftest import FirmOfTest, TestDatabase
from tests.memory.remembering import stored

FILE = b"[2026-03-02] - Prefers short letters without Latin.\n"


async def sent(client: Client, file: bytes = FILE, name: str = "list.txt") -> dict[str, Any]:
    """Send a file as a form, and the import."""
    reply = await client.post("/imports", files={"file": (name, file)})
    assert reply.status_code == 202, reply.text
    received: dict[str, Any] = reply.json()
    return received


def kept(database: TestDatabase, firm: FirmOfTest, import_id: str | None = None) -> bytes:
    """The bytes that are stored of the firm's files, or of one."""
    rows = stored(
        database,
        "select import_id, piece from import_chunk where organization_id = %s order by import_id, number",
        firm.ana.organization_id,
    )
    return b"".join(row["piece"] for row in rows if import_id in (None, str(row["import_id"])))
