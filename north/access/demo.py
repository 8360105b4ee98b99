"""The demo firms, for the first run on one machine."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from north.access.firms import create_firm, hash_password, insert_user
from north.access.keys import Kind, find
from north.memory.backend import Backend
from north.memory.matters import create_matter
from north.model import Caller, Origin


@dataclass(frozen=True, slots=True)
class DemoFirm:
    """A firm with who works there, as (e-mail, name, role), and its matters, as (number, name)."""

    slug: str
    name: str
    people: tuple[tuple[str, str, str], ...]
    matters: tuple[tuple[str, str], ...] = ()


DEMO_FIRMS = (
    DemoFirm(
        "demo",
        "Demo & Partners LLP",
        (
            ("lawyer-a@demo.test", "Ada Marlowe", "lawyer"),
            ("lawyer-b@demo.test", "Ben Okafor", "lawyer"),
            ("admin@demo.test", "Robin Hale", "admin"),
        ),
        (("HV-1001", "Harbor Freight v. Vance"), ("HV-1002", "Estate of Holloway")),
    ),
    DemoFirm("rival", "Rival & Associates", (("lawyer@rival.test", "Rita Voss", "lawyer"),)),
)


async def seed_demo(backend: Backend, password: str) -> bool:
    """Create the demo firms with one password for everybody; does nothing when they are there already.

    Returns:
        Whether anything was created.
    """
    if await find(backend.database, backend.secret_key, Kind.FIRM, DEMO_FIRMS[0].slug):
        return False
    hashed = await asyncio.to_thread(hash_password, password)
    for firm in DEMO_FIRMS:
        organization_id = await create_firm(backend, firm.slug, firm.name)
        users = [
            await insert_user(backend, organization_id, email, name, role, hashed) for email, name, role in firm.people
        ]
        caller = Caller(organization_id, users[0].id, Origin.SETTINGS)
        for number, name in reversed(firm.matters):
            await create_matter(backend, caller, number, name)
    return True
