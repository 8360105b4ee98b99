"""A caller who is only expected: the server checks their key before it runs anything else of the transaction."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg.abc import PQGen

from north.db.connect import Database, LostRace, Transaction, retried
from north.db.connection import ImpatientConnection
from north.errors import MemoryNotFound, NotSignedIn
from north.model import Caller, Key, Origin
from tests.access.stored import dump
from tests.conftest import TestDatabase, open_pool
from tests.isolation.rows import Owner, World, filled
from tests.isolation.test_connections import nobody_sees_anything, owners_seen, sees_only_their_own

Attempt = Callable[[Transaction], Awaitable[None]]

KIND = "token"


@pytest.fixture
def world(make_database: Callable[[], TestDatabase]) -> World:
    """Everybody has a key: the bytes of their id."""
    world = filled(make_database())
    with psycopg.connect(world.database.superuser_url) as connection:
        for owner in (world.ana, world.ben, world.rita):
            connection.execute(
                "insert into lookup_key (kind, key_hash, firm_id, user_id, subject_id) values (%s, %s, %s, %s, %s)",
                (KIND, owner.user_id.bytes, owner.organization_id, owner.user_id, owner.other_id),
            )
    return world


@pytest.fixture
async def database(world: World) -> AsyncIterator[Database]:
    """North's pool with a single connection, so that whatever a transaction leaves behind is met by the next."""
    async with open_pool(world.database.application_url) as database:
        yield database


def caller_of(who: Owner, *, key_of: Owner | None = None, kind: str = KIND) -> Caller:
    """A caller who comes with their own key, or with somebody else's."""
    key = Key(kind, (key_of or who).user_id.bytes)
    return Caller(who.organization_id, who.user_id, Origin.API, key=key)


def change(world: World, query: str) -> None:
    with psycopg.connect(world.database.superuser_url) as connection:
        assert connection.execute(query.encode()).rowcount > 0


async def reads(transaction: Transaction) -> None:
    assert await owners_seen(transaction) == set()
    pytest.fail("it was answered")


async def writes_what_is_walled(transaction: Transaction) -> None:
    await transaction.connection.execute("update app_user set name = 'changed'")
    await transaction.connection.execute("update user_password set password_hash = 'changed'")


async def writes_what_is_not_walled(transaction: Transaction) -> None:
    """The table by which credentials are found has no policy."""
    await transaction.connection.execute("delete from lookup_key")


async def gives_up_before_anything_was_answered(transaction: Transaction) -> None:
    raise MemoryNotFound


async def gives_up_after_writing(transaction: Transaction) -> None:
    await writes_what_is_not_walled(transaction)
    raise MemoryNotFound


async def does_nothing(transaction: Transaction) -> None:
    pass


ATTEMPTS = (
    reads,
    writes_what_is_walled,
    writes_what_is_not_walled,
    gives_up_before_anything_was_answered,
    gives_up_after_writing,
    does_nothing,
)


def admitted(caller: Caller) -> bool:
    """Whether a transaction has admitted the caller."""
    assert caller.key is not None
    return caller.key.admitted


async def refused(database: Database, caller: Caller, attempt: Attempt) -> None:
    for read_only in (False, True):
        with pytest.raises(NotSignedIn):
            async with database.tenant(caller, read_only=read_only) as transaction:
                await attempt(transaction)


async def test_a_key_that_does_not_lead_to_its_caller_opens_nothing(world: World, database: Database) -> None:
    before = dump(world.database)
    strangers = [
        caller_of(world.ana, key_of=world.rita),
        caller_of(world.rita, key_of=world.ana),
        caller_of(world.ana, key_of=world.ben),
        replace(caller_of(world.ana), organization_id=world.rita.organization_id),
        caller_of(world.ana, kind="session"),
        replace(caller_of(world.ana), key=Key(KIND, b"unknown")),
        replace(caller_of(world.ana), key=Key(KIND, b"")),
    ]
    for caller, attempt in itertools.product(strangers, ATTEMPTS):
        await refused(database, caller, attempt)
        assert not admitted(caller)
        assert await nobody_sees_anything(database)
        assert await sees_only_their_own(database, world.ben)
    assert dump(world.database) == before


