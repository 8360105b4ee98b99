from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from north.connectors.chat_history import messages
from north.connectors.chat_history.shapes import Broken, Conversation, Skipped
from tests.connectors.chat_history.building import of_kind, read_json, read_text, texts

SAID = [
    {"role": "system", "content": "You are helpful."},
    {"role": "user", "content": "Which law?"},
    {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "netdocuments_search"}}]},
    {"role": "tool", "name": "netdocuments_search", "content": "SECRET"},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "New York."}, {"type": "image_url", "image_url": "SECRET"}],
    },
]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(SAID),
        json.dumps(SAID, indent=2),
        json.dumps({"messages": SAID}),
        json.dumps({"model": "m", "messages": SAID}, indent=2),
        json.dumps([{"messages": SAID}]),
        "\n".join(map(json.dumps, SAID)),
        json.dumps({"messages": SAID}) + "\n",
    ],
    ids=["list", "pretty", "object", "pretty-object", "list-of-objects", "lines", "line-of-object"],
)
def test_each_way_to_write_them_is_one_conversation(tmp_path: Path, text: str) -> None:
    [conversation] = read_text(tmp_path, text)
    assert isinstance(conversation, Conversation)
    assert texts(conversation) == ["Which law?", "New York."]
    assert conversation.walled == ("netdocuments",)
    assert "SECRET" not in str(conversation)


def test_lines_of_conversations_are_one_each(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps({"messages": SAID, "id": f"m{place}", "title": f"T{place}"}) for place in range(3))
    found = of_kind(read_text(tmp_path, lines), Conversation)
    assert [(each.key, each.title) for each in found] == [("m0", "T0"), ("m1", "T1"), ("m2", "T2")]


def test_a_renamed_file_that_went_on_keeps_its_key(tmp_path: Path) -> None:
    [before] = of_kind(read_text(tmp_path, json.dumps(SAID), "before.json"), Conversation)
    [after] = of_kind(read_text(tmp_path, json.dumps([*SAID, SAID[1]]), "after.json"), Conversation)
    assert before.key == after.key
    assert after.turns[:2] == before.turns


@pytest.mark.parametrize("value", ["text", {"role": "user"}, 7, None])
def test_messages_that_are_no_list_are_broken(tmp_path: Path, value: Any) -> None:
    [broken] = read_json(tmp_path, {"messages": value, "title": "Odd"})
    assert broken == Broken("messages", "Odd", "It has no messages: its `messages` are no list.")


def test_without_a_word_of_the_user_it_is_empty(tmp_path: Path) -> None:
    [item] = read_json(tmp_path, [{"role": "assistant", "content": "Hello."}, None, 5, {"role": [], "content": {}}])
    assert isinstance(item, Skipped)


def test_a_damaged_line_costs_nobody_else(tmp_path: Path) -> None:
    lines = [
        json.dumps(SAID[1]),
        '{"role": "assistant", "content": "cut',
        json.dumps({"role": "user", "content": "Next."}),
    ]
    broken, conversation = read_text(tmp_path, "\n".join(lines))
    assert isinstance(broken, Broken)
    assert texts(conversation) == ["Which law?", "Next."]


def test_a_list_that_is_too_large_is_broken_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "_MOST_HELD", 5_000)
    [broken] = read_json(tmp_path, [{"role": "user", "content": f"Number {place}"} for place in range(50)])
    assert isinstance(broken, Broken)
