from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from north.connectors.chat_history import gemini_page
from north.connectors.chat_history.gemini_time import told_time
from north.connectors.chat_history.shapes import Broken, Conversation, Skipped
from tests.connectors.chat_history.building import of_kind, read_json, read_text, texts

CELL = "content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1"
HEAD = "<html><head><title>My Activity History</title><style>.x{color:red}</style></head><body><div class='mdl-grid'>"


def entry(content: str, product: str = "Gemini Apps") -> str:
    return (
        '<div class="outer-cell mdl-cell mdl-cell--12-col mdl-shadow--2dp"><div class="mdl-grid">'
        f'<div class="header-cell mdl-cell"><p class="mdl-typography--title">{product}<br></p></div>'
        f'<div class="{CELL}">{content}</div><div class="{CELL} mdl-typography--text-right">Right</div>'
        '<div class="content-cell mdl-cell mdl-typography--caption"><b>Products:</b><br>&emsp;Gemini Apps<br></div>'
        "</div></div>"
    )


def page(*entries: str) -> str:
    return HEAD + "".join(entries) + "</div></body></html>"


def test_one_activity_is_one_conversation(tmp_path: Path) -> None:
    answer = "<p>Use <b>New York</b> law.</p><ul><li>One &amp; two</li></ul>"
    [item] = read_text(
        tmp_path, page(entry(f"Prompted\u00a0Which law<br>do we use?<br>Jan 5, 2025, 3:04:05\u202fPM CET<br>{answer}"))
    )
    assert isinstance(item, Conversation)
    assert [(turn.role, turn.text) for turn in item.turns] == [
        ("user", "Which law\ndo we use?"),
        ("assistant", "Use New York law.\n\n- One & two"),
    ]
    assert item.at == datetime(2025, 1, 5, 14, 4, 5, tzinfo=UTC)
    assert (item.title, item.label) == ("Which law do we use?", "Gemini · Which law do we use?")


def test_attached_files_are_not_the_users_words(tmp_path: Path) -> None:
    attached = "Attached 1 file.<br>-&nbsp;<a href='x'>nda.pdf</a><br>"
    [item] = read_text(tmp_path, page(entry(f"Prompted Read this<br>{attached}Jan 5, 2025, 3:04:05 PM UTC<br>Ok.")))
    assert texts(item) == ["Read this", "Ok."]


def test_activities_of_other_products_and_other_kinds_are_left_out(tmp_path: Path) -> None:
    found = read_text(
        tmp_path,
        page(
            entry("Searched for&nbsp;law<br>Jan 5, 2025, 3:04:05 PM UTC<br>", "Search"),
            entry("Used Gemini Apps<br>Jan 5, 2025, 3:04:05 PM UTC<br>"),
            entry("Prompted Hi<br>Jan 5, 2025, 3:04:05 PM UTC<br>Hello"),
        ),
    )
    assert [type(item) for item in found] == [Skipped, Conversation]


def test_a_page_in_any_pieces_reads_the_same(tmp_path: Path) -> None:
    text = page(
        *(entry(f"Prompted Question &#8212; {n}<br>Jan {n}, 2025, 3:04:05 PM UTC<br><p>A</p>") for n in range(1, 29))
    )
    whole = gemini_page.Page()
    expected = [*whole.read(text), *whole.end()]
    for size in (1, 13):
        pieces = gemini_page.Page()
        found = [each for place in range(0, len(text), size) for each in pieces.read(text[place : place + size])]
        assert [*found, *pieces.end()] == expected
    assert len(expected) == 28


def test_a_page_that_ends_in_the_middle_says_so(tmp_path: Path) -> None:
    text = page(*(entry(f"Prompted Question {n}<br>Jan 5, 2025, 3:04:05 PM UTC<br>A") for n in range(3)))
    found = read_text(tmp_path, text[: text.rindex("</div>", 0, -200)])
    assert [type(item) for item in found] == [Conversation, Conversation, Broken]
    assert found[-1] == Broken("gemini", "Activity 3", "The file ends in the middle of it.")


def test_an_activity_or_a_tag_without_end_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemini_page, "_LONGEST", 5_000)
    monkeypatch.setattr(gemini_page, "_LONGEST_TAG", 5_000)
    small = entry("Prompted Hi<br>Jan 5, 2025, 3:04:05 PM UTC<br>Hello")
    found = read_text(tmp_path, page(small, entry("Prompted " + "x" * 9_000), small, '<a href="' + "x" * 200_000))
    assert len(of_kind(found, Conversation)) == 2
    assert [broken.reason for broken in of_kind(found, Broken)] == [
        f"It is larger than {5_000 // 2**20} million characters, or nested too deeply.",
        "The page is damaged here: a tag does not end.",
    ]


def test_the_json_of_takeout_reads_the_same(tmp_path: Path) -> None:
    activity = {
        "header": "Gemini Apps",
        "title": "Prompted Which law?",
        "time": "2025-01-05T14:04:05.123Z",
        "products": ["Gemini Apps"],
        "safeHtmlItem": [{"html": "<p>New York.</p>"}],
    }
    other = activity | {"header": "YouTube", "products": ["YouTube"], "title": "Watched a film"}
    [item] = read_json(tmp_path, [other, activity])
    assert texts(item) == ["Which law?", "New York."]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Jan 5, 2025, 3:04:05\u202fPM CET", datetime(2025, 1, 5, 14, 4, 5, tzinfo=UTC)),
        ("Jan 5, 2025, 12:00:00\u00a0AM PST", datetime(2025, 1, 5, 8, tzinfo=UTC)),
        ("5 Jan 2025, 15:04:05 GMT+05:30", datetime(2025, 1, 5, 9, 34, 5, tzinfo=UTC)),
        ("5 Sept 2025, 15:04:05 BST", datetime(2025, 9, 5, 14, 4, 5, tzinfo=UTC)),
        ("05.01.2025, 15:04:05 MEZ", datetime(2025, 1, 5, 14, 4, 5, tzinfo=UTC)),
        ("Jan 5, 2025, 3:04:05 PM GMT-3", datetime(2025, 1, 5, 18, 4, 5, tzinfo=UTC)),
        ("Jan 5, 2025, 3:04:05 PM XYZ", datetime(2025, 1, 5, 15, 4, 5, tzinfo=UTC)),
        ("Jan 5, 2025, 3:04:05 PM", datetime(2025, 1, 5, 15, 4, 5, tzinfo=UTC)),
        ("Feb 30, 2025, 3:04:05 PM UTC", None),
        ("Jan 5, 0025, 3:04:05 PM UTC", None),
        ("Foo 5, 2025, 3:04:05 PM UTC", None),
        ("Jan 5, 2025, 3:04:05 PM GMT+99", None),
        ("On Jan 5, 2025, 3:04:05 PM CET we met", None),
    ],
)
def test_times_are_told_with_their_zone(line: str, expected: datetime | None) -> None:
    assert told_time(line) == expected
