from __future__ import annotations

import codecs
from datetime import UTC, datetime
from pathlib import Path

import pytest

from north.connectors.chat_history import copilot
from north.connectors.chat_history.shapes import Broken, Conversation, Item, Skipped
from tests.connectors.chat_history.building import of_kind, read_text, texts

HEADER = "Conversation,Time,Author,Message\n"


def history(folder: Path, *rows: str, header: str = HEADER) -> list[Item]:
    return read_text(folder, codecs.BOM_UTF8 + (header + "".join(row + "\n" for row in rows)).encode())


def test_newest_first_becomes_oldest_first(tmp_path: Path) -> None:
    [conversation] = history(
        tmp_path,
        "Law,2026-05-01T10:01:00,AI,Noted.",
        'Law,2026-05-01T10:00:00,Human,"Use ""New York"" law,\r\nalways."',
    )
    assert isinstance(conversation, Conversation)
    assert texts(conversation) == ['Use "New York" law,\r\nalways.', "Noted."]
    assert [turn.role for turn in conversation.turns] == ["user", "assistant"]
    assert conversation.at == datetime(2026, 5, 1, 10, tzinfo=UTC)
    assert conversation.label == "Copilot · Law"


def test_rows_of_the_same_second_keep_their_order(tmp_path: Path) -> None:
    [conversation] = history(tmp_path, "Law,2026-05-01T10:00:00,AI,Answer.", "Law,2026-05-01T10:00:00,Human,Question?")
    assert texts(conversation) == ["Question?", "Answer."]


def test_an_export_that_is_oldest_first_stays_so(tmp_path: Path) -> None:
    [conversation] = history(tmp_path, "Law,2026-05-01T10:00:00,Human,One.", "Law,2026-05-01T10:05:00,AI,Two.")
    assert texts(conversation) == ["One.", "Two."]


def test_conversations_that_alternate_are_told_apart_by_title(tmp_path: Path) -> None:
    found = history(
        tmp_path,
        "B,2026-05-01T10:03:00,Human,Second of B.",
        "A,2026-05-01T10:02:00,Human,Second of A.",
        "B,2026-05-01T10:01:00,Human,First of B.",
        "A,2026-05-01T10:00:00,Human,First of A.",
    )
    assert {each.title: texts(each) for each in of_kind(found, Conversation)} == {
        "A": ["First of A.", "Second of A."],
        "B": ["First of B.", "Second of B."],
    }


def test_a_title_that_comes_back_another_day_is_another_conversation(tmp_path: Path) -> None:
    found = of_kind(
        history(tmp_path, "Law,2026-05-03T10:00:00,Human,Later.", "Law,2026-05-01T10:00:00,Human,Before."), Conversation
    )
    assert [texts(each) for each in found] == [["Later."], ["Before."]]
    assert found[0].key != found[1].key


def test_a_conversation_that_went_on_keeps_its_key(tmp_path: Path) -> None:
    before = "Law,2026-05-01T10:00:00,Human,Before."
    [first] = of_kind(history(tmp_path, before), Conversation)
    [second] = of_kind(history(tmp_path, "Law,2026-05-01T12:00:00,Human,After.", before), Conversation)
    assert (first.key, first.turns[0]) == (second.key, second.turns[0])


def test_damaged_rows_are_told_once_and_the_others_read(tmp_path: Path) -> None:
    found = history(
        tmp_path,
        "Law,2026-05-01T10:02:00,Human,Two.",
        "Law,2026",
        "Law",
        "Law,2026-05-01T10:01:00,Somebody,Who?",
        "",
        "Law,2026-05-01T10:00:00,Human,One.",
    )
    assert of_kind(found, Broken) == [
        Broken("copilot", "Lines 3 to 4", "They are damaged: a quote or a column is missing."),
        Broken("copilot", "Law", "Line 5 is neither from a human nor from an AI."),
    ]
    assert texts(of_kind(found, Conversation)[0]) == ["One.", "Two."]


def test_a_quote_that_is_never_closed_takes_no_more_than_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copilot, "_LONGEST_FIELD", 1_000)
    found = history(tmp_path, "Law,2026-05-01T10:00:00,Human,One.", 'Law,2026,Human,"open', *["words"] * 1_000)
    assert [type(item).__name__ for item in found] == ["Broken", "Conversation"]


def test_without_a_word_of_the_user_it_is_empty(tmp_path: Path) -> None:
    [item] = history(tmp_path, "Law,2026-05-01T10:00:00,AI,Hello.")
    assert isinstance(item, Skipped)


def test_columns_are_found_by_name_and_times_may_be_missing(tmp_path: Path) -> None:
    [conversation] = history(
        tmp_path, "AI,Noted.,x,Law", "human,Use it.,,Law", header="Author, Message,Time,CONVERSATION\n"
    )
    assert isinstance(conversation, Conversation)
    assert (texts(conversation), conversation.at) == (["Use it.", "Noted."], None)
