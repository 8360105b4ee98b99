"""Which live memory an update means."""

from __future__ import annotations

import pytest

from north.errors import MatterNotFound
from north.memory.backend import Backend
from north.memory.edit import archive, edit
from north.memory.matcher import match
from tests.conftest import FirmOfTest
from tests.memory.remembering import of_firm, on_matter, personal, remember


async def test_means_the_memory_that_says_it(backend: Backend, firm: FirmOfTest) -> None:
    memory = await remember(backend, firm.a, on_matter("The answer is due on 12 June 2026."))
    await remember(backend, firm.a, on_matter("The client is a Delaware LLC."))
    await remember(backend, firm.a, personal("I prefer short memos."))
    meant = await match(backend, firm.a, "the answer is due", "HV-1001")
    assert meant.memory is not None and meant.memory.id == memory.id
    assert meant.candidates == ()


async def test_means_by_sense_what_it_does_not_share_words_with(backend: Backend, firm: FirmOfTest) -> None:
    memory = await remember(backend, firm.a, personal("The attorney's dog is called Rex."))
    await remember(backend, firm.a, personal("Invoices are sent on Fridays."))
    meant = await match(backend, firm.a, "name of the lawyer's dog", None)
    assert meant.memory is not None and meant.memory.id == memory.id


async def test_asks_back_when_several_could_be_meant(backend: Backend, firm: FirmOfTest) -> None:
    first = await remember(backend, firm.a, on_matter("The hearing in Leeds is on 3 June."))
    second = await remember(backend, firm.a, on_matter("The hearing in York is on 4 June."))
    meant = await match(backend, firm.a, "the hearing", "HV-1001")
    assert meant.memory is None
    assert {memory.id for memory in meant.candidates} == {first.id, second.id}


async def test_means_nothing_when_nothing_is_related(backend: Backend, firm: FirmOfTest) -> None:
    await remember(backend, firm.a, personal("Invoices are sent on Fridays."))
    meant = await match(backend, firm.a, "the witness in the boundary dispute", None)
    assert (meant.memory, meant.candidates) == (None, ())


async def test_never_means_firm_memory_nor_a_strangers_nor_what_is_not_live(
    backend: Backend, firm: FirmOfTest, rival: FirmOfTest
) -> None:
    text = "The answer is due on 12 June 2026."
    await remember(backend, firm.a, of_firm(text))
    await remember(backend, firm.b, personal(text))
    await remember(backend, firm.a, on_matter(text, "HV-1002"))
    await remember(backend, rival.a, on_matter(text))
    await archive(backend, firm.a, (await remember(backend, firm.a, on_matter(text))).id)
    old = await remember(backend, firm.a, personal(text))
    await edit(backend, firm.a, old.id, "Nothing of the kind.")
    meant = await match(backend, firm.a, text, "HV-1001")
    assert (meant.memory, meant.candidates) == (None, ())


async def test_an_unknown_matter_is_an_error(backend: Backend, firm: FirmOfTest) -> None:
    with pytest.raises(MatterNotFound):
        await match(backend, firm.a, "the answer", "HV-9")
