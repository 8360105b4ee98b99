"""Logging in on the web, and how a session ends."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from north.access.firms import PASSWORDS
from north.access.keys import Kind, find
from north.access.login import SESSION_LIFE, log_in, log_out, session_user
from north.access.throttle import OF_ACCOUNT, OF_ADDRESS, attempt_failed
from north.assembly import make_backend, opened
from north.errors import LoginFailed, TooManyLogins
from north.memory.backend import Backend
from tests.access.stored import dump, holds
from tests.conftest import PASSWORD, FirmOfTest, TestDatabase

WRONG = "a" * 201  # no stored password is as long, so that none is hashed and the test is quick


class TestLogIn:
    @pytest.mark.parametrize("spelling", [str, str.upper, "  {} ".format])
    async def test_opens_a_session_for_the_right_password(
        self, backend: Backend, firm: FirmOfTest, spelling: type[str]
    ) -> None:
        user, secret = await log_in(backend, spelling(firm.ana.email), PASSWORD)
        assert user == firm.ana
        assert await session_user(backend, secret) == firm.ana

    async def test_opens_a_session_of_its_own_each_time(self, backend: Backend, firm: FirmOfTest) -> None:
        _, first = await log_in(backend, firm.ana.email, PASSWORD)
        _, second = await log_in(backend, firm.ana.email, PASSWORD)
        assert first != second and len(first) > 40

    @pytest.mark.parametrize(
        "password",
        ["", PASSWORD.upper(), f"{PASSWORD} ", f"{PASSWORD}\0", "a" * 100_000, "\ud800", "пароль"],
        ids=["empty", "case", "longer", "NUL", "endless", "surrogate", "other"],
    )
    async def test_refuses_any_other(self, backend: Backend, firm: FirmOfTest, password: str) -> None:
        with pytest.raises(LoginFailed):
            await log_in(backend, firm.ana.email, password)

    async def test_does_not_tell_a_wrong_password_from_an_unknown_name(
        self, backend: Backend, firm: FirmOfTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        verified: list[str | bytes] = []

        def counted(password: str | bytes, stored: str | bytes) -> bool:
            verified.append(stored)
            return verify(password, stored)

        verify = PASSWORDS.verify
        monkeypatch.setattr(PASSWORDS, "verify", counted)
        told = []
        for email in (firm.ana.email, "nobody@nowhere.test", "", "\0", "\ud800@x"):
            with pytest.raises(LoginFailed) as error:
                await log_in(backend, email, "not the password")
            told.append((str(error.value), error.value.detail))
        assert len(set(map(str, told))) == 1
        assert len(verified) == 5, "a hash is verified in any case, so that the time taken tells nothing"

    async def test_is_closed_to_who_was_disabled(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        _, secret = await log_in(backend, firm.ana.email, PASSWORD)
        with psycopg.connect(database.superuser_url) as connection:
            connection.execute("update app_user set disabled_at = now() where id = %s", (firm.ana.id,))
        with pytest.raises(LoginFailed):
            await log_in(backend, firm.ana.email, PASSWORD)
        assert await session_user(backend, secret) is None


_names = itertools.count(1)


def unknown() -> str:
    """A login that there is not, and that nobody has tried before."""
    return f"nobody-{next(_names)}@nowhere.test"


def somewhere() -> str:
    """A network address from which nobody has come before."""
    return f"198.51.{next(_names) % 250}.{next(_names) % 250}"


async def failing(backend: Backend, email: str, times: int, address: str | None = None) -> None:
    for _ in range(times):
        with pytest.raises(LoginFailed):
            await log_in(backend, email, WRONG, address)


async def waits(backend: Backend, email: str, password: str, address: str | None = None) -> int:
    """How many seconds whoever tries this has to wait."""
    with pytest.raises(TooManyLogins) as error:
        await log_in(backend, email, password, address)
    seconds: int = error.value.detail["seconds"]
    return seconds


class TestThrottle:
    async def test_makes_a_name_wait_after_ten_failures(self, backend: Backend, firm: FirmOfTest) -> None:
        await failing(backend, firm.ana.email, OF_ACCOUNT)
        for password in (WRONG, PASSWORD):
            assert 0 < await waits(backend, firm.ana.email.upper(), password) <= 30
        user, _ = await log_in(backend, firm.ben.email, PASSWORD)
        assert user == firm.ben, "others do not wait"

    async def test_leaves_alone_who_is_logged_in(self, backend: Backend, firm: FirmOfTest) -> None:
        _, secret = await log_in(backend, firm.ana.email, PASSWORD)
        await failing(backend, firm.ana.email, OF_ACCOUNT)
        await waits(backend, firm.ana.email, PASSWORD)
        assert await session_user(backend, secret) == firm.ana

    async def test_tells_nothing_of_which_names_there_are(self, backend: Backend, firm: FirmOfTest) -> None:
        nobody = unknown()
        for email in (nobody, firm.ana.email):
            await failing(backend, email, OF_ACCOUNT)
        assert abs(await waits(backend, nobody, WRONG) - await waits(backend, firm.ana.email, WRONG)) <= 2

    async def test_counts_as_many_as_are_tried_at_once(self, backend: Backend, firm: FirmOfTest) -> None:
        tried = await asyncio.gather(
            *(log_in(backend, firm.ana.email, WRONG) for _ in range(3 * OF_ACCOUNT)), return_exceptions=True
        )
        kinds = Counter(type(error) for error in tried)
        assert kinds == {LoginFailed: OF_ACCOUNT, TooManyLogins: 2 * OF_ACCOUNT}

    async def test_is_one_for_all_servers(self, backend: Backend, firm: FirmOfTest, database: TestDatabase) -> None:
        await failing(backend, firm.ana.email, OF_ACCOUNT)
        async with opened(make_backend(backend.settings, database.place)) as other:
            await waits(other, firm.ana.email, PASSWORD)

    async def test_forgets_after_success(self, backend: Backend, firm: FirmOfTest) -> None:
        for _ in range(2):
            await failing(backend, firm.ana.email, OF_ACCOUNT - 1)
            await log_in(backend, firm.ana.email, PASSWORD)

    async def test_lets_one_more_try_every_half_minute(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        await failing(backend, firm.ana.email, OF_ACCOUNT)
        earlier(database, timedelta(seconds=31))
        await failing(backend, firm.ana.email, 1)
        await waits(backend, firm.ana.email, PASSWORD)
        earlier(database, timedelta(minutes=6))
        await failing(backend, firm.ana.email, OF_ACCOUNT)

    async def test_makes_an_address_wait_whatever_names_it_tries(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        here = somewhere()
        await failing(backend, unknown(), 2, here)
        used_up(database)
        assert 0 < await waits(backend, firm.ana.email, PASSWORD, here) <= 3
        user, _ = await log_in(backend, firm.ana.email, PASSWORD, somewhere())
        assert user == firm.ana, "from elsewhere nobody waits, and what was refused here is not counted there"

    async def test_allows_an_address_more_than_a_name(self, backend: Backend, firm: FirmOfTest) -> None:
        here = somewhere()
        for _ in range(OF_ACCOUNT + 5):
            await failing(backend, unknown(), 1, here)
        assert OF_ADDRESS == 10 * OF_ACCOUNT

    @pytest.mark.parametrize(
        ("first", "same", "other"),
        [
            ("2001:db8:7:1::1", "2001:db8:7:1:ffff::2", "2001:db8:7:2::1"),
            ("203.0.113.77", "::ffff:203.0.113.77", "203.0.113.78"),
            ("a socket", "a socket", "another"),
        ],
    )
    async def test_takes_what_one_customer_has_for_one_address(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase, first: str, same: str, other: str
    ) -> None:
        await failing(backend, unknown(), 1, first)
        used_up(database)
        await waits(backend, firm.ana.email, PASSWORD, same)
        await log_in(backend, firm.ana.email, PASSWORD, other)

    async def test_keeps_hashes_alone_and_not_for_long(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        here = somewhere()
        await failing(backend, firm.ana.email, 1, here)
        with psycopg.connect(database.superuser_url) as connection:
            rows = connection.execute("select * from login_attempt").fetchall()
        assert rows and not any(text in str(rows) for text in (here, firm.ana.email, "ana"))
        earlier(database, timedelta(minutes=10))
        for _ in range(1 + len(rows) // 20):
            await attempt_failed(backend)
        with psycopg.connect(database.superuser_url) as connection:
            old = "select count(*) from login_attempt where spent_until < now()"
            assert connection.execute(old).fetchone() == (0,)


def used_up(database: TestDatabase) -> None:
    """Let whatever is counted have failed as often as it may."""
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute("update login_attempt set spent_until = now() + interval '5 minutes'")


def earlier(database: TestDatabase, by: timedelta) -> None:
    """Let every attempt lie further back."""
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute("update login_attempt set spent_until = spent_until - %s", (by,))


class TestSession:
    async def test_ends_at_once_when_its_lawyer_logs_out(self, backend: Backend, firm: FirmOfTest) -> None:
        _, one = await log_in(backend, firm.ana.email, PASSWORD)
        _, other = await log_in(backend, firm.ana.email, PASSWORD)
        await log_out(backend, one)
        assert await session_user(backend, one) is None
        assert await session_user(backend, other) == firm.ana
        await log_out(backend, one)

    async def test_ends_after_fourteen_days(self, backend: Backend, firm: FirmOfTest, database: TestDatabase) -> None:
        _, secret = await log_in(backend, firm.ana.email, PASSWORD)
        found = await find(backend.database, backend.secret_key, Kind.SESSION, secret)
        assert found is not None
        with psycopg.connect(database.superuser_url) as connection:
            key = "lookup_key where kind = 'session' and subject_id = %s"
            (expires,) = connection.execute(f"select expires_at from {key}".encode(), (found.subject_id,)).fetchone()  # type: ignore[misc]  # the row is there
            assert abs(expires - datetime.now(UTC) - SESSION_LIFE) < timedelta(minutes=1)
            late = "update lookup_key set expires_at = now() where kind = 'session' and subject_id = %s"
            connection.execute(late, (found.subject_id,))
        assert await session_user(backend, secret) is None

    @pytest.mark.parametrize("secret", ["", "north_session_x", "\0", "\ud800", "a" * 100_000])
    async def test_is_nobodys_when_unknown(self, backend: Backend, secret: str) -> None:
        assert await session_user(backend, secret) is None
        await log_out(backend, secret)

    async def test_is_stored_as_a_keyed_hash_alone(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        _, secret = await log_in(backend, firm.ana.email, PASSWORD)
        everything = dump(database)
        assert holds(everything, firm.ana.email), "the search finds what is there"
        for hidden in (secret, secret.removeprefix("north_session_"), PASSWORD):
            assert not holds(everything, hidden)
        assert "$argon2id$" in everything

    async def test_secret_is_none_of_another_key(self, backend: Backend, firm: FirmOfTest) -> None:
        _, secret = await log_in(backend, firm.ana.email, PASSWORD)
        assert await find(backend.database, b"another key", Kind.SESSION, secret) is None
        assert await find(backend.database, backend.secret_key, Kind.TOKEN, secret) is None
