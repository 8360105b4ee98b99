"""An export on its way through a thread of its own: reading and parsing hold up nothing else."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import BinaryIO, ParamSpec, TypeVar

from north.connectors.chat_history.export import Export, open_export
from north.connectors.chat_history.shapes import Conversation, ExplicitMemory, Item

Given = ParamSpec("Given")
Result = TypeVar("Result")

SLICE_ITEMS = 100
SLICE_CHARACTERS = 2_000_000
SLICE_SECONDS = 0.25


class Reader:
    """What an export holds, a slice at a time. Whatever is run by it runs in its one thread, one after the other."""

    def __init__(self, executor: ThreadPoolExecutor) -> None:
        self._executor = executor
        self._items: Iterator[Item] = iter(())
        self._export: Export | None = None
        self._before, self._after, self._share = 0.0, 0.0, 0.0

    async def run(self, work: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
        """Run `work` in the reader's thread."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, lambda: work(*args, **kwargs))

    def open(self, stack: ExitStack, path: Path, name: str) -> None:
        """Open the export; in the thread."""
        self._export = stack.enter_context(open_export(path, name))
        self._items = iter(self._export)

    async def slice(self) -> list[Item]:
        """The next items, as many as come in a moment; none at the end."""
        self._before, self._share = self._after, 0.0
        items = await self.run(self._slice)
        self._after = self._read
        return items

    def _slice(self) -> list[Item]:
        items: list[Item] = []
        room, until = SLICE_CHARACTERS, time.monotonic() + SLICE_SECONDS
        for item in self._items:
            items.append(item)
            room -= _size(item)
            if len(items) >= SLICE_ITEMS or room < 0 or time.monotonic() > until:
                break
        return items

    def dealt_with(self, share: float) -> None:
        """Note how much of the current slice is dealt with, from 0 to 1."""
        self._share = share

    @property
    def progress(self) -> float:
        """How much of the file is dealt with, from 0 to 1. A slice is read in a moment, and may keep a model long."""
        return self._before + self._share * (self._after - self._before)

    @property
    def _read(self) -> float:
        if self._export is None or not self._export.size:
            return 0.0
        read, whole = self._export.position, self._export.size
        return min(1.0, read / whole)


def _size(item: Item) -> int:
    match item:
        case Conversation():
            return sum(len(turn.text) for turn in item.turns)
        case ExplicitMemory():
            return len(item.text)
        case _:
            return 0


@asynccontextmanager
async def reading(path: Path, name: str) -> AsyncIterator[Reader]:
    """An export that is open for the time of the block.

    Raises:
        ExportNotRecognised, ExportRefused: it is refused as a whole.
    """
    executor, stack = ThreadPoolExecutor(1, thread_name_prefix="north-import"), ExitStack()
    reader = Reader(executor)
    try:
        await reader.run(reader.open, stack, path, name)
        yield reader
    finally:
        try:
            await reader.run(stack.close)  # in the same thread, so after what it is still at
        finally:
            executor.shutdown(wait=False)


@contextmanager
def temporary_file() -> Iterator[tuple[BinaryIO, Path]]:
    """A file for the time of the block, and a path that opens it.

    Where the system can, it never has a name of its own, so that it is gone with the process, whatever ends that.
    """
    with tempfile.TemporaryFile() as file:
        path = Path(f"/proc/self/fd/{file.fileno()}")
        if path.exists():
            yield file, path
            return
    with tempfile.TemporaryDirectory(prefix="north-import-") as folder:
        path = Path(folder) / "export"
        with path.open("w+b") as named:
            yield named, path
