"""Access tokens: made, used, revoked."""

from __future__ import annotations

from uuid import UUID

import psycopg
import pytest
from cachetools import LRUCache

from north.access import tokens
from north.access.tokens import create_token, delete_token, list_tokens, recognised_caller, token_caller
from north.errors import DatabaseUnavailable, InvalidInput, NotSignedIn, TokenNotFound
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


def disable(database: TestDatabase, user_id: UUID) -> None:
    """Keep a lawyer out, as an administrator of the database would."""
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute("update app_user set disabled_at = now() where id = %s", (user_id,))


async def test_a_token_of_a_disabled_lawyer_is_refused(
    backend: Backend, firm: FirmOfTest, database: TestDatabase
) -> None:
    _, secret = await create_token(backend, firm.a, "Laptop")
    await token_caller(backend, secret, Origin.API)
    disable(database, firm.ana.id)
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


class TestRecognised:
    """Whose a token is, as far as this process knows: the caller's transactions find out whether it still is."""

    async def test_a_token_is_looked_up_when_it_is_new_and_is_known_then(
        self, backend: Backend, firm: FirmOfTest
    ) -> None:
        token, secret = await create_token(backend, firm.a, "Laptop")
        callers = []
        for _ in range(2):
            async with recognised_caller(backend, secret, Origin.API) as caller:
                callers.append(caller)
                async with backend.database.tenant(caller):
                    pass
        looked_up, known = callers
        assert looked_up == known and looked_up.client == str(token.id)
        assert looked_up.key is None
        assert known.key is not None and known.key.admitted
        assert secret not in repr((known, tokens._known))

    @pytest.mark.parametrize("failure", [None, ValueError(), TokenNotFound()], ids=["none", "a fault", "a refusal"])
    async def test_a_call_that_asked_nothing_is_refused_at_its_end(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase, failure: Exception | None
    ) -> None:
        _, secret = await create_token(backend, firm.a, "Laptop")
        await token_caller(backend, secret, Origin.API)
        disable(database, firm.ana.id)
        with pytest.raises(NotSignedIn):
            async with recognised_caller(backend, secret, Origin.API):
                if failure:
                    raise failure

    async def test_of_a_call_that_could_not_ask_nothing_more_is_asked(self, backend: Backend, firm: FirmOfTest) -> None:
        _, secret = await create_token(backend, firm.a, "Laptop")
        await token_caller(backend, secret, Origin.API)
        with pytest.raises(DatabaseUnavailable):
            async with recognised_caller(backend, secret, Origin.API) as caller:
                raise DatabaseUnavailable
        assert caller.key is not None and not caller.key.admitted

    async def test_after_a_minute_it_is_looked_up_and_its_use_noted_again(
        self, backend: Backend, firm: FirmOfTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _, secret = await create_token(backend, firm.a, "Laptop")
        await token_caller(backend, secret, Origin.API)
        (before,) = await list_tokens(backend, firm.a)
        monkeypatch.setattr(tokens, "TOUCH_SECONDS", 0.0)
        async with recognised_caller(backend, secret, Origin.API) as caller:
            assert caller.key is None
        (after,) = await list_tokens(backend, firm.a)
        assert before.last_used_at and after.last_used_at and after.last_used_at > before.last_used_at

    async def test_only_so_many_are_known_the_last_that_were_used(
        self, backend: Backend, firm: FirmOfTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tokens, "_known", LRUCache(2))
        one, two, three = [(await create_token(backend, firm.a, name))[1] for name in ("one", "two", "three")]
        for secret in (one, two, one, three):
            async with recognised_caller(backend, secret, Origin.API):
                pass
        known = []
        for secret in (one, three, two):
            async with recognised_caller(backend, secret, Origin.API) as caller:
                known.append(caller.key is not None)
        assert known == [True, True, False]


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
