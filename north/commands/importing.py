"""An export on this machine, read where it lies: a bar that moves, and a report in words or as JSON."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import typer

from north.access.firms import find_user
from north.api.shapes import import_shape
from north.chat.exports import temporary_file
from north.chat.importing import run_import
from north.chat.mining import configured_miner
from north.commands.options import say, show
from north.errors import ImportEmpty, ImportTooLarge, InvalidInput, NorthError
from north.memory.backend import Backend
from north.memory.imports import IMPORT_LIMIT, begin, cancel_import
from north.model import Caller, Import, ImportStatus, Origin
from north.settings import Settings
from north.web.import_wording import report_in_words

Result = TypeVar("Result")
OnProgress = Callable[[Import], None]

STANDARD_INPUT = "-"
_STEPS = 1000


@contextmanager
def opened_file(name: str) -> Iterator[Path]:
    """The file that was named, or what comes by standard input.

    Raises:
        InvalidInput: there is no such file, or it cannot be read.
        ImportEmpty, ImportTooLarge: it cannot be imported.
    """
    if name != STANDARD_INPUT:
        try:
            with Path(name).open("rb"):
                _check_size(Path(name))
        except OSError as error:
            raise InvalidInput(reason=f"{name} cannot be read: {error.strerror}") from error
        yield Path(name)
        return
    with temporary_file() as (file, path):
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        _check_size(path)
        yield path


def _check_size(path: Path) -> None:
    size = path.stat().st_size
    if size == 0:
        raise ImportEmpty
    if size > IMPORT_LIMIT:
        raise ImportTooLarge(limit=IMPORT_LIMIT)


@contextmanager
def shown_progress() -> Iterator[OnProgress]:
    """A bar on a terminal; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with typer.progressbar(length=_STEPS, label="Importing", file=sys.stderr) as bar:

        def move(current: Import) -> None:
            bar.update(max(0, round(current.progress * _STEPS) - bar.pos))

        yield move


async def bring_in(
    backend: Backend, settings: Settings, email: str, path: Path, file_name: str, on_progress: OnProgress
) -> Import:
    """Import a file of this machine for a lawyer. Stopped, it is cancelled: what was saved stays.

    Raises:
        UserNotFound: nobody logs in with this address.
        Unavailable: the model or the database failed; what was saved stays.
    """
    user = await find_user(backend, email)
    caller = Caller(user.organization_id, user.id, Origin.IMPORT)
    miner = configured_miner(backend, settings)
    current = await begin(backend, caller, file_name)
    try:
        return await run_import(miner, caller, current.id, path, on_progress)
    except BaseException:  # Ctrl-C among them: whatever ends the command ends its import
        with suppress(NorthError):
            await cancel_import(backend, caller, current.id)
        raise


def interrupted(work: Callable[[], Result]) -> Result:
    """Run `work`; when it is stopped by hand, say how to go on."""
    try:
        return work()
    except (KeyboardInterrupt, asyncio.CancelledError):
        typer.echo("\nStopped. What was saved stays; run the command again to go on where it was.", err=True)
        raise KeyboardInterrupt from None


def report(result: Import, *, as_json: bool) -> None:
    """Print what became of it, for people or as `GET /imports/{id}` gives it; a failure goes to standard error."""
    if result.status is ImportStatus.FAILED and not as_json:
        show(f"north: {result.error}", err=True)
    else:
        say(as_json, _in_words(result), import_shape(result).model_dump(mode="json"))


def _in_words(result: Import) -> str:
    report = result.report
    lines = [f"{result.status.value.capitalize()}. {report_in_words(report)}"]
    lines += [f"  failed: {each.conversation}: {each.reason}" for each in report.failed]
    lines += ["  …"] if report.failed_count > len(report.failed) else []
    return "\n".join([*lines, f"{report.memories} saved as memories."])
