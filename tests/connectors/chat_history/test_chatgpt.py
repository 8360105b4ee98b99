from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from north.connectors.chat_history.shapes import Broken, Conversation, ExplicitMemory, Skipped
from tests.connectors.chat_history.building import BEGUN, chatgpt, node, of_kind, read_json, read_one, simple, texts

HIDDEN = {"is_visually_hidden_from_conversation": True}


class TestTree:
    def test_only_the_branch_of_the_current_node_is_read(self, tmp_path: Path) -> None:
        conversation = chatgpt(
            node("root", None, None),
            node("question", "root", "Which law?"),
            node("first", "question", "Delaware.", "assistant", create_time=BEGUN + 9),
            node("second", "question", "New York.", "assistant", create_time=BEGUN + 2),
        )
        assert texts(read_one(tmp_path, conversation)) == ["Which law?", "New York."]

    @pytest.mark.parametrize("current", ["gone", None, 7, ["second"]])
    def test_without_a_current_node_the_newest_leaf_is_taken(self, tmp_path: Path, current: object) -> None:
        conversation = chatgpt(
            node("root", None, None),
            node("question", "root", "Which law?"),
            node("first", "question", "Delaware.", "assistant", create_time=BEGUN + 9),
            node("second", "question", "New York.", "assistant", create_time=BEGUN + 2),
        ) | {"current_node": current}
        assert texts(read_one(tmp_path, conversation)) == ["Which law?", "Delaware."]

    def test_a_cycle_is_walked_once(self, tmp_path: Path) -> None:
        conversation = chatgpt(node("a", "b", "One."), node("b", "a", "Two."))
        assert sorted(texts(read_one(tmp_path, conversation))) == ["One.", "Two."]

    def test_of_several_roots_the_one_of_the_current_node_counts(self, tmp_path: Path) -> None:
        conversation = chatgpt(node("a", None, "One."), node("b", None, "Two."), node("c", "b", "Three."))
        assert texts(read_one(tmp_path, conversation)) == ["Two.", "Three."]

    def test_a_missing_parent_ends_the_branch(self, tmp_path: Path) -> None:
        assert texts(read_one(tmp_path, chatgpt(node("a", "nowhere", "One."), node("b", "a", "Two.")))) == [
            "One.",
            "Two.",
        ]

    def test_without_messages_it_is_broken_and_the_next_is_read(self, tmp_path: Path) -> None:
        without = chatgpt(title="Lost")
        del without["mapping"]
        broken, conversation = read_json(tmp_path, [without, simple(2)])
        assert broken == Broken("chatgpt", "Lost", "It has no messages: its `mapping` is missing.")
        assert texts(conversation) == ["Always use New York law."]

    def test_a_message_that_stands_twice_is_one_turn(self, tmp_path: Path) -> None:
        conversation = chatgpt(node("a", None, "One."), node("b", "a", "One.", id="a"))
        assert texts(read_one(tmp_path, conversation)) == ["One."]


