"""Firms and lawyers, as the operator sets them up."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest

from north.access.demo import seed_demo
from north.access.firms import add_user, create_firm, find_firm, find_user
from north.access.login import log_in
from north.assembly import make_backend, opened
from north.errors import AlreadyExists, FirmNotFound, InvalidInput, UserNotFound
from north.memory.backend import Backend
from north.memory.matters import list_matters
from north.model import Caller, Origin
from north.settings import Settings
from tests.access.stored import dump, holds
from tests.conftest import PASSWORD, FirmOfTest, TestDatabase


class TestFirm:
    async def test_is_found_by_its_short_name(self, backend: Backend, firm: FirmOfTest) -> None:
        assert await find_firm(backend, firm.slug) == firm.a.organization_id
        with pytest.raises(FirmNotFound, match="north firm create"):
            await find_firm(backend, "nobody-and-sons")

    async def test_has_a_short_name_of_its_own(self, backend: Backend, firm: FirmOfTest) -> None:
        with pytest.raises(AlreadyExists, match=firm.slug):
            await create_firm(backend, firm.slug, "Another")
        made = await asyncio.gather(
            *(create_firm(backend, "founded-at-once", "One") for _ in range(5)), return_exceptions=True
        )
        assert sum(isinstance(each, UUID) for each in made) == 1

    @pytest.mark.parametrize("slug", ["", "Demo", "de mo", "-demo", "x" * 64, "démo", "demo\n", "\0"])
    async def test_has_a_short_name_that_can_be_typed(self, backend: Backend, slug: str) -> None:
        with pytest.raises(InvalidInput):
            await create_firm(backend, slug, "Name")

    @pytest.mark.parametrize("name", ["", " ", "x" * 201, "two\nlines", "a\ud800"])
    async def test_has_a_name_of_one_line(self, backend: Backend, name: str) -> None:
        with pytest.raises(InvalidInput):
            await create_firm(backend, "unnamed", name)
        with pytest.raises(FirmNotFound):
            await find_firm(backend, "unnamed")


class TestUser:
    async def test_logs_in_with_any_spelling_of_the_address(self, backend: Backend, firm: FirmOfTest) -> None:
        added = await add_user(
            backend, firm.a.organization_id, f" New@{firm.slug}.TEST ", "New Person", PASSWORD, "admin"
        )
        assert (added.email, added.name, added.role) == (f"new@{firm.slug}.test", "New Person", "admin")
        assert await find_user(backend, f"NEW@{firm.slug}.test") == added
        user, _ = await log_in(backend, added.email, PASSWORD)
        assert user == added

    async def test_of_another_firm_with_the_same_address_is_refused(
        self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest, database: TestDatabase
    ) -> None:
        for organization_id in (rival.a.organization_id, firm.a.organization_id):
            with pytest.raises(AlreadyExists):
                await add_user(backend, organization_id, firm.ana.email.upper(), "Impostor", PASSWORD)
        assert await find_user(backend, firm.ana.email) == firm.ana
        assert "Impostor" not in dump(database)

    @pytest.mark.parametrize("email", ["", "nobody", "a b@c.test", "@c.test", "a@", "a@b@c", "x" * 300 + "@c.test"])
    async def test_has_an_address(self, backend: Backend, firm: FirmOfTest, email: str) -> None:
        with pytest.raises(InvalidInput, match="e-mail"):
            await add_user(backend, firm.a.organization_id, email, "Name", PASSWORD)

    @pytest.mark.parametrize("email", ["a\0@c.test", "a\ud800@c.test"])
    async def test_has_an_address_that_is_text(self, backend: Backend, firm: FirmOfTest, email: str) -> None:
        with pytest.raises(InvalidInput):
            await add_user(backend, firm.a.organization_id, email, "Name", PASSWORD)

    @pytest.mark.parametrize("password", ["", "too short", "x" * 201, "half a \ud800 sign"])
    async def test_has_a_password_of_10_to_200_characters(
        self, backend: Backend, firm: FirmOfTest, password: str
    ) -> None:
        with pytest.raises(InvalidInput, match=r"password has 10 to 200|lone surrogate"):
            await add_user(backend, firm.a.organization_id, "weak@firm.test", "Name", password)

    async def test_is_a_lawyer_or_an_admin(self, backend: Backend, firm: FirmOfTest) -> None:
        with pytest.raises(InvalidInput, match="role"):
            await add_user(backend, firm.a.organization_id, "x@firm.test", "Name", PASSWORD, "owner")

    async def test_that_nobody_knows_is_an_error_that_says_what_to_do(self, backend: Backend) -> None:
        with pytest.raises(UserNotFound, match="north user add"):
            await find_user(backend, "nobody@nowhere.test")

    async def test_password_and_address_are_not_in_the_lookup_table(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        assert not holds(dump(database), PASSWORD)


async def test_the_demo_is_seeded_once(fresh_database: TestDatabase) -> None:
    async with opened(make_backend(Settings(model="offline", embedder="none"), fresh_database.place)) as backend:
        assert await seed_demo(backend, PASSWORD) is True
        assert await seed_demo(backend, PASSWORD) is False
        for email in ("lawyer-a@demo.test", "lawyer-b@demo.test", "admin@demo.test", "lawyer@rival.test"):
            user, _ = await log_in(backend, email, PASSWORD)
        demo = await find_user(backend, "lawyer-a@demo.test")
        matters = await list_matters(backend, Caller(demo.organization_id, demo.id, Origin.API))
        assert [matter.number for matter in matters] == ["HV-1001", "HV-1002"]
        assert user.organization_id != demo.organization_id
