"""The public samples of other assistants' exports, each brought in from its file: what a person would expect of it."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from north.chat.importing import run_import
from north.chat.mining import make_miner
from north.memory.backend import Backend
from north.memory.imports import begin
from north.memory.listing import MemoryFilter, list_memories
from north.model import Caller, Import, ImportStatus
from tests.chat.exported import counts
from tests.conftest import FirmOfTest, shared_data

PROFILE = ("Privacy-safe fixture profile.", "identity", "ChatGPT · About you")
CUSTOM = ("Preserve structured provider evidence.", "instruction", "ChatGPT · Custom instructions")
SRE = ("The user is an SRE.", "identity", "ChatGPT · About you")
CONCISELY = ("Answer concisely.", "instruction", "ChatGPT · Custom instructions")

SAMPLES: dict[str, tuple[tuple[int, int, dict[str, int], int, int], set[tuple[str, str, str]]]] = {
    "chatgpt/native-conversation-v1.json": ((3, 3, {}, 0, 2), {PROFILE, CUSTOM}),
    "chatgpt/representative-00.json": ((1, 0, {"empty": 1}, 0, 0), set()),
    "chatgpt/split/conversations-000.json": ((3, 3, {}, 0, 2), {SRE, CONCISELY}),
    "chatgpt/split/conversations-001.json": ((1, 0, {}, 1, 0), set()),
    "chatgpt/split/conversations-002.json": ((3, 3, {}, 0, 2), {PROFILE, CUSTOM}),
    "claude/conversations.json": (
        (2, 1, {"empty": 1}, 0, 1),
        {("The lawyer always caps the term at 2 years.", "preference", "Claude · Acme NDA mark-up · NetDocuments")},
    ),
    "claude/export.json": ((1, 1, {}, 0, 0), set()),
    "claude/memories.json": (
        (2, 2, {}, 0, 2),
        {
            ("Work context: User is a partner in the M&A group.", "identity", "Claude · Memory"),
            ("Purpose & context: Project about NDA playbook.", "fact", "Claude · Memory of project p1"),
        },
    ),
    "claude/representative-00.json": ((1, 1, {}, 0, 0), set()),
    "claude_code/claude-normalization-main.jsonl": ((2, 2, {}, 0, 0), set()),
    "claude_code/queued_system_messages.jsonl": ((1, 0, {"empty": 1}, 0, 0), set()),
    "claude_code/valid_session.jsonl": ((1, 1, {}, 0, 0), set()),
    "copilot/copilot-activity-history.csv": ((1, 1, {}, 0, 0), set()),
}


async def brought_in(backend: Backend, caller: Caller, path: Path) -> Import:
    begun = await begin(backend, caller, path.name)
    return await run_import(make_miner(backend, None), caller, begun.id, path)


async def known(backend: Backend, caller: Caller) -> set[tuple[str, str, str]]:
    found = (await list_memories(backend, caller, MemoryFilter())).memories
    return {(each.content, each.type.value, (each.source and each.source.label) or "") for each in found}


@pytest.mark.parametrize("name", SAMPLES)
async def test_a_sample_brings_what_a_person_would_expect(backend: Backend, firm: FirmOfTest, name: str) -> None:
    path = shared_data(f"imports/{name}")
    report, memories = SAMPLES[name]
    done = await brought_in(backend, firm.a, path)
    assert (done.status, counts(done.report)) == (ImportStatus.FINISHED, report)
    assert await known(backend, firm.a) == memories


async def test_a_file_without_conversations_says_so(backend: Backend, firm: FirmOfTest) -> None:
    done = await brought_in(backend, firm.a, shared_data("imports/chatgpt/split/user.json"))
    assert (done.status, done.error_code) == (ImportStatus.FAILED, "export_not_recognised")


async def test_the_shards_of_an_export_come_together_in_a_zip(
    backend: Backend, firm: FirmOfTest, tmp_path: Path
) -> None:
    folder = shared_data("imports/chatgpt/split")
    with zipfile.ZipFile(tmp_path / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)
    done = await brought_in(backend, firm.a, tmp_path / "export.zip")
    assert counts(done.report) == (7, 6, {}, 1, 4)
    assert [each.conversation for each in done.report.failed] == ["Corrupted entry"]
    assert await known(backend, firm.a) == {SRE, CONCISELY, PROFILE, CUSTOM}
    later = await brought_in(backend, firm.a, shared_data("imports/chatgpt/native-conversation-v1.json"))
    assert counts(later.report) == (3, 0, {"already_imported": 3}, 0, 0), "it was in the zip"
