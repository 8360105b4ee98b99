"""Logging in on the web, and how a session ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from north.access import login
from north.access.firms import PASSWORDS
from north.access.keys import Kind, find
from north.access.login import ATTEMPTS, SESSION_LIFE, Throttle, log_in, log_out, session_user
from north.errors import LoginFailed, TooManyAttempts
from north.memory.backend import Backend
from tests.access.stored import dump, holds
from tests.conftest import PASSWORD, FirmOfTest, TestDatabase

WRONG = "a" * 201  # no stored password is as long, so that none is hashed and the test is quick


@pytest.fixture(autouse=True)
def fresh_throttle(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test counts its own failures."""
    monkeypatch.setattr(login, "_throttle", Throttle())
    yield


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


class TestThrottle:
    async def test_makes_a_name_wait_after_ten_failures(self, backend: Backend, firm: FirmOfTest) -> None:
        for _ in range(ATTEMPTS):
            with pytest.raises(LoginFailed):
                await log_in(backend, firm.ana.email, WRONG)
        for password in (WRONG, PASSWORD):
            with pytest.raises(TooManyAttempts) as error:
                await log_in(backend, firm.ana.email.upper(), password)
            assert 0 < error.value.detail["seconds"] <= 300
        user, _ = await log_in(backend, firm.ben.email, PASSWORD)
        assert user == firm.ben, "others do not wait"

    async def test_counts_unknown_names_alike(self, backend: Backend) -> None:
        for _ in range(ATTEMPTS):
            with pytest.raises(LoginFailed):
                await log_in(backend, "nobody@nowhere.test", WRONG)
        with pytest.raises(TooManyAttempts):
            await log_in(backend, "nobody@nowhere.test", WRONG)

    def test_forgets_after_success_and_after_five_minutes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        now = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: now)
        throttle = Throttle()
        for name in (b"a", b"b"):
            for _ in range(ATTEMPTS):
                throttle.failed(name)
        throttle.succeeded(b"a")
        throttle.check(b"a")
        with pytest.raises(TooManyAttempts, match="Wait 300 seconds"):
            throttle.check(b"b")
        now += 301
        throttle.check(b"b")

    def test_does_not_grow_without_end(self) -> None:
        throttle = Throttle()
        for number in range(login._REMEMBERED_NAMES + 500):
            throttle.failed(str(number).encode())
        assert len(throttle._failures) == login._REMEMBERED_NAMES


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
