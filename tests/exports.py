"""Exports for tests of the surfaces, and what the worker does with them."""

from __future__ import annotations

import io
import zipfile
from uuid import UUID

from north.chat.importing import run_import
from north.chat.mining import make_miner
from north.memory.backend import Backend
from north.model import Caller, Import
from tests.conftest import shared_data


def chatgpt_shards() -> bytes:
    """A zip of the shards among the public data.

    Four explicit memories, which are saved; two conversations without anything to remember, and one that is broken.
    """
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(shared_data("imports/chatgpt/split").glob("*.json")):
            archive.writestr(path.name, path.read_bytes())
    return target.getvalue()


async def read(backend: Backend, caller: Caller, import_id: UUID | str) -> Import:
    """Do what the worker's job does, with the offline rules."""
    return await run_import(make_miner(backend, None), caller, UUID(str(import_id)))
