"""Every class of hostile text in every field of all that is written for a model; and what each test is worth."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from north.chat.mining import prompt_of
from north.memory import fence
from north.memory.lost import Gone
from north.memory.mining import Passage, Said
from north.memory.text import visible
from north.model import Matter, Scope, new_id
from tests.conftest import shared_data
from tests.hostile.classes import CLASSES, FENCES, halves, texts_of
from tests.hostile.effort import TIMES
from tests.hostile.judging import assert_holds, assert_preserved, broken
from tests.hostile.prompting import FIELDS, NOWHERE, PLACES, WHEN, prompts
from tests.memory.test_fence import memory

every_class = pytest.mark.parametrize("name", CLASSES)
MARK = "Marker4711"


def assert_all_hold(texts: dict[str, str], times: int) -> None:
    written = prompts(texts)
    for said, fences in written.values():
        assert_holds(said, fences, times)
    for field, text in texts.items():
        for place in PLACES.get(field, ()):
            assert_preserved(text, _in_plain(place, written[place][0]))


def _in_plain(place: str, said: str) -> str:
    """What a model reads in JSON, without JSON's own escapes, which hold the text together."""
    return (
        said.replace('\\"', '"').replace("\\\\", "\\") if place in {"chat tools", "mcp shapes", "mcp matter"} else said
    )


@every_class
def test_holds_in_every_field(name: str) -> None:
    for text in texts_of(name):
        assert_all_hold(dict.fromkeys(FIELDS, text), CLASSES[name].readings)


@pytest.mark.parametrize("field", NOWHERE)
def test_says_nothing_in_fields_that_no_model_is_given(field: str) -> None:
    for name in CLASSES:
        for said, _ in prompts({field: f"{MARK} {texts_of(name)[0]}"}).values():
            assert MARK not in said


@pytest.mark.parametrize("tag", FENCES)
def test_holds_with_a_tag_in_halves_over_two_fields(tag: str) -> None:
    pairs = [("personal", "second personal"), ("document title", "document text"), ("matter number", "of the matter")]
    pairs += [("hit's title", "hit's editor"), ("hit's editor", "cabinet")]
    for first, second in halves(tag):
        for one, other in pairs:
            assert_all_hold({one: first, other: second}, 0)


@pytest.mark.parametrize("name", ["blns.json", "smuggling_homoglyph_5.txt"])
def test_holds_with_the_public_lists(name: str) -> None:
    raw = shared_data(f"hostile/{name}").read_text()
    texts: list[str] = json.loads(raw) if name.endswith(".json") else [raw, *raw.splitlines()]
    for start in range(0, len(texts), len(FIELDS)):
        some = texts[start : start + len(FIELDS)]
        for fields in (FIELDS, FIELDS[::-1], FIELDS[7:] + FIELDS[:7]):
            for said, fences in prompts(dict(zip(fields, some, strict=False))).values():
                assert_holds(said, fences)


anything = st.one_of(
    st.sampled_from([(text, kind.readings) for name, kind in CLASSES.items() for text in texts_of(name)]),
    st.text(st.characters(codec=None, exclude_categories=()), max_size=60).map(lambda text: (text, 0)),
    st.sampled_from(["The client is Acme.", "", "&", "%", "<", ">", "\u0338", '"', "\n- [", "\\"]).map(
        lambda t: (t, 0)
    ),
)
pieces = st.lists(anything, min_size=1, max_size=3)


@settings(max_examples=60 * TIMES)
@given(st.dictionaries(st.sampled_from(FIELDS), pieces, min_size=1, max_size=len(FIELDS)))
@example({"personal": [("&lt", 0)], "second personal": [(";/user_memory>", 0)]})
@example({"document title": [("</docum", 0)], "document text": [("ent>", 0)]})
def test_holds_in_any_combination_of_fields(fields: dict[str, list[tuple[str, int]]]) -> None:
    # What is put together may spell a tag in fewer readings than its parts, so the combination is read as it stands.
    for said, fences in prompts({name: "".join(text for text, _ in found) for name, found in fields.items()}).values():
        assert_holds(said, fences)


