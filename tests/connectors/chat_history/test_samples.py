"""The public samples, with the counts that a person who reads them expects."""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from north.connectors.chat_history.shapes import Broken, Conversation, ExplicitMemory, Skipped
from north.errors import ExportNotRecognised
from tests.conftest import shared_data
from tests.connectors.chat_history.building import counts, of_kind, read, texts

EXPECTED = {
    # One answered question; its other answer was dropped by the user. A profile and instructions stand beside it.
    "chatgpt/native-conversation-v1.json": {"Conversation": 1, "ExplicitMemory": 2},
    # Made from a schema: every kind of content and every recipient is unknown, so nobody was shown anything.
    "chatgpt/representative-00.json": {"Skipped": 1},
    "chatgpt/split/conversations-000.json": {"Conversation": 1, "ExplicitMemory": 2},
    # "Corrupted entry" has no messages at all.
    "chatgpt/split/conversations-001.json": {"Broken": 1},
    "chatgpt/split/conversations-002.json": {"Conversation": 1, "ExplicitMemory": 2},
    # The second conversation was opened and never used.
    "claude/conversations.json": {"Conversation": 1, "Skipped": 1},
    "claude/export.json": {"Conversation": 1},
    "claude/memories.json": {"ExplicitMemory": 2},
    "claude/representative-00.json": {"Conversation": 1},
    # Two sessions in one file.
    "claude_code/claude-normalization-main.jsonl": {"Conversation": 2},
    # Only what the program says in the user's name.
    "claude_code/queued_system_messages.jsonl": {"Skipped": 1},
    "claude_code/valid_session.jsonl": {"Conversation": 1},
    "copilot/copilot-activity-history.csv": {"Conversation": 1},
}


@pytest.mark.parametrize("sample", EXPECTED)
def test_each_sample_gives_what_a_person_would_count(sample: str) -> None:
    assert counts(read(shared_data(f"imports/{sample}"))) == EXPECTED[sample]


def test_every_sample_is_counted() -> None:
    folder = shared_data("imports")
    samples = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert samples - {"chatgpt/split/user.json"} == set(EXPECTED)


def test_the_account_of_the_user_is_no_export() -> None:
    with pytest.raises(ExportNotRecognised):
        read(shared_data("imports/chatgpt/split/user.json"))


class TestChatGPT:
    def test_reads_the_branch_that_the_user_saw_without_reasoning_and_tools(self) -> None:
        [conversation] = of_kind(read(shared_data("imports/chatgpt/native-conversation-v1.json")), Conversation)
        assert texts(conversation) == [
            "Analyze the attached fixture and create an artifact.",
            "Final answer. [Download artifact](sandbox:/mnt/data/fixture-result.zip)",
        ]
        assert conversation.turns[0].at == datetime(2026, 7, 16, 1, 15, 40, tzinfo=UTC)

    def test_gives_profile_and_instructions_as_they_were_written(self) -> None:
        memories = of_kind(read(shared_data("imports/chatgpt/native-conversation-v1.json")), ExplicitMemory)
        assert {memory.kind: memory.text for memory in memories} == {
            "profile": "Privacy-safe fixture profile.",
            "instructions": "Preserve structured provider evidence.",
        }

    def test_the_shards_in_a_zip_give_what_they_give_alone(self, tmp_path: Path) -> None:
        folder = shared_data("imports/chatgpt/split")
        shards = sorted(folder.glob("*.json"))
        with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
            for shard in shards:
                archive.write(shard, shard.name)
        alone = [item for shard in shards if shard.name != "user.json" for item in read(shard)]
        assert read(tmp_path / "export.zip") == alone
        [broken] = of_kind(alone, Broken)
        assert (broken.title, "mapping" in broken.reason) == ("Corrupted entry", True)


class TestClaude:
    def test_reads_the_newest_branch_and_notes_the_walled_source(self) -> None:
        [conversation] = of_kind(read(shared_data("imports/claude/conversations.json")), Conversation)
        assert texts(conversation) == [
            "Mark up this NDA. I always cap the term at 2 years.",
            "Draft B (regenerated, active).",
            "Noted.",
        ]
        assert conversation.walled == ("netdocuments",)
        assert "privileged" not in str(conversation)
        assert "Pasted clause" not in str(conversation)

    def test_the_unused_conversation_is_empty(self) -> None:
        [skipped] = of_kind(read(shared_data("imports/claude/conversations.json")), Skipped)
        assert (skipped.key, skipped.reason) == ("c2", "empty")

    def test_without_text_blocks_the_flat_text_counts(self) -> None:
        [conversation] = read(shared_data("imports/claude/representative-00.json"))
        assert isinstance(conversation, Conversation)
        assert [turn.role for turn in conversation.turns] == ["user", "assistant", "user"]
        assert texts(conversation)[0] == "Can you explain how this works?"

    def test_memories_come_with_the_place_they_were_kept_in(self) -> None:
        account, project = of_kind(read(shared_data("imports/claude/memories.json")), ExplicitMemory)
        assert (account.text, account.label) == (
            "**Work context**\n\nUser is a partner in the M&A group.",
            "Claude · Memory",
        )
        assert project.label == "Claude · Memory of project p1"


class TestClaudeCode:
    def test_sessions_are_told_apart_and_the_first_of_duplicates_stands(self) -> None:
        conversations = of_kind(read(shared_data("imports/claude_code/claude-normalization-main.jsonl")), Conversation)
        said = {each.key: texts(each) for each in conversations}
        assert said.keys() == {"claude-normalization-main", "claude-normalization-other"}
        first, *others = said["claude-normalization-main"]
        assert first.endswith(" the parser.")
        assert others == ["Running the focused checks.", "Checking a foreground failure."]
        assert said["claude-normalization-other"] == ["An independent session.", "Other reply."]

    def test_a_session_without_an_id_is_one_conversation(self) -> None:
        [conversation] = read(shared_data("imports/claude_code/valid_session.jsonl"))
        assert texts(conversation) == [
            "Fix the login bug",
            "Looking at the auth module...",
            "That looks right",
            "Applied the fix.",
        ]


def test_copilot_is_read_oldest_first_with_times_in_utc() -> None:
    [conversation] = read(shared_data("imports/copilot/copilot-activity-history.csv"))
    assert isinstance(conversation, Conversation)
    assert texts(conversation) == ['Use "New York" law,\nalways.', "New York, noted."]
    assert conversation.at == datetime(2026, 5, 1, 10, 0, tzinfo=UTC)
