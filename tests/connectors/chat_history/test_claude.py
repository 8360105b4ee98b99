from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north.connectors.chat_history import claude as reader
from north.connectors.chat_history.shapes import Broken, Conversation, ExplicitMemory, Skipped
from tests.connectors.chat_history.building import claude, of_kind, read_json, read_one, said, texts
from tests.connectors.chat_history.test_chatgpt_trees import JUNK

ROOT = "00000000-0000-4000-8000-000000000000"


def child(uuid: str, parent: object, at: str = "10:00", sender: str = "human", **fields: Any) -> dict[str, Any]:
    return said(
        uuid, f"Said by {uuid}.", sender, parent_message_uuid=parent, created_at=f"2026-05-01T{at}:00Z", **fields
    )


class TestBranches:
    def test_the_branch_of_the_newest_leaf_is_read(self, tmp_path: Path) -> None:
        conversation = claude(
            child("q", ROOT),
            child("b", "q", "10:05", "assistant"),
            child("a", "q", "10:02", "assistant"),
            child("c", "a", "10:04"),
        )
        assert texts(read_one(tmp_path, conversation)) == ["Said by q.", "Said by b."]

    def test_of_leaves_without_time_the_last_in_the_list_is_the_newest(self, tmp_path: Path) -> None:
        messages = [child("q", ROOT), child("a", "q", sender="assistant"), child("b", "q", sender="assistant")]
        for message in messages:
            message["created_at"] = None
        assert texts(read_one(tmp_path, claude(*messages))) == ["Said by q.", "Said by b."]

    def test_without_parents_the_list_is_the_conversation(self, tmp_path: Path) -> None:
        conversation = claude(said("q", "One."), said("a", "Two.", "assistant"), said("p", "Three."))
        assert texts(read_one(tmp_path, conversation)) == ["One.", "Two.", "Three."]

    def test_when_every_message_is_a_root_the_list_is_the_conversation(self, tmp_path: Path) -> None:
        assert texts(read_one(tmp_path, claude(child("q", ROOT), child("a", ROOT)))) == ["Said by q.", "Said by a."]

    def test_messages_from_before_parents_were_told_come_first(self, tmp_path: Path) -> None:
        conversation = claude(said("p", "One."), said("q", "Two."), child("a", "q", sender="assistant"))
        assert texts(read_one(tmp_path, conversation)) == ["One.", "Two.", "Said by a."]

    def test_a_cycle_is_walked_once(self, tmp_path: Path) -> None:
        item = read_one(tmp_path, claude(child("a", "b"), child("b", "a")))
        assert sorted(texts(item)) == ["Said by a.", "Said by b."]


class TestWords:
    def test_blocks_are_preferred_to_the_flat_text(self, tmp_path: Path) -> None:
        message = said("q", "From a block.") | {"text": "Flat.", "attachments": [{"extracted_content": "A contract."}]}
        assert texts(read_one(tmp_path, claude(message))) == ["From a block."]

    @pytest.mark.parametrize(
        "content", [None, [], "text", [{"type": "text", "text": " "}], [{"type": "thinking"}], [None]], ids=str
    )
    def test_without_a_block_of_text_the_flat_text_counts(self, tmp_path: Path, content: object) -> None:
        assert texts(read_one(tmp_path, claude(said("q", "x") | {"text": "Flat.", "content": content}))) == ["Flat."]

    def test_documents_reasoning_and_tools_are_never_the_users_words(self, tmp_path: Path) -> None:
        blocks = [
            {"type": "thinking", "thinking": "SECRET"},
            {"type": "tool_use", "name": "search", "input": {"q": "SECRET"}},
            {"type": "tool_result", "name": "search", "content": [{"type": "text", "text": "SECRET"}]},
            {"type": "text", "text": "Done."},
        ]
        question = said("q", "Cap it.", attachments=[{"extracted_content": "SECRET", "file_name": "SECRET"}])
        conversation = read_one(tmp_path, claude(question, said("a", "", "assistant") | {"content": blocks}))
        assert texts(conversation) == ["Cap it.", "Done."]
        assert "SECRET" not in str(conversation)

    def test_a_message_of_attachments_alone_is_no_turn(self, tmp_path: Path) -> None:
        message = {"uuid": "q", "sender": "human", "text": "", "attachments": [{"extracted_content": "A contract."}]}
        item = read_one(tmp_path, claude(message))
        assert isinstance(item, Skipped)
        assert item.reason == "empty"

    @pytest.mark.parametrize("field", ["name", "integration_name", "mcp_server_url"])
    def test_a_walled_source_on_an_abandoned_branch_counts(self, tmp_path: Path, field: str) -> None:
        call = child("x", "q", "10:01", "assistant") | {
            "content": [{"type": "tool_use", field: "https://iManage.example"}]
        }
        conversation = read_one(tmp_path, claude(child("q", ROOT), call, child("a", "q", "10:02", "assistant")))
        assert isinstance(conversation, Conversation)
        assert conversation.walled == ("imanage",)


