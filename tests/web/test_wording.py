from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import north.web
from north.model import Confidence, Memory, MemoryType, Origin, Scope, Source, Status, new_id
from north.web.wording import origin_in_words, relative_time, uses_in_words

NOW = datetime(2026, 12, 2, 9, 5, tzinfo=UTC)


def memory(
    origin: Origin = Origin.CHAT,
    source: Source | None = None,
    scope: Scope = Scope.USER_PRIVATE,
    uses: int = 0,
    last_used_at: datetime | None = None,
) -> Memory:
    return Memory(
        id=new_id(),
        content="Text.",
        type=MemoryType.FACT,
        scope=scope,
        matter=None,
        status=Status.ACTIVE,
        confidence=Confidence.HIGH,
        origin=origin,
        created_at=NOW,
        captured_by=None,
        source=source,
        uses=uses,
        last_used_at=last_used_at,
    )


class TestRelativeTime:
    @pytest.mark.parametrize(
        ("ago", "words"),
        [
            (timedelta(seconds=-5), "just now"),
            (timedelta(seconds=59), "just now"),
            (timedelta(minutes=1), "1 minute ago"),
            (timedelta(minutes=59), "59 minutes ago"),
            (timedelta(hours=1), "1 hour ago"),
            (timedelta(hours=23), "23 hours ago"),
            (timedelta(days=1), "yesterday"),
            (timedelta(days=6), "6 days ago"),
            (timedelta(days=7), "25 Nov"),
            (timedelta(days=400), "28 Oct 2025"),
        ],
    )
    def test_is_what_a_person_would_say(self, ago: timedelta, words: str) -> None:
        assert relative_time(NOW - ago, NOW) == words


class TestUses:
    def test_are_counted_with_the_last_one(self) -> None:
        assert uses_in_words(memory(), NOW) == "not used yet"
        assert uses_in_words(memory(uses=1, last_used_at=NOW), NOW) == "used once, last 2 Dec"
        assert uses_in_words(memory(uses=3, last_used_at=NOW), NOW) == "used 3 times, last 2 Dec"

    def test_of_firm_memory_are_none_and_that_is_said(self) -> None:
        assert uses_in_words(memory(scope=Scope.FIRM_GLOBAL), NOW) == "listed only, not used in answers"


class TestOrigin:
    @pytest.mark.parametrize(
        ("origin", "source", "words"),
        [
            (Origin.CHAT, Source(None, None, None, yours=False), "from a colleague’s conversation"),
            (Origin.MINER, Source(None, None, None, yours=False), "from a colleague’s conversation"),
            (Origin.SETTINGS, None, "written by hand"),
            (Origin.MCP, Source(None, None, "Claude", yours=True), "from Claude"),
            (Origin.MCP, None, "from a connected assistant"),
            (Origin.IMPORT, Source(None, None, "ChatGPT, March", yours=True), "from an import “ChatGPT, March”"),
            (Origin.API, None, "from the API"),
        ],
    )
    def test_names_the_place(self, origin: Origin, source: Source | None, words: str) -> None:
        assert origin_in_words(memory(origin, source)) == words


class TestTheCopy:
    """Nobody is ever asked to confirm a memory, so no page has a word for it."""

    def test_has_no_word_for_signing_off_a_memory(self) -> None:
        banned = re.compile(r"\b(review|pending|keeps?|discard|approv\w*|confirm\w*|suggest\w*)\b", re.IGNORECASE)
        folder = Path(north.web.__file__).parent
        for file in [*folder.glob("templates/**/*.html"), folder / "wording.py"]:
            assert not banned.search(file.read_text()), file.name

    def test_opens_no_dialog(self) -> None:
        folder = Path(north.web.__file__).parent
        for file in [*folder.glob("templates/**/*.html"), *folder.glob("static/*.js")]:
            assert "hx-confirm" not in file.read_text()
            assert not re.search(r"\b(confirm|alert|prompt)\(", file.read_text())
