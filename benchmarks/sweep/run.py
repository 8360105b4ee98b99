"""How long the sweep takes over many firms, and whether a save waits for it.

Fills a database of its own by SQL, runs a whole sweep while one lawyer saves all the time, and runs it again.
"""

from __future__ import annotations

import argparse
import asyncio
import time

import psycopg

from benchmarks.figures import machine, milliseconds
from benchmarks.temporary import temporary_north
from north.access.firms import add_user, create_firm
from north.assembly import make_backend, opened
from north.commands.place import DATABASE
from north.memory.backend import Backend
from north.memory.save import save
from north.memory.trust import Swept, sweep
from north.model import Caller, Draft, MemoryType, Origin

FIRMS = """
insert into organization (organization_id, slug, name)
select gen_random_uuid(), 'bench-' || n, 'Firm ' || n from generate_series(1, %(firms)s) n"""
KEYS = """
insert into lookup_key (kind, key_hash, firm_id)
select 'firm', uuid_send(organization_id), organization_id from organization where slug like 'bench-%%'"""
LAWYERS = """
insert into app_user (organization_id, id, email, name)
select organization_id, gen_random_uuid(), n || '@' || slug, 'Lawyer ' || n
from organization, generate_series(1, %(lawyers)s) n where slug like 'bench-%%'"""
# Of every twentieth lawyer's preferences nearly all are deleted; of everything else, a third.
MEMORIES = """
insert into agent_memory_candidate (organization_id, id, scope, type, target_user_id, content, content_key, length,
    status, confidence, origin, captured_by, archived_at, archived_by)
select organization_id, gen_random_uuid(), 'user_private', type, id, 'Memory ' || n, uuid_send(gen_random_uuid()), 2,
    (case when gone then 'archived' else 'active' end)::memory_status, 'high', 'chat', id,
    case when gone then now() end, case when gone then id end
from (
    select u.organization_id, u.id, n, t.type,
        case when t.type = 'preference' and u.nth %% 20 = 0 then n %% 10 <> 0 else n / 3 %% 3 = 0 end as gone
    from (select organization_id, id, row_number() over () as nth from app_user where email like '%%@bench-%%') u,
        generate_series(1, %(each)s) n,
        lateral (select (array['preference', 'fact', 'instruction'])[1 + n %% 3]::memory_type as type) t
) rows"""


def fill(url: str, firms: int, lawyers: int, memories: int) -> None:
    """Write the firms, by SQL and past the walls."""
    each = max(memories // (firms * lawyers), 1)
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in (FIRMS, KEYS, LAWYERS, MEMORIES):
            connection.execute(statement, {"firms": firms, "lawyers": lawyers, "each": each})
        connection.execute("analyze")


async def saves_until(done: asyncio.Event, backend: Backend, caller: Caller) -> list[float]:
    """Save one memory after the other; how long each took, in seconds."""
    took: list[float] = []
    while not done.is_set():
        start = time.perf_counter()
        await save(backend, caller, [Draft(f"Statement number {len(took)}.", MemoryType.FACT)])
        took.append(time.perf_counter() - start)
        await asyncio.sleep(0.01)
    return took


async def measure(backend: Backend, scheduler_url: str) -> None:
    """Sweep while a lawyer saves, and sweep again."""
    firm = await create_firm(backend, "saving", "A firm that saves")
    lawyer = await add_user(backend, firm, "lawyer@saving.test", "A lawyer", "no secret at all")
    caller = Caller(firm, lawyer.id, Origin.API)
    alone = asyncio.Event()
    asyncio.get_running_loop().call_later(5, alone.set)
    print(f"saves without a sweep:  {milliseconds(await saves_until(alone, backend, caller), (50, 95, 100))}")
    for name in ("first sweep", "second sweep"):
        done = asyncio.Event()
        saving = asyncio.create_task(saves_until(done, backend, caller))
        start = time.perf_counter()
        swept: Swept = await sweep(scheduler_url)
        seconds = time.perf_counter() - start
        done.set()
        print(f"{name}: {seconds:.1f} s, {swept.firms} firms, {swept.lawyers} lawyers, {len(swept.rules)} rules")
        print(f"saves meanwhile:        {milliseconds(await saving, (50, 95, 100))}")


def main() -> None:
    """Fill, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--firms", type=int, default=1000)
    parser.add_argument("--lawyers", type=int, default=10, help="of each firm")
    parser.add_argument("--memories", type=int, default=1_000_000, help="in all")
    arguments = parser.parse_args()
    print(f"{machine()}\n{arguments.firms} firms of {arguments.lawyers} lawyers, {arguments.memories} memories")
    with temporary_north(embedder="none") as (settings, place, server):
        assert place.scheduler_url is not None
        start = time.perf_counter()
        fill(server.superuser_url(DATABASE), arguments.firms, arguments.lawyers, arguments.memories)
        print(f"filled in {time.perf_counter() - start:.0f} s")

        async def run() -> None:
            async with opened(make_backend(settings, place)) as backend:
                assert backend.scheduler_url is not None
                await measure(backend, backend.scheduler_url)

        asyncio.run(run())


if __name__ == "__main__":
    main()
