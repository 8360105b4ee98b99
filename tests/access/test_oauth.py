"""Grants, below the surfaces: what ends them, whose they are, and what stands in the database."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import psycopg
import pytest

from north.access.oauth import AuthorizationRequest, authorize
from north.access.oauth_tokens import (
    Grant,
    Tokens,
    connected_programs,
    disconnect_program,
    grant_of_code,
    grant_of_refresh,
    oauth_caller,
    redeem,
    renew,
    revoke,
)
from north.access.tokens import token_caller
from north.errors import NotSignedIn, ProgramNotFound
from north.memory.backend import Backend
from north.model import Caller, OAuthClient, Origin, new_id
from tests.access.stored import dump, holds
from tests.conftest import FirmOfTest, TestDatabase
from tests.oauth import CALLBACK, Program

CLAUDE = OAuthClient("https://claude.ai/oauth/metadata", "Claude", (CALLBACK,))


async def code_of(backend: Backend, caller: Caller, client: OAuthClient = CLAUDE) -> str:
    return await authorize(backend, caller, AuthorizationRequest(client, CALLBACK, Program(client.id).challenge, None))


async def redeemable(backend: Backend, code: str) -> Grant:
    grant = await grant_of_code(backend, CLAUDE.id, code)
    assert grant is not None
    return grant


async def signed_in(backend: Backend, caller: Caller) -> Tokens:
    tokens = await redeem(backend, await redeemable(backend, await code_of(backend, caller)))
    assert tokens is not None
    return tokens


async def renewed(backend: Backend, refresh: str) -> Tokens | None:
    grant = await grant_of_refresh(backend, CLAUDE.id, refresh)
    return await renew(backend, grant) if grant else None


async def is_out(backend: Backend, access: str) -> bool:
    try:
        await oauth_caller(backend, access, Origin.MCP)
    except NotSignedIn:
        return True
    return False


def later(database: TestDatabase, firm: FirmOfTest, interval: str) -> None:
    """Let time pass for everything of OAuth that a firm has."""
    with psycopg.connect(database.superuser_url) as connection:
        firm_id = firm.ana.organization_id
        for change in (
            "update oauth_grant set expires_at = expires_at - %s::interval where organization_id = %s",
            "update lookup_key set expires_at = expires_at - %s::interval where kind = 'oauth' and firm_id = %s",
        ):
            connection.execute(change.encode(), (interval, firm_id))


def keys_of(database: TestDatabase, firm: FirmOfTest) -> int:
    """How many secrets of a firm's programs can still be found."""
    with psycopg.connect(database.superuser_url) as connection:
        count = "select count(*) from lookup_key where kind = 'oauth' and firm_id = %s"
        row = connection.execute(count, (firm.ana.organization_id,)).fetchone()
    assert row is not None
    return int(row[0])


