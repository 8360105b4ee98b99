"""Firms to measure on: buckets of known sizes, and what stands around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.latency.bulk import Place, Pool, pour
from north.access.firms import add_user, create_firm, insert_user
from north.access.tokens import create_token
from north.memory.backend import Backend
from north.memory.matters import create_matter
from north.model import Caller, Matter, Origin

OTHERS = 1_000
"""How many other firms a crowded database has."""
OF_OTHERS = 10
"""How many memories each of them has."""
PER_MATTER = 1_000
"""How many memories each matter has that fills up a firm."""


@dataclass(frozen=True, slots=True)
class Desk:
    """A lawyer with a bucket of their own of `size` memories, and a matter with as many."""

    size: int
    caller: Caller
    token: str
    matter: Matter


@dataclass(frozen=True, slots=True)
class Firm:
    """A firm, a desk for each size of a bucket, and how many memories it has in all."""

    desks: Sequence[Desk]
    memories: int


async def make_desks(backend: Backend, slug: str, sizes: Sequence[int]) -> list[Desk]:
    """A firm with a desk for each size; the buckets are empty yet."""
    organization_id = await create_firm(backend, slug, f"Firm {slug}")
    desks = []
    for size in sizes:
        lawyer = await add_user(
            backend, organization_id, f"lawyer-{size}@{slug}.test", f"Lawyer {size}", "no secret at all"
        )
        caller = Caller(organization_id, lawyer.id, Origin.API)
        matter = await create_matter(backend, caller, f"M-{size}", f"Matter of {size}")
        _, token = await create_token(backend, caller, "benchmark")
        desks.append(Desk(size, caller, token, matter))
    return desks


def places_of(desks: Sequence[Desk]) -> list[tuple[Place, int]]:
    """The two buckets of each desk."""
    return [
        (Place(desk.caller.organization_id, desk.caller.user_id, matter), desk.size)
        for desk in desks
        for matter in (None, desk.matter.id)
    ]


async def more_matters(backend: Backend, caller: Caller, memories: int) -> list[tuple[Place, int]]:
    """Matters that fill up a firm by so many memories."""
    return [
        (
            Place(
                caller.organization_id,
                caller.user_id,
                (await create_matter(backend, caller, f"F-{number + 1:05}", f"Filling matter {number + 1}")).id,
            ),
            PER_MATTER,
        )
        for number in range(memories // PER_MATTER)
    ]


async def other_firms(backend: Backend) -> list[tuple[Place, int]]:
    """A thousand other firms, each with a lawyer and a few memories."""
    places = []
    for number in range(OTHERS):
        organization_id = await create_firm(backend, f"other-{number}", f"Other firm {number}")
        # A login that no password opens: hashing a thousand of them would take minutes.
        user = await insert_user(backend, organization_id, f"lawyer@other-{number}.test", "A lawyer", "lawyer", "-")
        places.append((Place(organization_id, user.id), OF_OTHERS))
    return places


def fill(url: str, pool: Pool, desks: Sequence[Desk], around: Sequence[tuple[Place, int]]) -> Firm:
    """Write the buckets of the desks, and what stands around them."""
    own = pour(url, pool, places_of(desks), own_vectors=True)
    organization_id = desks[0].caller.organization_id
    pour(url, pool, list(around), own_vectors=False)
    return Firm(desks, own + sum(count for place, count in around if place.organization_id == organization_id))