@pytest.mark.parametrize(
    "ended",
    [
        "delete from lookup_key",
        "update lookup_key set expires_at = now()",
        "update app_user set disabled_at = now()",
        "update lookup_key set user_id = null",
    ],
)
async def test_a_key_that_ended_opens_nothing(world: World, database: Database, ended: str) -> None:
    caller = caller_of(world.ana)
    async with database.tenant(caller) as transaction:
        assert await owners_seen(transaction) == {world.ana.user_id}
    change(world, ended)
    before = dump(world.database)
    for attempt in ATTEMPTS:
        await refused(database, caller_of(world.ana), attempt)
        await refused(database, caller, attempt)  # that it was admitted before counts for nothing
    assert dump(world.database) == before


async def test_who_goes_on_after_the_refusal_is_refused_at_the_end(world: World, database: Database) -> None:
    async def go_on(transaction: Transaction) -> None:
        for attempt in (reads, writes_what_is_not_walled):
            with suppress(psycopg.Error):
                await attempt(transaction)
            with suppress(psycopg.Error):
                async with transaction.connection.pipeline():  # waits for what came before, and forgets that it failed
                    pass

    before = dump(world.database)
    with pytest.raises(NotSignedIn):
        async with database.tenant(caller_of(world.ana, key_of=world.rita)) as transaction:
            await go_on(transaction)
    assert dump(world.database) == before


async def test_a_key_opens_what_is_its_callers_and_says_so(world: World, database: Database) -> None:
    for who in (world.ana, world.rita, world.ben):
        caller = caller_of(who)
        assert not admitted(caller)
        async with database.tenant(caller) as transaction:
            assert await owners_seen(transaction) == {who.user_id}
        assert admitted(caller)
        assert await nobody_sees_anything(database)
        async with database.tenant(caller_of(who), read_only=True) as transaction:
            assert await owners_seen(transaction) == {who.user_id}
        assert await nobody_sees_anything(database)


async def test_what_goes_wrong_after_the_key_was_checked_stays_what_it_is(world: World, database: Database) -> None:
    caller = caller_of(world.ana)
    with pytest.raises(MemoryNotFound):
        async with database.tenant(caller):
            raise MemoryNotFound
    assert admitted(caller)
    with pytest.raises(LostRace, match="user_password_pkey"):
        async with database.tenant(caller) as transaction:
            await transaction.send("access.insert_password", password_hash="another")
    with pytest.raises(psycopg.errors.InvalidTextRepresentation):
        async with database.tenant(caller) as transaction:
            await transaction.connection.execute("select cast('no' || $$ uuid$$ as uuid)")


async def test_the_key_is_checked_again_when_a_lost_race_is_run_again(
    world: World, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller, runs = caller_of(world.ana), 0

    @retried
    async def write() -> None:
        nonlocal runs
        runs += 1
        async with database.tenant(caller) as transaction:
            if runs == 1:
                await transaction.send("access.insert_password", password_hash="another")
                await transaction.send("tenant.alive")
            else:
                pytest.fail(f"it was answered: {await owners_seen(transaction)}")

    opened = database.tenant

    def revoked_meanwhile(acting: Caller) -> AbstractAsyncContextManager[Transaction]:
        if runs == 2:
            change(world, "delete from lookup_key")
        return opened(acting)

    monkeypatch.setattr(database, "tenant", revoked_meanwhile)
    with pytest.raises(NotSignedIn):
        await write()
    assert runs == 2


async def test_a_key_costs_no_round_trip(world: World, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = 0
    wait = ImpatientConnection.wait

    async def counted(self: ImpatientConnection, gen: PQGen[Any], *args: Any, **kwargs: Any) -> Any:
        nonlocal waits
        waits += 1
        return await wait(self, gen, *args, **kwargs)

    monkeypatch.setattr(ImpatientConnection, "wait", counted)
    counts = []
    for caller in (caller_of(world.ana), replace(caller_of(world.ana), key=None)):
        waits = 0
        async with database.tenant(caller) as transaction:
            await owners_seen(transaction)
        counts.append(waits)
    assert counts[0] - counts[1] <= 1, "each statement is handed over; nothing more is waited for"


def test_a_key_shows_nowhere(world: World) -> None:
    caller = caller_of(world.ana)
    assert caller == replace(caller, key=None)
    assert "key" not in repr(caller) and "key_hash" not in repr(caller.key)
