"""Options and manners that the commands share."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, ParamSpec

import typer
from pydantic import ValidationError

from north.errors import Misconfigured, NorthError
from north.logs import printable
from north.settings import Settings, read_settings

Parameters = ParamSpec("Parameters")

DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="The embedded server's data folder; default: NORTH_DATA_DIR.", show_default=False),
]
Port = Annotated[
    int | None, typer.Option(help="The port to listen on; default: NORTH_PORT, else 8400.", min=1, max=65535)
]
Host = Annotated[str | None, typer.Option(help="The address to listen on; default: NORTH_HOST, else 127.0.0.1.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Firm = Annotated[str, typer.Option(help="The firm's short name.")]


def plain_errors(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Print what a person can act on instead of a traceback, and exit with 1."""

    @functools.wraps(command)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except NorthError as error:
            show(f"north: {error}", err=True)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            raise typer.Exit(130) from None

    return run


def settings_with(**options: object) -> Settings:
    """The settings, with the options that were given.

    Raises:
        Misconfigured: with what is wrong about each; values are not quoted, since some are secrets.
    """
    try:
        return read_settings(**options)
    except ValidationError as error:
        wrong = [f"{_setting(str(each['loc'][0]))}: {each['msg']}" for each in error.errors(include_input=False)]
        raise Misconfigured(reason="; ".join(wrong)) from None


def _setting(field: str) -> str:
    return f"NORTH_{field.upper()}" if field in Settings.model_fields else field


def say(as_json: bool, sentence: str, values: dict[str, object]) -> None:
    """Print a sentence for people, or the values for scripts."""
    show(json.dumps(values) if as_json else sentence)


def show(text: str, *, err: bool = False) -> None:
    """Print `text`, of which nothing can act on the terminal: names and titles come from all kinds of places."""
    typer.echo(printable(text), err=err)