class TestConversations:
    def test_without_messages_it_is_broken(self, tmp_path: Path) -> None:
        [conversation, broken] = read_json(
            tmp_path, [claude(said("q", "One.")), claude(name="Lost", chat_messages=None)]
        )
        assert texts(conversation) == ["One."]
        assert broken == Broken("claude", "Lost", "It has no messages: its `chat_messages` are missing.")

    def test_the_label_names_the_project(self, tmp_path: Path) -> None:
        conversation = read_one(tmp_path, claude(said("q", "One."), project={"uuid": "p1", "name": "Playbook"}))
        assert isinstance(conversation, Conversation)
        assert conversation.label == "Claude · Governing law · Project Playbook"

    @given(
        st.fixed_dictionaries(
            {},
            optional={
                "uuid": JUNK,
                "name": JUNK,
                "created_at": JUNK,
                "project": JUNK,
                "chat_messages": st.lists(
                    st.fixed_dictionaries(
                        {},
                        optional={
                            "uuid": st.sampled_from(["a", "b", "c"]) | JUNK,
                            "parent_message_uuid": st.sampled_from(["a", "b", "c", "d"]) | JUNK,
                            "sender": st.sampled_from(["human", "assistant"]) | JUNK,
                            "text": JUNK,
                            "content": st.lists(
                                st.fixed_dictionaries(
                                    {"type": st.sampled_from(["text", "tool_use"]) | JUNK, "text": JUNK, "name": JUNK}
                                )
                                | JUNK
                            )
                            | JUNK,
                            "created_at": JUNK,
                        },
                    )
                    | JUNK
                )
                | JUNK,
            },
        )
    )
    def test_whatever_the_element_is_it_has_one_outcome(self, element: dict[str, Any]) -> None:
        [outcome] = reader.read_conversation(element)
        assert isinstance(outcome, Conversation | Skipped | Broken)
        if isinstance(outcome, Conversation):
            keys = [turn.key for turn in outcome.turns]
            assert len(keys) == len(set(keys))
        str(outcome).encode()


class TestMemories:
    def test_account_projects_and_files_are_explicit_memories(self, tmp_path: Path) -> None:
        memories = read_json(
            tmp_path,
            [
                {
                    "conversations_memory": "Partner in M&A.",
                    "project_memories": {"p1": "NDA playbook.", "p2": None},
                    "memory_files": [{"path": "/style.md", "content": "Be brief."}, {"path": "/x"}, None],
                    "account_uuid": "acct-1",
                },
            ],
        )
        assert [(m.text, m.label, m.kind) for m in of_kind(memories, ExplicitMemory)] == [
            ("Partner in M&A.", "Claude · Memory", "memory"),
            ("NDA playbook.", "Claude · Memory of project p1", "memory"),
            ("Be brief.", "Claude · Memory file /style.md", "memory"),
        ]
        assert len(memories) == 3

    def test_projects_give_instructions_and_description_but_not_their_documents(self, tmp_path: Path) -> None:
        project = {
            "uuid": "p1",
            "name": "Playbook",
            "description": "How we mark up NDAs.",
            "prompt_template": "Cap the term at two years.",
            "docs": [{"filename": "nda.txt", "content": "SECRET"}],
            "created_at": "2026-05-01T10:00:00Z",
        }
        starter = project | {"uuid": "p0", "is_starter_project": True}
        memories = of_kind(read_json(tmp_path, [starter, project]), ExplicitMemory)
        assert [(m.kind, m.text) for m in memories] == [
            ("instructions", "Cap the term at two years."),
            ("memory", "How we mark up NDAs."),
        ]
        assert "SECRET" not in str(memories)

    @given(
        st.dictionaries(
            st.sampled_from(
                [
                    "conversations_memory",
                    "project_memories",
                    "memory_files",
                    "description",
                    "prompt_template",
                    "uuid",
                    "name",
                ]
            ),
            JUNK,
        )
    )
    def test_whatever_they_hold_it_is_read_or_left(self, element: dict[str, Any]) -> None:
        for item in (*reader.read_memories(element), *reader.read_project(element)):
            assert isinstance(item, ExplicitMemory)
