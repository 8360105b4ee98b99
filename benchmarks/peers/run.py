"""North beside mem0, LangGraph's PostgresStore and chroma: `python -m benchmarks.peers.run`.

The same texts, the same MiniLM vectors, the same machine and, where a system uses Postgres, the same server. Every turn
of a LoCoMo conversation is added, every question of categories 1 to 4 is asked. The systems take turns, block by
block, so that whatever else the machine does weighs on all of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import typer

from benchmarks.figures import machine, percentile
from benchmarks.latency.firm import settle
from benchmarks.peers.environments import NORTH, PEERS, ROOT, Peer, interpreter
from benchmarks.recall.locomo import Conversation, Question, read_conversations
from benchmarks.recall.run import DATA
from benchmarks.temporary import temporary_north
from north.db.embedded import EmbeddedServer
from north.db.migrate import ensure_database

BLOCK = 40
DEPTH = 10


@dataclass
class Measured:
    """One system's process, and what was measured of it."""

    peer: Peer
    process: subprocess.Popen[str]
    add: list[float] = field(default_factory=list)
    settling: float = 0.0
    search: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)

    def tell(self, **command: Any) -> dict[str, Any]:
        """Send one command and wait for its answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self) -> dict[str, Any]:
        """The next answer; says which system died when there is none."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.peer.name} ended before it was asked to; see its messages above")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def remember(self, room: str, texts: Sequence[dict[str, str]]) -> None:
        """Add a block of texts."""
        answer = self.tell(do="add", room=room, texts=texts)
        self.add += answer["seconds"]
        self.settling += answer["settling"]

    def ask(self, room: str, questions: Sequence[Question]) -> None:
        """Ask a block of questions, and compare with their evidence."""
        answer = self.tell(do="search", room=room, queries=[each.text for each in questions], limit=DEPTH)
        self.search += answer["seconds"]
        for question, found in zip(questions, answer["found"], strict=True):
            seen = {key for keys in found[:DEPTH] for key in keys.split("|")}
            self.shares.append(len(question.evidence & seen) / len(question.evidence))

    def figures(self) -> dict[str, float]:
        """Evidence recall and milliseconds."""
        return {
            f"recall@{DEPTH}": fmean(self.shares),
            "add p50": 1000 * percentile(self.add, 50),
            "add p95": 1000 * percentile(self.add, 95),
            "add and vector": 1000 * (sum(self.add) + self.settling) / len(self.add),
            "search p50": 1000 * percentile(self.search, 50),
            "search p95": 1000 * percentile(self.search, 95),
        }


def _blocks(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (items[start : start + BLOCK] for start in range(0, len(items), BLOCK))


def compare(systems: Sequence[Measured], conversations: Sequence[Conversation], rest: Callable[[], None]) -> None:
    """Let every system remember every conversation and answer its questions, in turns; `rest` comes in between."""
    for conversation in conversations:
        texts = [
            {"key": min(text.turns), "text": text.content, "session": text.session, "said_at": text.said_at.isoformat()}
            for text in conversation.texts
        ]
        for block in _blocks(texts):
            for system in systems:
                system.remember(conversation.name, block)
        rest()
        for block in _blocks(conversation.questions):
            for system in systems:
                system.ask(conversation.name, block)


def _database(peer: Peer) -> str:
    return peer.module if peer.packages else "north"


@contextmanager
def _started(peer: Peer, server: EmbeddedServer, north_url: str, folder: Path) -> Iterator[Measured]:
    """A system's process, with a database or a folder of its own, and nothing of it that calls home."""
    python = interpreter(peer)
    database = _database(peer)
    if peer.packages:
        ensure_database(server.superuser_url("postgres"), database)
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "PEER_DATABASE_URL": server.superuser_url(database) if peer.packages else north_url,
        "PEER_FOLDER": str(folder / database),
        "MEM0_DIR": str(folder / database),
        "MEM0_TELEMETRY": "False",
        "OPENAI_API_KEY": "never used",
    }
    command = [str(python), "-m", f"benchmarks.peers.systems.{peer.module}", *peer.arguments]
    (folder / database).mkdir(exist_ok=True)
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        measured = Measured(peer, process)
        measured.answer()
        yield measured


def report(systems: Sequence[Measured], conversations: Sequence[Conversation]) -> str:
    """A table, and whether North is first in each column."""
    figures = {system.peer.name: system.figures() for system in systems}
    columns = list(figures[NORTH.name])
    lines = [
        f"{sum(len(each.texts) for each in conversations)} texts, {len(systems[0].shares)} questions; milliseconds",
        f"machine {machine()}",
        "",
        f"{'system':<22}" + "".join(f"{column:>16}" for column in columns),
    ]
    for name, row in figures.items():
        lines.append(f"{name:<22}" + "".join(f"{row[column]:>16.{_digits(column)}f}" for column in columns))
    behind = [column for column in columns if not _first(figures, column)]
    lines += ["", f"North is first in all columns{' but ' + ', '.join(behind) if behind else ''}."]
    return "\n".join(lines)


def _digits(column: str) -> int:
    return 3 if column.startswith("recall") else 1


def _first(figures: dict[str, dict[str, float]], column: str) -> bool:
    others = [row[column] for name, row in figures.items() if not name.startswith(NORTH.name)]
    mine = figures[NORTH.name][column]
    return not others or (mine >= max(others) if column.startswith("recall") else mine <= min(others))


def main(
    conversations: Annotated[int, typer.Option(help="How many conversations; 0 for all.", min=0)] = 0,
    only: Annotated[list[str] | None, typer.Option(help="Only these systems; may be repeated.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
) -> None:
    """Print how much of the evidence each system finds, and how long adding and searching take."""
    if not DATA.exists():
        print(f"Skipped: {DATA} is not there.", file=sys.stderr)
        return
    chosen = read_conversations(DATA)[: conversations or None]
    peers = [peer for peer in PEERS if not only or peer.name in only or peer is NORTH]
    for peer in peers:
        interpreter(peer)
    with (
        temporary_north() as (_, place, server),
        tempfile.TemporaryDirectory(prefix="north-peers-") as folder,
        ExitStack() as stack,
    ):
        systems = [stack.enter_context(_started(peer, server, place.database_url, Path(folder))) for peer in peers]

        def rest() -> None:
            for database in {_database(peer) for peer in peers}:
                settle(server, database)

        compare(systems, chosen, rest)
        if as_json:
            print(json.dumps({"machine": machine(), **{each.peer.name: each.figures() for each in systems}}, indent=2))
        else:
            print(report(systems, chosen))


if __name__ == "__main__":
    typer.run(main)
