"""The firm's matters."""

from __future__ import annotations

import asyncio

import pytest

from north.errors import AlreadyExists, InvalidInput, MatterNotFound
from north.memory.backend import Backend
from north.memory.matters import create_matter, get_matter, list_matters
from north.model import Matter, new_id
from tests.conftest import FirmOfTest


async def test_a_matter_is_found_by_number_and_by_id(backend: Backend, firm: FirmOfTest) -> None:
    for reference in ("HV-1001", " HV-1001 ", str(firm.matter.id), str(firm.matter.id).upper()):
        assert (await get_matter(backend, firm.b, reference)).id == firm.matter.id


@pytest.mark.parametrize("reference", ["HV-9", "hv-1001", "", " ", "HV\0", "\ud800", "%", "x" * 65])
async def test_what_the_firm_does_not_have_is_not_found(backend: Backend, firm: FirmOfTest, reference: str) -> None:
    with pytest.raises(MatterNotFound):
        await get_matter(backend, firm.a, reference)


async def test_another_firms_matter_is_one_that_does_not_exist(
    backend: Backend, firm: FirmOfTest, rival: FirmOfTest
) -> None:
    told = []
    for matter_id in (rival.matter.id, new_id()):
        with pytest.raises(MatterNotFound) as error:
            await get_matter(backend, firm.a, str(matter_id))
        told.append((str(error.value), error.value.detail))
    assert told[0] == told[1]


async def test_a_number_is_unique_in_its_firm(backend: Backend, firm: FirmOfTest, rival: FirmOfTest) -> None:
    await create_matter(backend, rival.a, "HV-7", "Theirs")
    made = await create_matter(backend, firm.a, " HV-7 ", " Ours ")
    assert (made.number, made.name) == ("HV-7", "Ours")
    with pytest.raises(AlreadyExists, match="HV-7"):
        await create_matter(backend, firm.b, "HV-7", "Again")


async def test_of_ten_who_open_it_at_once_one_does(backend: Backend, firm: FirmOfTest) -> None:
    answers = await asyncio.gather(
        *(create_matter(backend, firm.a, "HV-8", f"Name {n}") for n in range(10)), return_exceptions=True
    )
    assert sum(isinstance(answer, Matter) for answer in answers) == 1
    assert sum(isinstance(answer, AlreadyExists) for answer in answers) == 9


@pytest.mark.parametrize(
    ("number", "name"),
    [("", "Name"), ("HV-9", " "), ("x" * 65, "Name"), ("HV-9", "x" * 201), ("HV\n9", "Name"), ("HV-9", "a\ud800")],
)
async def test_number_and_name_are_short_lines(backend: Backend, firm: FirmOfTest, number: str, name: str) -> None:
    with pytest.raises(InvalidInput):
        await create_matter(backend, firm.a, number, name)


class TestListing:
    async def test_is_newest_first_and_the_firms_alone(
        self, backend: Backend, firm: FirmOfTest, rival: FirmOfTest
    ) -> None:
        await create_matter(backend, rival.a, "HV-7", "Theirs")
        assert [matter.number for matter in await list_matters(backend, firm.b)] == ["HV-1002", "HV-1001"]
        assert [matter.number for matter in await list_matters(backend, firm.b, limit=1)] == ["HV-1002"]

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("harbor", ["HV-1001"]),
            ("VANCE hv-", ["HV-1001"]),
            ("HV", ["HV-1002", "HV-1001"]),
            ("  ", ["HV-1002", "HV-1001"]),
            ("harbor holloway", []),
            ("%", []),
            ("_", []),
            ("\\", []),
            ("\0", ["HV-1002", "HV-1001"]),
            ("\ud800 harbor", ["HV-1001"]),
        ],
    )
    async def test_searches_number_and_name_for_every_word(
        self, backend: Backend, firm: FirmOfTest, query: str, found: list[str]
    ) -> None:
        assert [matter.number for matter in await list_matters(backend, firm.a, query)] == found