class TestTurns:
    @pytest.mark.parametrize(
        "content",
        [
            {"content_type": "code", "language": "python", "text": "print(1)"},
            {"content_type": "execution_output", "text": "1"},
            {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "c"}], "parts": ["thinking"]},
            {"content_type": "reasoning_recap", "content": "Thought for 5s", "parts": ["recap"]},
            {"content_type": "tether_quote", "text": "from a page", "parts": ["from a page"]},
            {"content_type": "tether_browsing_display", "result": "page", "parts": ["page"]},
            {"content_type": "system_error", "text": "failed", "parts": ["failed"]},
            {"content_type": "never_seen_before", "text": "what is this", "parts": ["what is this"]},
            {"content_type": None, "parts": ["x"]},
            {"parts": ["x"]},
            {},
        ],
        ids=lambda content: (
            str(content.get("content_type")) if "content_type" in content else f"untyped-{len(content)}"
        ),
    )
    def test_what_states_nothing_to_the_reader_is_no_turn(self, tmp_path: Path, content: dict[str, Any]) -> None:
        conversation = chatgpt(
            node("q", None, "Which law?"),
            node("x", "q", None, "assistant", content=content),
            node("a", "x", "New York.", "assistant"),
        )
        assert texts(read_one(tmp_path, conversation)) == ["Which law?", "New York."]

    @pytest.mark.parametrize(
        "message",
        [
            {"metadata": HIDDEN},
            {"metadata": {"is_user_system_message": True}},
            {"weight": 0},
            {"weight": 0.0},
            {"recipient": "python"},
            {"channel": "analysis"},
            {"author": {"role": "system"}},
            {"author": {"role": "tool", "name": "python"}},
            {"author": None},
            {"author": {"role": ["user"]}},
        ],
        ids=str,
    )
    def test_hidden_messages_and_those_to_tools_are_no_turns(self, tmp_path: Path, message: dict[str, Any]) -> None:
        conversation = chatgpt(node("q", None, "Which law?"), node("x", "q", "Not shown.", "assistant", **message))
        assert texts(read_one(tmp_path, conversation)) == ["Which law?"]

    def test_texts_and_transcriptions_of_a_message_count_and_pictures_do_not(self, tmp_path: Path) -> None:
        parts = [
            {"content_type": "audio_transcription", "text": "Use New York law.", "direction": "in"},
            {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"},
            None,
            7,
            "  And answer briefly.\n",
        ]
        content = {"content_type": "multimodal_text", "parts": parts}
        conversation = chatgpt(node("q", None, None, content=content))
        assert texts(read_one(tmp_path, conversation)) == ["Use New York law.\n  And answer briefly."]

    def test_text_stays_as_it_was_written(self, tmp_path: Path) -> None:
        written = "  A **term**:\n\n\t1. cap\u00a0it — “2 years” 😀  "
        assert texts(read_one(tmp_path, chatgpt(node("q", None, written)))) == [written.strip()]

    def test_a_message_without_metadata_counts(self, tmp_path: Path) -> None:
        bare = {"id": "q", "author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hello."]}}
        conversation = chatgpt({"id": "q", "message": bare})
        assert texts(read_one(tmp_path, conversation)) == ["Hello."]

    @pytest.mark.parametrize(
        ("time", "expected"),
        [
            (1_756_000_001.5, datetime(2025, 8, 24, 1, 46, 41, 500_000, tzinfo=UTC)),
            (1_756_000_001_500, datetime(2025, 8, 24, 1, 46, 41, 500_000, tzinfo=UTC)),
            ("1756000001.5", datetime(2025, 8, 24, 1, 46, 41, 500_000, tzinfo=UTC)),
            ("2025-08-24T01:46:41Z", datetime(2025, 8, 24, 1, 46, 41, tzinfo=UTC)),
            ("2025-08-24T03:46:41+02:00", datetime(2025, 8, 24, 1, 46, 41, tzinfo=UTC)),
            ("2025-08-24T01:46:41.123456+", datetime(2025, 8, 24, 1, 46, 41, 123_456, tzinfo=UTC)),
            (None, None),
            (-5, None),
            (0, None),
            (True, None),
            (1.5e300, None),
            (10**400, None),
            (float("nan"), None),
            (float("inf"), None),
            ("yesterday", None),
            ("9" * 5000, None),
            ({}, None),
        ],
        ids=lambda value: str(value)[:40],
    )
    def test_times_are_read_where_they_make_sense(
        self, tmp_path: Path, time: object, expected: datetime | None
    ) -> None:
        conversation = read_one(tmp_path, chatgpt(node("q", None, "Hello.", create_time=time), create_time=None))
        assert isinstance(conversation, Conversation)
        assert (conversation.turns[0].at, conversation.at) == (expected, expected)

    def test_what_cannot_be_stored_is_replaced(self, tmp_path: Path) -> None:
        conversation = read_one(tmp_path, chatgpt(node("q\ud800", None, "a\x00b\ud83dc"), title="t\udc00", id="\ud800"))
        assert texts(conversation) == ["a\ufffdb\ufffdc"]
        str(conversation).encode()


class TestConversations:
    def test_do_not_remember_gives_nothing_at_all(self, tmp_path: Path) -> None:
        context = {"content_type": "user_editable_context", "user_profile": "Partner.", "user_instructions": "Brief."}
        conversation = chatgpt(node("c", None, None, content=context), node("q", "c", "Hi."), is_do_not_remember=True)
        assert read_one(tmp_path, conversation) == Skipped(
            "chatgpt", "conversation-1", "Governing law", "do_not_remember"
        )

    def test_without_a_word_of_the_user_it_is_empty(self, tmp_path: Path) -> None:
        item = read_one(tmp_path, chatgpt(node("a", None, "Welcome!", "assistant")))
        assert isinstance(item, Skipped)
        assert item.reason == "empty"

    @pytest.mark.parametrize(
        ("fields", "label"),
        [
            ({}, "ChatGPT · Governing law"),
            ({"gizmo_id": "g-p-68ab"}, "ChatGPT · Governing law · Project g-p-68ab"),
            ({"gizmo_id": "g-12"}, "ChatGPT · Governing law · Custom assistant g-12"),
            ({"conversation_template_id": "g-p-9"}, "ChatGPT · Governing law · Project g-p-9"),
            ({"title": None, "gizmo_id": 5}, "ChatGPT · Untitled"),
            ({"title": "two\nlines  " + "x" * 900}, "ChatGPT · two lines " + "x" * 190),
        ],
        ids=["plain", "project", "assistant", "template", "untitled", "long"],
    )
    def test_the_label_names_project_and_assistant(self, tmp_path: Path, fields: dict[str, Any], label: str) -> None:
        conversation = read_one(tmp_path, chatgpt(node("q", None, "Hello."), **fields))
        assert isinstance(conversation, Conversation)
        assert conversation.label == label

    @pytest.mark.parametrize(
        ("message", "walled"),
        [
            ({"recipient": "netdocuments__search"}, ("netdocuments",)),
            ({"role": "tool", "author": {"role": "tool", "name": "NetDocuments.read"}}, ("netdocuments",)),
            ({"metadata": {"invoked_plugin": {"namespace": "iManage_Work", "type": "remote"}}}, ("imanage",)),
            ({"recipient": "api_tool.call_tool", "text": '{"path": "/NetDocuments/link_1/search"}'}, ("netdocuments",)),
            ({"recipient": "api_tool.call_tool", "text": '{"path": "/Gmail/x", "q": "netdocuments"}'}, ()),
            ({"recipient": "mcp.north__nd_search"}, ("netdocuments",)),
            ({"recipient": "wiki_manager"}, ()),
            ({"recipient": "case_imanager"}, ()),
            ({"text": "I asked NetDocuments about it."}, ()),
        ],
        ids=lambda value: str(value)[:60],
    )
    def test_walled_sources_are_noted_from_any_branch(
        self, tmp_path: Path, message: dict[str, Any], walled: tuple[str, ...]
    ) -> None:
        call: dict[str, Any] = {"text": "{}", "role": "assistant"} | message
        conversation = read_one(
            tmp_path,
            chatgpt(node("q", None, "Hello."), node("t", "q", **call), node("a", "q", "Hi.", "assistant")),
        )
        assert isinstance(conversation, Conversation)
        assert conversation.walled == walled


