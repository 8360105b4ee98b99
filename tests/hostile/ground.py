"""Where nothing hostile may leave a trace, and what a refusal looks like."""

from __future__ import annotations

import httpx2
import psycopg
from psycopg import sql

from tests.conftest import FirmOfTest, TestDatabase

STORES = ("agent_memory_candidate", "memory_rule", "matter", "access_token", "chat_message", "walled_consultation")
"""Where a call writes what somebody sent."""


class Ground:
    """A lawyer's memory and thread, and how much is stored of everything."""

    def __init__(self, database: TestDatabase, firm: FirmOfTest, memory: str, thread: str) -> None:
        self._database, self._firm = database, firm
        self.ids = {"{memory}": memory, "{thread}": thread}

    def placed(self, text: str) -> str:
        for name, value in self.ids.items():
            text = text.replace(name, value)
        return text

    def stored(self) -> list[int]:
        with psycopg.connect(self._database.superuser_url) as connection:
            counts = sql.SQL(" union all ").join(
                sql.SQL("select count(*) from {} where organization_id = %(firm)s").format(sql.Identifier(table))
                for table in STORES
            )
            return [row[0] for row in connection.execute(counts, {"firm": self._firm.ana.organization_id})]


def assert_refused(reply: httpx2.Response) -> None:
    assert 400 <= reply.status_code < 500, (reply.status_code, reply.text[:300])
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json()["code"] and len(reply.json()["detail"]) > 10
