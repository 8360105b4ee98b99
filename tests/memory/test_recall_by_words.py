"""Recall where vectors are missing, of another model, or not to be had: words alone find what was said."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import psycopg
import pytest
from structlog.testing import capture_logs

from north.assembly import make_backend, opened
from north.connectors.embeddings import Vector
from north.errors import EmbedderUnavailable
from north.memory.backend import Backend
from north.memory.embedding import Backlog, embed_stored
from north.memory.recall import recall
from north.memory.vector_cache import VectorCache
from north.model import Memory
from north.settings import Settings
from tests.conftest import FirmOfTest, TestDatabase, make_firm
from tests.memory.remembering import remember, stored

TEXTS = (
    "I always want citations in Bluebook form.",
    "Invoices go out on Fridays.",
    "客户是一家特拉华州的有限责任公司。",
    "听证会定于六月三日举行。",
    "ลูกความเป็นบริษัทจำกัดในรัฐเดลาแวร์",
    "การพิจารณาคดีจะมีขึ้นในวันที่สามมิถุนายน",
    "Die Klagefrist läuft am 14. Juni ab.",
    "Der Mandant wünscht kurze Schriftsätze.",
    "原告の代理人は田中弁護士です。",
    "피고는 서울에 본사를 두고 있습니다.",
    "Истец просит отложить заседание.",
    "For 王伟 the Vertrag is governed by Swiss law.",
)


@pytest.fixture(scope="module")
async def wordy(database: TestDatabase) -> AsyncIterator[Backend]:
    """North without an embedder, on the same database."""
    async with opened(make_backend(Settings(model="offline", embedder="none"), database.place)) as running:
        yield running


@pytest.fixture(scope="module")
async def polyglot(wordy: Backend, password_hash: str) -> FirmOfTest:
    """A firm whose Ana speaks many languages."""
    firm = await make_firm(wordy, password_hash)
    for text in TEXTS:
        await remember(wordy, firm.a, text)
    return firm


class LostEmbedder:
    """An embedder whose model never answers."""

    name = "lost"
    local = True
    available = True

    async def warm(self) -> None:
        """Nothing to load."""

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> list[Vector]:
        raise EmbedderUnavailable(reason="it is gone")

    async def aclose(self) -> None:
        """Nothing to close."""


async def best(backend: Backend, firm: FirmOfTest, query: str) -> Memory:
    return (await recall(backend, firm.a, query)).personal[0].memory


class TestLanguages:
    @pytest.mark.parametrize(
        ("query", "text"),
        [
            ("Which form do my citations have?", TEXTS[0]),
            ("特拉华州", TEXTS[2]),
            ("听证会是什么时候？", TEXTS[3]),
            ("บริษัทในเดลาแวร์", TEXTS[4]),
            ("วันพิจารณาคดี", TEXTS[5]),
            ("Wann endet die Klagefrist?", TEXTS[6]),
            ("KURZE SCHRIFTSATZE", TEXTS[7]),
            ("田中弁護士は誰ですか", TEXTS[8]),
            ("피고의 본사", TEXTS[9]),
            ("заседание", TEXTS[10]),
            ("王伟", TEXTS[11]),
            ("Swiss Vertrag", TEXTS[11]),
        ],
    )
    async def test_find_what_was_said_in_them(
        self, wordy: Backend, polyglot: FirmOfTest, query: str, text: str
    ) -> None:
        assert (await best(wordy, polyglot, query)).content == text


class TestMissingVectors:
    async def test_of_one_row_hide_it_from_nobody(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        memories = [await remember(backend, firm.a, text) for text in TEXTS[:6]]
        await recall(backend, firm.a, "wait until the vectors are there")
        with psycopg.connect(database.superuser_url) as connection:
            change = b"update agent_memory_candidate set embedding = null, embedding_model = null where id = %s"
            assert connection.execute(change, (memories[0].id,)).rowcount == 1
        started_anew = replace(backend, vector_cache=VectorCache(1))
        found = (await recall(started_anew, firm.a, "Bluebook citations")).personal
        assert found[0].memory.id == memories[0].id and found[0].cosine is None
        assert len(found) == 6 and all(hit.cosine is not None for hit in found[1:])

    async def test_of_another_model_and_size_do_not_disturb(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        memory = await remember(backend, firm.a, TEXTS[0])
        other = await remember(backend, firm.a, TEXTS[1])
        await recall(backend, firm.a, "wait until the vectors are there")
        with psycopg.connect(database.superuser_url) as connection:
            change = b"update agent_memory_candidate set embedding = '[1,2,3]', embedding_model = 'older' where id = %s"
            connection.execute(change, (memory.id,))
        started_anew = replace(backend, vector_cache=VectorCache(1))
        found = (await recall(started_anew, firm.a, "Bluebook citations")).personal
        assert [hit.memory.id for hit in found] == [memory.id, other.id]

    async def test_are_added_later_by_the_worker(
        self, backend: Backend, wordy: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        for text in TEXTS[:3]:
            await remember(wordy, firm.a, text)
        added = await embed_stored(backend.database, backend.embedder, firm.a.organization_id, firm.ana.id)
        assert added == 3
        assert await embed_stored(backend.database, backend.embedder, firm.a.organization_id, firm.ana.id) == 0
        found = (await recall(backend, firm.a, "Bluebook")).personal
        assert all(hit.cosine is not None for hit in found)

    async def test_of_a_colleague_are_not_for_ones_worker_to_read(
        self, backend: Backend, wordy: Backend, firm: FirmOfTest
    ) -> None:
        await remember(wordy, firm.a, TEXTS[0])
        assert await embed_stored(backend.database, backend.embedder, firm.a.organization_id, firm.ben.id) == 0


class TestLostEmbedder:
    async def test_fails_neither_a_save_nor_a_recall(
        self, backend: Backend, firm: FirmOfTest, database: TestDatabase
    ) -> None:
        lost = LostEmbedder()
        running = replace(backend, embedder=lost, backlog=Backlog(backend.database, lost))
        running.backlog.start()
        with capture_logs() as logs:
            memory = await remember(running, firm.a, TEXTS[0])
            found = await recall(running, firm.a, "Bluebook citations")
            await running.backlog.stop()
        assert [(hit.memory.id, hit.cosine) for hit in found.personal] == [(memory.id, None)]
        rows = stored(database, "select embedding_model from agent_memory_candidate where id = %s", memory.id)
        assert rows == [{"embedding_model": None}]
        assert {log["event"] for log in logs} == {"recall_by_words_alone", "embedding_postponed"}
        assert "Bluebook" not in str(logs), "memory text never reaches the logs"


async def test_a_vector_too_long_for_an_index_is_stored_and_hides_its_memory_from_nobody(
    backend: Backend, firm: FirmOfTest, database: TestDatabase
) -> None:
    memories = [await remember(backend, firm.a, text) for text in TEXTS[:6]]
    await backend.backlog.settled(firm.a.organization_id, seconds=60)
    with psycopg.connect(database.superuser_url) as connection:
        change = b"update agent_memory_candidate set embedding = %s, embedding_model = 'wide' where id = %s"
        vector = f"[{','.join(['0.01'] * 3072)}]"
        assert connection.execute(change, (vector, memories[1].id)).rowcount == 1
    found = (await recall(backend, firm.a, TEXTS[1])).personal
    assert found[0].memory.id == memories[1].id and found[0].cosine is None
