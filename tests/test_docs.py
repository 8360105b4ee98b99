"""The reference pages name everything that there is, and nothing that there is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic.fields import FieldInfo
from typer.core import TyperOption

from north.api.description import describe_api
from north.api.site import make_api
from north.assembly import Place, make_backend
from north.chat.assistant import make_assistant
from north.chat.models import make_model
from north.errors import NorthError
from north.settings import Settings
from north.statuses import status_of
from tests.commands import every_command
from tests.conftest import SECRET_KEY

DOCS = Path(__file__).parent.parent / "docs"


def sections(page: str) -> dict[str, str]:
    """The text under each second-level heading."""
    _, *parts = re.split(r"^## ", (DOCS / page).read_text(), flags=re.MULTILINE)
    return {heading.strip(): text for heading, _, text in (part.partition("\n") for part in parts)}


def rows(page: str) -> Iterator[list[str]]:
    """The cells of each row of each table."""
    for line in (DOCS / page).read_text().splitlines():
        if line.startswith("| "):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def variable(name: str, field: FieldInfo) -> str:
    return name.upper() if field.validation_alias else f"NORTH_{name.upper()}"


SETTINGS = {variable(name, field): field for name, field in Settings.model_fields.items()}
COMMANDS = {" ".join(("north", *path)): command for path, command in every_command().items()}


def kinds(kind: type[NorthError] = NorthError) -> Iterator[type[NorthError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from kinds(child)


class TestSettings:
    page = "operators/settings.md"

    def test_each_has_its_heading_and_no_heading_is_left_over(self) -> None:
        assert list(sections(self.page)) == list(SETTINGS)

    @pytest.mark.parametrize("name", SETTINGS)
    def test_a_default_is_the_one_that_is_written_there(self, name: str) -> None:
        field = SETTINGS[name]
        if field.default_factory is None and field.default is not None:
            assert f"Default: `{field.default}`" in sections(self.page)[name]


class TestCommands:
    page = "operators/commands.md"

    def test_each_has_its_heading_and_no_heading_is_left_over(self) -> None:
        assert sorted(sections(self.page)) == sorted(COMMANDS)

    @pytest.mark.parametrize("name", COMMANDS)
    def test_each_option_is_listed_and_none_is_left_over(self, name: str) -> None:
        options = {each.opts[0] for each in COMMANDS[name].params if isinstance(each, TyperOption)} - {"--help"}
        assert set(re.findall(r"^- `(--[a-z-]+)`", sections(self.page)[name], re.MULTILINE)) == options


class TestRest:
    page = "developers/rest.md"

    def test_each_call_has_its_row_and_no_row_is_left_over(self) -> None:
        settings = Settings(model="offline", embedder="none")
        backend = make_backend(settings, Place("postgresql://nowhere", SECRET_KEY))
        api = make_api(backend, make_assistant(backend, make_model("offline", settings)))
        calls = {
            f"`{method.upper()} {path.removeprefix('/api/v1')}`"
            for path, methods in describe_api(api, "/api")["paths"].items()
            for method in methods
        }
        documented = {cells[0] for cells in rows(self.page) if re.match("`(GET|POST|PATCH|PUT|DELETE) /", cells[0])}
        assert documented == calls


class TestErrors:
    page = "developers/errors.md"

    def test_each_code_has_its_row_and_no_row_is_left_over(self) -> None:
        documented = {cells[0] for cells in rows(self.page) if cells[0].startswith("`")}
        assert documented == {f"`{kind.code}`" for kind in kinds()}

    def test_each_status_is_the_one_that_is_sent(self) -> None:
        sent = {f"`{kind.code}`": str(status_of(kind).value) for kind in kinds()}
        assert {cells[0]: cells[1] for cells in rows(self.page) if cells[0].startswith("`")} == sent

    def test_the_failures_of_the_rest_page_are_among_them(self) -> None:
        listed = {
            (code, cells[0])
            for cells in rows("developers/rest.md")
            if cells[0].isdigit()
            for code in cells[1].split(", ")
        }
        assert listed <= {(cells[0], cells[1]) for cells in rows(self.page)}
