"""How fast an export is read, beside `json.load` of the same file as the floor, and the peak memory of each.

Each reading is a process of its own, so that its peak is its own; they take turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.figures import machine
from benchmarks.imports.generate import write_export
from north.connectors.chat_history.export import open_export

MEBIBYTE = 1024 * 1024


def read_by_north(path: Path) -> int:
    """Read the export as an import does; returns how many conversations came."""
    with open_export(path) as export:
        return Counter(type(item).__name__ for item in export)["Conversation"]


def read_by_floor(path: Path) -> int:
    """Decode the whole file at once, and do nothing with it."""
    with path.open(encoding="utf-8") as file:
        return len(json.load(file))


READINGS = {"north": read_by_north, "json.load": read_by_floor}


def measure(reading: str, path: Path) -> dict[str, Any]:
    """Read once in a process of its own: seconds, conversations, and its peak in MiB."""
    command = [sys.executable, "-m", "benchmarks.imports.run", "--read", reading, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def read_once(reading: str, path: Path) -> dict[str, Any]:
    """What `measure` runs in the process of its own."""
    begun = time.perf_counter()
    conversations = READINGS[reading](path)
    seconds = time.perf_counter() - begun
    # Not ru_maxrss, which a process takes over from the one that started it.
    peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
    return {"seconds": seconds, "conversations": conversations, "peak_mib": peak}


def compare(size: int, rounds: int) -> dict[str, Any]:
    """Generate an export of `size` MiB and read it in turns, `rounds` times each."""
    with tempfile.TemporaryDirectory(prefix="north-bench-") as folder:
        plain, packed = Path(folder) / "conversations.json", Path(folder) / "export.zip"
        written = write_export(plain, size * MEBIBYTE)
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.write(plain, "conversations.json")
        ways = {"north": ("north", plain), "north, zip": ("north", packed), "json.load": ("json.load", plain)}
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, (reading, path) in ways.items():
                runs[name].append(measure(reading, path))
    return {"machine": machine(), "mib": size, "conversations": written} | {
        name: figures(of_one, size) for name, of_one in runs.items()
    }


def figures(runs: list[dict[str, Any]], size: int) -> dict[str, Any]:
    """The median of several readings."""
    seconds = statistics.median(run["seconds"] for run in runs)
    return {
        "read": runs[0]["conversations"],
        "seconds": round(seconds, 2),
        "conversations_per_second": round(runs[0]["conversations"] / seconds),
        "mib_per_second": round(size / seconds, 1),
        "peak_mib": round(max(run["peak_mib"] for run in runs)),
    }


def main() -> None:
    """Run the benchmark, or one reading of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=500, help="MiB of the generated export")
    parser.add_argument("--rounds", type=int, default=3, help="how often each reads it; the median counts")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--read", nargs=2, metavar=("HOW", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        print(json.dumps(read_once(options.read[0], Path(options.read[1]))))
        return
    result = compare(options.size, options.rounds)
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print(result["machine"])
    print(f"{result['conversations']:,} conversations in {result['mib']} MiB, ChatGPT's shape")
    for name in ("json.load", "north", "north, zip"):
        of_one = result[name]
        ratio = result["json.load"]["seconds"] / of_one["seconds"]
        print(
            f"{name:<11} {of_one['conversations_per_second']:>6,} conversations/s  {of_one['mib_per_second']:>6} MiB/s"
            f"  {ratio:.2f} of the floor's speed  peak {of_one['peak_mib']:,} MiB"
        )


if __name__ == "__main__":
    main()
