"""The canary at start-up: North does not serve from a database that would let one firm see another."""

from __future__ import annotations

from uuid import UUID

from north.db.connect import Database
from north.db.races import retried
from north.errors import IsolationBroken


async def check_isolation(database: Database) -> None:
    """Check the role, the policies, and by trying: unbound nothing is seen, bound no other firm.

    Raises:
        IsolationBroken: with what is wrong, in a sentence.
        DatabaseUnavailable: the database cannot be asked.
    """
    (role,) = await database.lookup("canary.role")
    if role["bypasses"]:
        raise IsolationBroken(reason=f"the role {role['name']} bypasses row-level security; connect as north_app")
    if role["owns"]:
        raise IsolationBroken(reason=f"the role {role['name']} owns tables; connect as north_app")
    if unguarded := await database.lookup("canary.unguarded"):
        tables = ", ".join(row["table_name"] for row in unguarded)
        raise IsolationBroken(reason=f"row-level security is not enabled and forced on {tables}")
    if functions := await database.lookup("canary.volatile_context"):
        names = ", ".join(row["function_name"] for row in functions)
        raise IsolationBroken(reason=f"these functions must be STABLE: {names}")
    firms = await database.lookup("canary.any_firm")
    for firm in (None, *(row["firm_id"] for row in firms)):
        if await _sees_foreign_rows(database, firm):
            bound = "bound to one firm" if firm else "bound to no firm"
            raise IsolationBroken(reason=f"a transaction {bound} sees rows of another")


@retried
async def _sees_foreign_rows(database: Database, firm: UUID | None) -> bool:
    async with database.bound(firm, None) as transaction:
        row = await transaction.first("canary.seen")
    return bool(row and row["foreign_rows"])
