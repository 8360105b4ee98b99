"""What another assistant remembered becomes statements that stand alone, and no word of it is lost."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north.chat.explicit import statements, type_of
from north.memory.text import visible
from north.model import CONTENT_LIMIT, MemoryType
from tests.chat.exported import MARCH, remembered

CLAUDE = """**Work context**

User is a partner in the M&A group. She drafts NDAs
and reads them in the evening.

**Preferences**

- Prefers Bluebook form.
- Tools:
  - Word
  - a dictation
    machine
1. Lives in Bonn.
"""


def test_lists_lines_and_paragraphs_stand_alone_under_their_headings() -> None:
    assert statements(CLAUDE) == [
        "Work context: User is a partner in the M&A group. She drafts NDAs and reads them in the evening.",
        "Preferences: Prefers Bluebook form.",
        "Preferences: Tools: Word",
        "Preferences: Tools: a dictation machine",
        "Preferences: Lives in Bonn.",
    ]


def test_each_line_of_a_profile_is_a_statement() -> None:
    assert statements("Preferred name: Ana\nRole: **partner**\nI bill in tenths.") == [
        "Preferred name: Ana",
        "Role: partner",
        "I bill in tenths.",
    ]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("", []),
        ("  \n\n---\n", []),
        ("# Only a heading", ["Only a heading"]),
        ("One.\r\n\r\nTwo.", ["One.", "Two."]),
        ("## A\n### B\n- x\n## C\n- y", ["A: B: x", "C: y"]),
        ("Likes:\n- cats\n- dogs\n\nLives in Bonn.", ["Likes: cats", "Likes: dogs", "Lives in Bonn."]),
        ("Likes:\nCats.\nLives in Bonn.", ["Likes: Cats.", "Lives in Bonn."]),
        ("\u200b\n- \u2060", []),
    ],
    ids=["empty", "blank", "heading", "windows", "nested", "colon", "colon and line", "invisible"],
)
def test_shapes(document: str, expected: list[str]) -> None:
    assert statements(document) == expected


def test_what_is_too_long_is_split_between_sentences() -> None:
    text = "The lawyer has read this sentence more than once. " * 100
    parts = statements(text)
    assert len(parts) == 3
    assert all(part.endswith("once.") and len(part) <= CONTENT_LIMIT for part in parts)


PIECE = st.sampled_from(
    ["\n", "\n\n", "# ", "## ", "**", "- ", "1. ", "  ", "\t", ": ", ":", ". ", "---", "é", "漢字。", "word", "Two a",
     "x" * 700, "y " * 1100, "\u200b", "`", "__"]
)  # fmt: skip


def letters(text: str) -> Counter[str]:
    """How often each letter stands in it; numbers can be a list's, and are no letters."""
    return Counter(character for character in visible(text) if character.isalpha())


@given(st.lists(PIECE, max_size=40).map("".join))
def test_no_letter_is_lost_and_every_statement_can_be_stored(document: str) -> None:
    found = statements(document)
    assert all(0 < len(part) <= CONTENT_LIMIT and visible(part) for part in found)
    assert not letters(document) - sum(map(letters, found), Counter())


@given(st.text(max_size=300))
def test_any_text_can_be_split(document: str) -> None:
    document = document.replace("\0", "")
    assert not letters(document) - sum(map(letters, statements(document)), Counter())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("User prefers short answers.", MemoryType.PREFERENCE),
        ("User is a partner at Harbor Law.", MemoryType.IDENTITY),
        ("User's preferred citation style is Bluebook.", MemoryType.PREFERENCE),
        ("I always cite in Bluebook form.", MemoryType.PREFERENCE),
        ("Always answer in German.", MemoryType.INSTRUCTION),
        ("Has a dog named Rex.", MemoryType.FACT),
    ],
)
def test_a_memory_has_the_type_that_the_rules_see_in_it(text: str, expected: MemoryType) -> None:
    assert type_of(text, remembered(text), MARCH) is expected


def test_a_profile_is_identity_and_instructions_are_instructions() -> None:
    text = "I like cats."
    assert type_of(text, remembered(text, "profile"), MARCH) is MemoryType.IDENTITY
    assert type_of(text, remembered(text, "instructions"), MARCH) is MemoryType.INSTRUCTION


def test_the_tests_letters_see_a_loss() -> None:
    assert letters("ab") - letters("a") and not re.search(r"\d", "".join(letters("a1")))