def test_a_reader_who_decodes_once_reads_what_was_meant_and_no_more() -> None:
    for name in CLASSES:
        for text in texts_of(name):
            assert html.unescape(fence.clean(text)) == visible(text)


@every_class
def test_the_miner_reads_lines_that_nothing_said_can_end(name: str) -> None:
    for text in texts_of(name):
        matter = Matter(new_id(), text, "Harbor v. Vance")
        said = (Said(new_id(), "user", text, WHEN), Said(new_id(), "assistant", f"{text}{text}", WHEN))
        passage = Passage(new_id(), matter, None, said, (Gone(text, b"", Scope.MATTER, True, WHEN),))
        prompt = prompt_of(passage, [memory(text), memory(text)])
        lines = [line for line in prompt.splitlines() if line.startswith("{")]
        assert len(prompt.splitlines()) == 4 + len(lines) and len(lines) == 5
        assert [json.loads(line)["said"] for line in lines[3:]] == [text, f"{text}{text}"], "copied for evidence"
        known = "\n".join([prompt.splitlines()[0], *lines[:3]])
        assert_holds(known, {}, CLASSES[name].readings)


# --- what the tests above are worth -------------------------------------------------------------------------

_clean = fence.clean


def _raw(text: str, limit: int | None = None) -> str:
    return text


def _html_alone(text: str, limit: int | None = None) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _brackets_alone(text: str, limit: int | None = None) -> str:
    return visible(text).replace("<", "&lt;").replace(">", "&gt;")


def _closing_tags_cut_out(text: str, limit: int | None = None) -> str:
    return re.sub("</(user_memory|matter_memory|document)>", "", visible(text))


def _closing_tags_escaped(text: str, limit: int | None = None) -> str:
    return re.sub("</(?=user_memory|matter_memory|document)", "&lt;/", visible(text))


def _escaped_before_folding(text: str, limit: int | None = None) -> str:
    return visible(_html_alone(text))


def _without_percent(text: str, limit: int | None = None) -> str:
    return _clean(text, limit).replace("&#37;", "%")


def _cut_after_escaping(text: str, limit: int | None = None) -> str:
    return _clean(text)[: limit or 1990]


def _ascii_brackets_alone(text: str, limit: int | None = None) -> str:
    return _html_alone(visible(text))


def _with_line_ends(text: str, limit: int | None = None) -> str:
    return "\n".join(_clean(line) for line in text.splitlines())


def _nothing(text: str, limit: int | None = None) -> str:
    return "removed"


MUTANTS: dict[str, Callable[..., str]] = {
    "no cleaning": _raw,
    "HTML escapes and no more": _html_alone,
    "brackets escaped, entities left": _brackets_alone,
    "closing tags cut out": _closing_tags_cut_out,
    "closing tags escaped": _closing_tags_escaped,
    "escaped before folding": _escaped_before_folding,
    "percent signs left": _without_percent,
    "cut after escaping": _cut_after_escaping,
    "look-alikes left": _ascii_brackets_alone,
    "line ends left": _with_line_ends,
    "texts thrown away": _nothing,
}


def _caught(mutant: Callable[..., str], name: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the tests above fail on a class when North cleans by this mutant."""
    with monkeypatch.context() as patch:
        patch.setattr(fence, "clean", mutant)
        for text in texts_of(name):
            written = prompts(dict.fromkeys(("personal", "of the matter", "document title", "document text"), text))
            if any(broken(*written[place], CLASSES[name].readings) for place in ("briefing", "document")):
                return True
            try:
                assert_preserved(text, written["briefing"][0])
            except pytest.fail.Exception:
                return True
    return False


@every_class
def test_would_be_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _caught(_raw, name, monkeypatch) or any(_caught(each, name, monkeypatch) for each in MUTANTS.values())


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_weaker_fence_would_be_caught(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert any(_caught(MUTANTS[mutant], name, monkeypatch) for name in CLASSES)
