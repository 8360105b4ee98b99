from __future__ import annotations

import itertools
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest

from north.connectors.chat_history import pasted
from north.connectors.chat_history.shapes import Broken, ExplicitMemory
from north.errors import ExportNotRecognised
from tests.connectors.chat_history.building import of_kind, read_text

DAY = datetime(2025, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "line",
    [
        "[2025-03-01] - Prefers New York law.",
        "[2025-03-01] Prefers New York law.",
        "- [2025-03-01] Prefers New York law.",
        "* [2025-03-01]: Prefers New York law.",
        "[2025-03-01]. Prefers New York law.",
        "12. [2025-03-01]. Prefers New York law.",
        "3) [2025-03-01] – Prefers New York law.",
        "2025-03-01 - Prefers New York law.",
        "- 2025-03-01: Prefers New York law.",
        "**[2025-03-01]** - Prefers New York law.",
        "(2025/03/01) Prefers New York law.",
        "  [2025-03-01T00:00:00Z] - Prefers New York law.  ",
    ],
)
def test_every_usual_way_to_write_a_dated_statement_is_read(tmp_path: Path, line: str) -> None:
    [memory] = read_text(tmp_path, line)
    assert isinstance(memory, ExplicitMemory)
    assert (memory.text, memory.at, memory.kind) == ("Prefers New York law.", DAY, "memory")


def test_a_list_with_everything_around_it(tmp_path: Path) -> None:
    text = """Here is what I remember:\r
```\r
# Instructions\r
[2025-03-01] - Prefers New York law\r
  and says so.\r
\r
[unknown] - Bills in tenths.\r
[2025-13-45] - Never on a Sunday.\r
```\r
"""
    memories = of_kind(read_text(tmp_path, text), ExplicitMemory)
    assert [(memory.text, memory.at) for memory in memories] == [
        ("Prefers New York law\r\n  and says so.", DAY),
        ("Bills in tenths.", None),
        ("Never on a Sunday.", None),
    ]


def test_the_same_statement_has_the_same_key_in_another_list(tmp_path: Path) -> None:
    [first] = of_kind(read_text(tmp_path, "[2025-03-01] - Bills in tenths."), ExplicitMemory)
    [again] = of_kind(read_text(tmp_path, "1. [2025-04-01]. Bills in tenths."), ExplicitMemory)
    assert first.key == again.key


@pytest.mark.parametrize(
    "text", ["", "  \n", "Just a letter.\nOf two lines.", "1. Apples\n2. Pears", "2025 was a good year."]
)
def test_a_text_without_dates_is_no_export(tmp_path: Path, text: str) -> None:
    with pytest.raises(ExportNotRecognised):
        read_text(tmp_path, text)


def test_a_statement_that_is_too_long_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pasted, "LONGEST", 200)
    lines = ["[2025-03-01] - One.", "[2025-03-01] - Two.", *["more"] * 100, "[2025-03-01] - Three."]
    found = read_text(tmp_path, "\n".join(lines))
    assert [memory.text for memory in of_kind(found, ExplicitMemory)] == ["One.", "Three."]
    assert [broken.title for broken in of_kind(found, Broken)] == ["Statement 2"]


def test_what_is_too_long_is_not_even_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pasted, "LONGEST", 10_000)
    tracemalloc.start()
    lines = itertools.chain(["[2025-03-01] - One.\n"], (f"more {number}\n" for number in range(100_000)))
    assert list(pasted.statements(lines)) == [(DAY, None)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1_000_000
