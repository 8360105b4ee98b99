"""Logs that tell what happened and where, and never a memory, a message or a secret.

The message of an exception may hold what somebody said: Postgres names the values that it refuses. So a fault is logged
by its kind and its place alone, whoever logs it, libraries included.
"""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Any

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger


def fault(error: BaseException) -> dict[str, Any]:
    """What a log may say of an exception: its kind and its causes', Postgres's code, and where it came from."""
    causes = [error]
    while cause := causes[-1].__cause__:
        causes.append(cause)
    return {
        "error": " < ".join(type(cause).__qualname__ for cause in causes),
        "sqlstate": next((cause.sqlstate for cause in causes if hasattr(cause, "sqlstate")), None),
        "frames": [f"{frame.filename}:{frame.lineno} {frame.name}" for cause in causes for frame in _frames(cause)],
    }


def _frames(error: BaseException) -> traceback.StackSummary:
    return traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__), lookup_lines=False)


def _without_values(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Replace an exception by what a log may say of it."""
    found = event.pop("exc_info", None)
    if found:
        error = (
            found if isinstance(found, BaseException) else (found[1] if isinstance(found, tuple) else sys.exc_info()[1])
        )
        if error is not None:
            event.update(fault(error))
    return event


def printable(text: str) -> str:
    """`text` for a terminal or a log: what would move the cursor, colour, hide or turn round is shown as its code.

    Line ends stay; everything else that is not printable, as Unicode has it, becomes `\\x1b`, `\\u202e` and the like.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(each if each.isprintable() or each == "\n" else _code(each) for each in text)


def _code(character: str) -> str:
    return character.encode("unicode_escape").decode()


_LOGFMT = structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"], drop_missing=True)


def _line(logger: WrappedLogger, method: str, event: EventDict) -> str:
    """An event as one line, in which nothing can begin another one."""
    return printable(_LOGFMT(logger, method, event)).replace("\n", "\\n")


def _is_not_told_already(record: logging.LogRecord) -> bool:
    """False for what the database driver says of an error that it leaves aside, since it has raised another."""
    return not str(record.msg).startswith("error ignored")


def configure_logging() -> None:
    """Log to standard error, North's own events and the warnings of libraries, each as one line of key=value."""
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _without_values,
    ]
    structlog.configure(
        processors=[*shared, _line],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),  # scripts read what commands print on stdout
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *shared, _line],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("psycopg").addFilter(_is_not_told_already)
    # When a line cannot be written, `logging` would print the exception that it was about, values and all.
    logging.raiseExceptions = False
