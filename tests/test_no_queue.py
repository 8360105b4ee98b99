"""Nothing waits for anybody's yes: no row, word, address, tool or event of the old queue is left in the tree.

Whatever is found must be taken away, or be listed here with the reason why it has to do with something else.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from north.api.description import describe_api
from north.api.site import make_api
from north.chat.assistant import make_assistant
from north.chat.models import make_model
from north.mcp.server import make_mcp
from north.memory.backend import Backend
from tests.conftest import FirmOfTest

ROOT = Path(__file__).parent.parent
WALKED = ("north", "docs", "scripts", "tests", "benchmarks", "README.md", "CHANGELOG.md", "Makefile", "pyproject.toml")
TEXT = {".py", ".sql", ".html", ".js", ".css", ".md", ".toml", ".json", ".jsonl", ""}

STATUS = re.compile(r"""['"](pending|rejected)['"]|Status\.(PENDING|REJECTED)""")
VERB = re.compile(r"\w*(confirm|dismiss|discard|approv|review)\w*", re.IGNORECASE)
KEEP = re.compile(
    r"\bkeep(s|ing)?\s+(this|that|the|a|your|each)?\s*(memory|memories|capture)|keep_memor|memory_keep", re.I
)
KEEP_NAME = re.compile(r"(^|[_/-])(keep|discard|confirm|dismiss|approve|reject|review)(s|d|ed|al)?($|[_/-])")

PAUSED = "threads that the earlier release left paused; leaves with north/chat/paused.py"
SETTLING = "settles the old rows, once"
SPEECH = "what lawyers say, as the offline assistant and its data know it; nothing about memory"
OTHER_WORK = "about something else than a memory: a commit, a flush, a request, a fact"

ALLOWED = {
    "north/db/migrations/0001_baseline.sql": "the enum's historic values, so that an earlier database can be read",
    "north/db/queries/settle.sql": SETTLING,
    "scripts/2026_08_settle_memories.py": SETTLING,
    "tests/scripts/test_settle_memories.py": SETTLING,
    "north/chat/paused.py": PAUSED,
    "north/api/threads.py": PAUSED,
    "north/web/chat_pages.py": PAUSED,
    "docs/developers/rest.md": PAUSED,
    "tests/chat/test_paused.py": PAUSED,
    "tests/isolation/machine/agent_calls.py": PAUSED,
    "north/web/consent_pages.py": "OAuth's consent, which lets a program in",
    "tests/web/test_consent_pages.py": "OAuth's consent, which lets a program in",
    "north/chat/models.py": "a provider's answer",
    "north/chat/offline/vocabulary.py": SPEECH,
    "north/chat/offline/steps.py": SPEECH,
    "north/chat/offline/sentences.py": SPEECH,
    "north/chat/offline/personal.py": SPEECH,
    "north/chat/offline/matter.py": SPEECH,
    "north/chat/offline/gates.py": SPEECH,
    "north/chat/offline/changes.py": SPEECH,
    "benchmarks/offline/sentences.jsonl": SPEECH,
    "benchmarks/latency/words.json": SPEECH,
    "benchmarks/mining/exchanges.jsonl": SPEECH,
    "tests/memory/test_terms.py": SPEECH,
    "tests/memory/test_rules_everywhere.py": "a stored action of the old queue blocks nothing",
    "north/chat/mining.py": "which of the assistant's statements a lawyer has agreed with, in the miner's instructions",
    "north/mcp/instructions.py": "says that a save asks for none",
    "north/api/memories.py": "says that a save asks for nothing",
    "README.md": "says that nobody is asked",
    "docs/evidence.md": OTHER_WORK,
    "north/chat/turn.py": OTHER_WORK,
    "north/memory/embedding.py": OTHER_WORK,
    "north/documents/connection.py": OTHER_WORK,
    "tests/db/embedded/test_starting.py": OTHER_WORK,
    "tests/conformance/fixtures_input.py": "tools of the protocol's own conformance suite, none of them North's",
    "tests/api/test_memories.py": "the API refuses the historic status",
    "tests/web/test_wording.py": "looks for these words on the pages, as this file does",
    "tests/test_no_queue.py": "names what it looks for",
}


@cache
def files() -> tuple[Path, ...]:
    found = (
        each for name in WALKED for each in ([ROOT / name] if (ROOT / name).is_file() else (ROOT / name).rglob("*"))
    )
    return tuple(each for each in found if each.is_file() and each.suffix in TEXT and "__pycache__" not in each.parts)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def found_in(text: str) -> list[str]:
    return [match[0] for pattern in (STATUS, VERB, KEEP) for match in pattern.finditer(text)]


class TestTheTree:
    def test_has_no_word_of_the_queue(self) -> None:
        hits = {name_of(path): found_in(path.read_text(errors="replace")) for path in files()}
        assert {name: words for name, words in hits.items() if words and name not in ALLOWED} == {}

    def test_needs_each_exception(self) -> None:
        idle = [name for name in ALLOWED if (ROOT / name).is_file() and not found_in((ROOT / name).read_text())]
        assert idle == []

    def test_has_no_file_of_the_queue(self) -> None:
        assert [name_of(path) for path in files() if VERB.search(path.name)] == []

    @pytest.mark.parametrize(
        "text",
        [
            "update agent_memory_candidate set status = 'pending'",
            'status="rejected"',
            "Status.PENDING",
            "def confirm_memory(): ...",
            "<button>Approve</button>",
            "<button>Keep this memory</button>",
            "memory_dismissed",
            "always_review",
        ],
    )
    def test_would_be_caught_with_one(self, text: str) -> None:
        assert found_in(text)


class TestNames:
    def test_no_event_speaks_of_the_queue(self) -> None:
        names = set(_event_names())
        assert {"memory_saved", "memory_archived", "memory_refused"} <= names
        assert [name for name in names if KEEP_NAME.search(name)] == []

    async def test_no_call_of_the_api_does(self, backend: Backend) -> None:
        assistant = make_assistant(backend, make_model("offline", backend.settings))
        described = describe_api(make_api(backend, assistant), "/api")
        names = {name for name in _names(described) if KEEP_NAME.search(name)}
        # `approved` answers a thread that is paused, and leaves with it; a provider may reject what it is asked.
        assert names <= {"approved", "model_rejected"}
        taking = [path for path in described["paths"] if "resume" in path]
        assert taking == ["/api/v1/threads/{id}/resume"]

    async def test_no_tool_does(self, backend: Backend, firm: FirmOfTest) -> None:
        async def caller() -> Any:
            return firm.a

        tools = await make_mcp(backend, caller).list_tools()
        assert "north__memory_save" in {tool.name for tool in tools}
        assert [tool.name for tool in tools if KEEP_NAME.search(tool.name)] == []
        properties = {name for tool in tools for name in tool.parameters["properties"]}
        assert [name for name in properties if KEEP_NAME.search(name)] == []


def _event_names() -> Iterator[str]:
    """Every string in the code that is an event's name."""
    for path in (ROOT / "north").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and re.fullmatch(r"(memory|rule)_[a-z_]+", text):
                yield text


def _names(description: Any) -> Iterator[str]:
    """Addresses, operations and fields of the API's description."""
    if isinstance(description, dict):
        for key, value in description.items():
            yield key
            if key == "operationId":
                yield value
            yield from _names(value)
    elif isinstance(description, list):
        for value in description:
            yield from _names(value)
