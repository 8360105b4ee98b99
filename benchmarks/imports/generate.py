"""A large export in ChatGPT's shape, with made-up words."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# fmt: off
WORDS = (
    "the", "clause", "agreement", "party", "term", "notice", "governing", "law", "court", "filing", "deadline",
    "motion", "draft", "client", "counsel", "merger", "indemnity", "warranty", "lease", "tenant", "option", "price",
    "closing", "escrow", "survey", "§", "naïve", "“quoted”", "always", "never", "please", "we", "should",
)
# fmt: on
SHORTEST, LONGEST = 4, 60
_START = 1_690_000_000


def write_export(path: Path, size: int, seed: int = 7) -> int:
    """Write a `conversations.json` of about `size` bytes; returns how many conversations it holds."""
    chance = random.Random(seed)
    count = 0
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        while file.tell() < size:
            file.write(", " if count else "")
            json.dump(conversation(count, chance), file)
            count += 1
        file.write("]")
    return count


def conversation(number: int, chance: random.Random) -> dict[str, Any]:
    """One conversation: a root, hidden context, and messages of the user and the assistant in turns."""
    nodes = list(_nodes(number, chance))
    for node, child in itertools.pairwise(nodes):
        node["children"] = [child["id"]]
        child["parent"] = node["id"]
    return {
        "title": _words(chance, 5),
        "create_time": _START + number * 1000.5,
        "update_time": _START + number * 1000.5 + 500,
        "mapping": {node["id"]: node for node in nodes},
        "moderation_results": [],
        "current_node": nodes[-1]["id"],
        "conversation_id": f"conversation-{number}",
        "gizmo_id": None,
        "is_archived": False,
        "safe_urls": [],
        "default_model_slug": "made-up",
        "is_do_not_remember": False,
        "id": f"conversation-{number}",
    }


def _nodes(number: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    yield {"id": f"{number}-root", "message": None, "parent": None, "children": []}
    for place in range(2 * chance.randint(SHORTEST // 2, LONGEST // 2)):
        role = ("user", "assistant")[place % 2]
        words = _words(chance, chance.randint(5, 60) if role == "user" else chance.randint(50, 400))
        yield {
            "id": f"{number}-{place}",
            "message": {
                "id": f"{number}-{place}",
                "author": {"role": role, "name": None, "metadata": {}},
                "create_time": _START + number * 1000.5 + place,
                "update_time": None,
                "content": {"content_type": "text", "parts": [words]},
                "status": "finished_successfully",
                "end_turn": role == "assistant",
                "weight": 1.0,
                "metadata": {"model_slug": "made-up", "request_id": f"{number:x}-{place:x}", "is_complete": True},
                "recipient": "all",
                "channel": None,
            },
            "parent": None,
            "children": [],
        }


def _words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(WORDS, k=count))
