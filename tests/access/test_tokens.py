"""Access tokens: made, used, revoked."""

from __future__ import annotations

import psycopg
import pytest

from north.access.tokens import create_token, delete_token, list_tokens, token_caller
from north.errors import InvalidInput, NotSignedIn, TokenNotFound
from north.memory.backend import Backend
from north.model import Origin, new_id
from tests.access.stored import dump, holds
from tests.conftest import FirmOfTest, TestDatabase


async def test_a_token_acts_for_its_lawyer_and_nobody_else(backend: Backend, firm: FirmOfTest) -> None:
    token, secret = await create_token(backend, firm.a, " Laptop ")
    caller = await token_caller(backend, secret, Origin.MCP)
    assert (caller.organization_id, caller.user_id) == (firm.a.organization_id, firm.ana.id)
    assert (caller.origin, caller.client) == (Origin.MCP, str(token.id))
    assert token.name == "Laptop" and secret.startswith("north_")


async def test_a_revoked_token_is_refused_from_the_next_request_on(backend: Backend, firm: FirmOfTest) -> None:
    token, secret = await create_token(backend, firm.a, "Laptop")
    _, other = await create_token(backend, firm.a, "Phone")
    await token_caller(backend, secret, Origin.API)
    await delete_token(backend, firm.a, token.id)
    with pytest.raises(NotSignedIn):
        await token_caller(backend, secret, Origin.API)
    assert (await token_caller(backend, other, Origin.API)).user_id == firm.ana.id
    assert [each.name for each in await list_tokens(backend, firm.a)] == ["Phone"]


async def test_a_token_of_a_disabled_lawyer_is_refused(
    backend: Backend, firm: FirmOfTest, database: TestDatabase
) -> None:
    _, secret = await create_token(backend, firm.a, "Laptop")
    await token_caller(backend, secret, Origin.API)
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute("update app_user set disabled_at = now() where id = %s", (firm.ana.id,))
    with pytest.raises(NotSignedIn):
        await token_caller(backend, secret, Origin.API)


async def test_an_expired_token_is_refused(backend: Backend, firm: FirmOfTest, database: TestDatabase) -> None:
    token, secret = await create_token(backend, firm.a, "Laptop")
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute("update lookup_key set expires_at = now() where subject_id = %s", (token.id,))
    with pytest.raises(NotSignedIn):
        await token_caller(backend, secret, Origin.API)


async def test_nobody_else_can_list_or_delete_it(backend: Backend, firm: FirmOfTest, rival: FirmOfTest) -> None:
    token, secret = await create_token(backend, firm.a, "Laptop")
    for caller, token_id in ((firm.b, token.id), (rival.a, token.id), (firm.a, new_id())):
        with pytest.raises(TokenNotFound):
            await delete_token(backend, caller, token_id)
    assert await list_tokens(backend, firm.b) == [] == await list_tokens(backend, rival.a)
    assert (await token_caller(backend, secret, Origin.API)).user_id == firm.ana.id


async def test_its_use_is_noted(backend: Backend, firm: FirmOfTest) -> None:
    _, secret = await create_token(backend, firm.a, "Laptop")
    assert [token.last_used_at for token in await list_tokens(backend, firm.a)] == [None]
    for _ in range(2):
        await token_caller(backend, secret, Origin.API)
    (token,) = await list_tokens(backend, firm.a)
    assert token.last_used_at is not None


async def test_its_secret_is_nowhere_in_the_database(
    backend: Backend, firm: FirmOfTest, database: TestDatabase
) -> None:
    _, secret = await create_token(backend, firm.a, "Laptop")
    everything = dump(database)
    assert not holds(everything, secret) and not holds(everything, secret.removeprefix("north_"))


@pytest.mark.parametrize("secret", ["", "north_x", "\0", "\ud800", "x" * 100_000])
async def test_an_unknown_secret_is_refused(backend: Backend, secret: str) -> None:
    with pytest.raises(NotSignedIn):
        await token_caller(backend, secret, Origin.API)


@pytest.mark.parametrize("name", ["", " ", "x" * 101, "two\nlines", "a\0", "a\ud800"])
async def test_its_name_is_a_short_line(backend: Backend, firm: FirmOfTest, name: str) -> None:
    with pytest.raises(InvalidInput):
        await create_token(backend, firm.a, name)
    assert await list_tokens(backend, firm.a) == []