class TestAccess:
    async def test_is_the_lawyers_who_allowed_it(self, backend: Backend, firm: FirmOfTest) -> None:
        tokens = await signed_in(backend, firm.a)
        caller = await oauth_caller(backend, tokens.access, Origin.MCP)
        assert (caller.organization_id, caller.user_id) == (firm.ana.organization_id, firm.ana.id)
        assert caller.origin is Origin.MCP

    async def test_names_the_same_program_to_the_wall_after_renewing_and_after_connecting_anew(
        self, backend: Backend, firm: FirmOfTest
    ) -> None:
        first = await signed_in(backend, firm.a)
        second = await renewed(backend, first.refresh)
        third = await signed_in(backend, firm.a)
        assert second is not None
        names = {(await oauth_caller(backend, each.access, Origin.MCP)).client for each in (first, second, third)}
        assert names == {f"oauth:{CLAUDE.id}"}

    async def test_ends_after_an_hour(self, backend: Backend, database: TestDatabase, firm: FirmOfTest) -> None:
        tokens = await signed_in(backend, firm.a)
        later(database, firm, "59 minutes")
        assert not await is_out(backend, tokens.access)
        later(database, firm, "2 minutes")
        assert await is_out(backend, tokens.access)

    async def test_is_for_the_server_alone_that_issued_it(self, backend: Backend, firm: FirmOfTest) -> None:
        tokens = await signed_in(backend, firm.a)
        other = replace(backend, settings=backend.settings.model_copy(update={"public_url": "https://other.test"}))
        assert await is_out(other, tokens.access)
        assert await grant_of_refresh(other, CLAUDE.id, tokens.refresh) is None
        assert await grant_of_code(other, CLAUDE.id, await code_of(backend, firm.a)) is None

    async def test_is_neither_a_token_of_the_lawyers_own_nor_any_other_secret(
        self, backend: Backend, firm: FirmOfTest
    ) -> None:
        code = await code_of(backend, firm.a)
        tokens = await signed_in(backend, firm.a)
        with pytest.raises(NotSignedIn):
            await token_caller(backend, tokens.access, Origin.API)
        assert await is_out(backend, tokens.refresh)
        assert await is_out(backend, code)
        assert await grant_of_refresh(backend, CLAUDE.id, tokens.access) is None
        assert await grant_of_refresh(backend, CLAUDE.id, code) is None
        assert await grant_of_code(backend, CLAUDE.id, tokens.refresh) is None

    async def test_ends_for_a_lawyer_who_may_not_come_in_any_more(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        code, tokens = await code_of(backend, firm.a), await signed_in(backend, firm.a)
        with psycopg.connect(database.superuser_url) as connection:
            connection.execute("update app_user set disabled_at = now() where id = %s", (firm.ana.id,))
        assert await is_out(backend, tokens.access)
        assert await renewed(backend, tokens.refresh) is None
        assert await grant_of_code(backend, CLAUDE.id, code) is None


class TestCodes:
    async def test_end_after_five_minutes(self, backend: Backend, database: TestDatabase, firm: FirmOfTest) -> None:
        code = await code_of(backend, firm.a)
        grant = await redeemable(backend, code)
        later(database, firm, "5 minutes")
        assert await grant_of_code(backend, CLAUDE.id, code) is None
        assert await redeem(backend, grant) is None

    async def test_used_twice_take_back_what_they_gave(self, backend: Backend, firm: FirmOfTest) -> None:
        code = await code_of(backend, firm.a)
        tokens = await redeem(backend, await redeemable(backend, code))
        assert tokens is not None and not await is_out(backend, tokens.access)
        assert await grant_of_code(backend, CLAUDE.id, code) is None
        assert await is_out(backend, tokens.access)
        assert await renewed(backend, tokens.refresh) is None
        assert await connected_programs(backend, firm.a) == []

    async def test_used_twice_at_once_give_nothing_that_lasts(self, backend: Backend, firm: FirmOfTest) -> None:
        grant = await redeemable(backend, await code_of(backend, firm.a))
        both = await asyncio.gather(redeem(backend, grant), redeem(backend, grant))
        [given] = [tokens for tokens in both if tokens]
        assert await is_out(backend, given.access)

    async def test_are_noticed_when_they_come_again_long_after(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        code = await code_of(backend, firm.a)
        tokens = await redeem(backend, await redeemable(backend, code))
        assert tokens is not None
        later(database, firm, "20 minutes")
        assert await grant_of_code(backend, CLAUDE.id, code) is None
        assert await is_out(backend, tokens.access)

    async def test_are_of_no_use_to_another_program(self, backend: Backend, firm: FirmOfTest) -> None:
        code = await code_of(backend, firm.a)
        assert await grant_of_code(backend, "https://evil.test/metadata", code) is None
        assert await grant_of_code(backend, CLAUDE.id, code) is not None


class TestRefreshTokens:
    async def test_slide_for_thirty_days(self, backend: Backend, database: TestDatabase, firm: FirmOfTest) -> None:
        tokens = await signed_in(backend, firm.a)
        for _ in range(3):
            later(database, firm, "29 days")
            after = await renewed(backend, tokens.refresh)
            assert after is not None
            tokens = after
        later(database, firm, "31 days")
        assert await renewed(backend, tokens.refresh) is None
        assert await connected_programs(backend, firm.a) == []

    async def test_used_twice_end_the_connection(self, backend: Backend, firm: FirmOfTest) -> None:
        first = await signed_in(backend, firm.a)
        second = await renewed(backend, first.refresh)
        assert second is not None and not await is_out(backend, first.access)
        assert await renewed(backend, first.refresh) is None
        assert await is_out(backend, first.access)
        assert await is_out(backend, second.access)
        assert await renewed(backend, second.refresh) is None

    async def test_used_twice_at_once_end_the_connection(self, backend: Backend, firm: FirmOfTest) -> None:
        tokens = await signed_in(backend, firm.a)
        grant = await grant_of_refresh(backend, CLAUDE.id, tokens.refresh)
        assert grant is not None
        both = await asyncio.gather(renew(backend, grant), renew(backend, grant))
        [given] = [each for each in both if each]
        assert await is_out(backend, given.access)
        assert await is_out(backend, tokens.access)

    async def test_are_of_no_use_to_another_program(self, backend: Backend, firm: FirmOfTest) -> None:
        tokens = await signed_in(backend, firm.a)
        assert await grant_of_refresh(backend, "https://evil.test/metadata", tokens.refresh) is None
        await revoke(backend, "https://evil.test/metadata", tokens.refresh)
        assert await renewed(backend, tokens.refresh) is not None


class TestConnectedPrograms:
    async def test_show_what_where_and_since_when_to_the_lawyer_alone(
        self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest
    ) -> None:
        tokens = await signed_in(backend, firm.a)
        [program] = await connected_programs(backend, firm.a)
        assert (program.name, program.host, program.last_used_at) == ("Claude", "claude.ai", None)
        await oauth_caller(backend, tokens.access, Origin.MCP)
        [program] = await connected_programs(backend, firm.a)
        assert program.last_used_at is not None
        assert await connected_programs(backend, firm.b) == []
        assert await connected_programs(backend, rival.a) == []

    async def test_are_listed_when_they_have_their_tokens(self, backend: Backend, firm: FirmOfTest) -> None:
        await code_of(backend, firm.a)
        assert await connected_programs(backend, firm.a) == []

    async def test_can_be_disconnected_by_the_lawyer_alone(
        self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest
    ) -> None:
        tokens = await signed_in(backend, firm.a)
        [program] = await connected_programs(backend, firm.a)
        for stranger in (firm.b, rival.a):
            with pytest.raises(ProgramNotFound):
                await disconnect_program(backend, stranger, program.id)
        with pytest.raises(ProgramNotFound):
            await disconnect_program(backend, firm.a, new_id())
        assert not await is_out(backend, tokens.access)

        await disconnect_program(backend, firm.a, program.id)
        assert await is_out(backend, tokens.access)
        assert await renewed(backend, tokens.refresh) is None
        assert await connected_programs(backend, firm.a) == []

    @pytest.mark.parametrize("which", ["access", "refresh"])
    async def test_can_give_back_what_they_got(self, backend: Backend, firm: FirmOfTest, which: str) -> None:
        tokens = await signed_in(backend, firm.a)
        await revoke(backend, CLAUDE.id, getattr(tokens, which))
        assert await is_out(backend, tokens.access)
        assert await renewed(backend, tokens.refresh) is None


class TestTheDatabase:
    async def test_holds_no_secret(self, backend: Backend, database: TestDatabase, firm: FirmOfTest) -> None:
        code = await code_of(backend, firm.a)
        tokens = await redeem(backend, await redeemable(backend, code))
        assert tokens is not None
        after = await renewed(backend, tokens.refresh)
        assert after is not None
        everything = dump(database)
        assert holds(everything, CLAUDE.id)
        for secret in (code, tokens.access, tokens.refresh, after.access, after.refresh):
            assert not holds(everything, secret)
            assert not holds(everything, secret.partition("_")[2])

    async def test_forgets_keys_whose_time_is_over(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        tokens = await signed_in(backend, firm.a)
        await code_of(backend, firm.a)
        later(database, firm, "2 hours")
        assert keys_of(database, firm) == 4
        assert await renewed(backend, tokens.refresh)
        assert keys_of(database, firm) == 4  # the first code, both refresh tokens, the new access token

    async def test_forgets_every_key_of_a_connection_that_has_ended(
        self, backend: Backend, database: TestDatabase, firm: FirmOfTest
    ) -> None:
        await renewed(backend, (await signed_in(backend, firm.a)).refresh)
        [program] = await connected_programs(backend, firm.a)
        await disconnect_program(backend, firm.a, program.id)
        assert keys_of(database, firm) == 0