class TestExplicitMemories:
    def context(self, **content: Any) -> dict[str, Any]:
        return chatgpt(
            node("c", None, None, "system", content=content, weight=0, metadata=HIDDEN), node("q", "c", "Hi.")
        )

    def test_profile_and_instructions_are_taken_out_of_the_frame_around_them(self, tmp_path: Path) -> None:
        framed = "The user provided the following information about themselves. User profile:\n```\nM&A partner.\n```"
        told = "The user provided the additional info about how they would like you to respond:\n```Be ```brief``.```"
        items = read_json(
            tmp_path,
            self.context(content_type="user_editable_context", user_profile=framed, user_instructions=told),
        )
        assert [(m.kind, m.text) for m in of_kind(items, ExplicitMemory)] == [
            ("profile", "M&A partner."),
            ("instructions", "Be ```brief``."),
        ]

    def test_instructions_in_the_metadata_are_read(self, tmp_path: Path) -> None:
        data = {"about_user_message": "M&A partner.", "about_model_message": "Be brief."}
        metadata = {"user_context_message_data": data, "is_user_system_message": True}
        items = read_json(tmp_path, chatgpt(node("c", None, "", "system", metadata=metadata), node("q", "c", "Hi.")))
        assert [(m.kind, m.text, m.label) for m in of_kind(items, ExplicitMemory)] == [
            ("profile", "M&A partner.", "ChatGPT · About you"),
            ("instructions", "Be brief.", "ChatGPT · Custom instructions"),
        ]

    @pytest.mark.parametrize(
        ("saved", "expected"),
        [
            (
                "1. [2025-05-02]. Prefers New York law.\n\n2. [2025-05-03]. Caps NDAs\nat two years.",
                [("Prefers New York law.", "2025-05-02"), ("Caps NDAs\nat two years.", "2025-05-03")],
            ),
            ("[2025-05-02] Prefers New York law.", [("Prefers New York law.", "2025-05-02")]),
            ("1. Likes tables.\n2. Bills in tenths.", [("Likes tables.", None), ("Bills in tenths.", None)]),
            ("The user likes tables.", [("The user likes tables.", None)]),
            ("  ", []),
            (None, []),
        ],
        ids=["numbered", "dated", "undated", "plain", "blank", "none"],
    )
    def test_saved_memories_are_one_each_with_their_date(
        self, tmp_path: Path, saved: str | None, expected: list[tuple[str, str | None]]
    ) -> None:
        items = read_json(tmp_path, self.context(content_type="model_editable_context", model_set_context=saved))
        begun = datetime.fromtimestamp(BEGUN, UTC)
        assert [(m.text, m.at) for m in of_kind(items, ExplicitMemory)] == [
            (text, datetime.fromisoformat(f"{day}T00:00:00Z") if day else begun) for text, day in expected
        ]
        assert len(of_kind(items, Conversation)) == 1

    def test_the_same_memory_has_the_same_key_in_every_conversation(self, tmp_path: Path) -> None:
        context = {"content_type": "user_editable_context", "user_profile": "Partner.", "user_instructions": "Partner."}
        one = self.context(**context)
        other = self.context(**context) | {"conversation_id": "conversation-2", "create_time": BEGUN + 5}
        memories = of_kind(read_json(tmp_path, [one, other]), ExplicitMemory)
        assert len(memories) == 4
        assert len({memory.key for memory in memories}) == 2
