from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from north.connectors.chat_history import document, elements
from north.connectors.chat_history.elements import Damaged

PIECES = (1, 7, 100_000)


def fits(keys: frozenset[str]) -> bool:
    return "mapping" in keys


def split(text: str, size: int = 7, start: int = 1, in_list: bool = True) -> list[Any]:
    pieces = (text[place : place + size] for place in range(0, len(text), size))
    return list(elements.elements(pieces, start, in_list, fits))


def titles(found: list[Any]) -> list[str]:
    return [each.title if isinstance(each, Damaged) else each["title"] for each in found]


def conversation(title: str, **fields: Any) -> str:
    return json.dumps({"title": title, "mapping": {"a": [{"b": "c"}, {}], "d": 'e, {f} [g] "h" \\'}} | fields)


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window so small that everything goes beyond it."""
    monkeypatch.setattr(elements, "_STEP", 10)


@pytest.fixture
def small_cap(monkeypatch: pytest.MonkeyPatch, small_steps: None) -> None:
    """No more than this for one element."""
    monkeypatch.setattr(elements, "LONGEST", 2_000)


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ELEMENTS = st.lists(st.dictionaries(st.text(), VALUES, max_size=4), max_size=4)


class TestWhole:
    @settings(max_examples=50)
    @given(
        st.lists(st.dictionaries(st.text(), VALUES, max_size=4), max_size=4),
        st.integers(1, 30),
        st.integers(1, 40),
        st.booleans(),
    )
    def test_gives_what_json_gives(self, values: list[Any], size: int, step: int, pretty: bool) -> None:
        text = json.dumps(values, indent=2 if pretty else None, ensure_ascii=pretty)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(elements, "_STEP", step)
            assert split(text, size) == values

    @pytest.mark.parametrize("size", PIECES)
    def test_objects_that_follow_one_another_need_no_list(self, size: int, small_steps: None) -> None:
        assert split('{"a": 1}\r\n{"b": 2}{"c": 3}\n\n', size, 0, in_list=False) == [{"a": 1}, {"b": 2}, {"c": 3}]

    def test_odd_numbers_and_control_characters_are_read(self) -> None:
        [value] = split('[{"a": NaN, "b": -Infinity, "c": ' + "9" * 5_000 + ', "d": "line\nbreak\x00", "e": 1e999}]')
        assert value["c"] == value["e"] == float("inf")
        assert value["d"] == "line\nbreak\x00"


@pytest.mark.usefixtures("small_steps")
class TestDamage:
    @pytest.mark.parametrize("size", PIECES)
    @pytest.mark.parametrize(
        "broken",
        [
            '{"title": "broken", "mapping": {"a": nul}}',
            '{"title": "broken", "mapping": {"a": "\\x"}}',
            '{"title": "broken", "mapping": {"a" "b"}}',
            '{"title": "broken", "mapping": {"a": 1,, "b": 2}}',
            '{"title": "broken", "mapping": {"a": "b"}',  # a bracket is lost
            '{"title": "broken", "mapping": {"a": "b}}',  # a quote is lost
            '{"title": "broken", "mapping": {"a": "b" c"}}',  # a quote too many
            '{"title": "broken", "mapping": {"a": ["b"}}',
            '{"title": "broken", "mapping": ' + '{"a":' * 5_000 + "1" + "}" * 5_000 + "}",
        ],
        ids=["literal", "escape", "colon", "comma", "bracket", "lost-quote", "quote", "list", "deep"],
    )
    def test_costs_nobody_but_the_element(self, broken: str, size: int) -> None:
        found = split(f"[{conversation('first')}, {broken}, {conversation('second')}, {conversation('third')}]", size)
        assert titles(found) == ["first", "broken", "second", "third"]
        assert [isinstance(each, Damaged) for each in found] == [False, True, False, False]

    def test_reasons_never_quote_the_text(self) -> None:
        found = split('[{"title": "t", "mapping": {"secret words": nul}}, {"mapping": "other secret')
        assert all(isinstance(each, Damaged) for each in found)
        assert "secret" not in str([each.reason for each in found])

    def test_an_element_that_is_no_object_stands_for_itself(self) -> None:
        assert split('[1, "a", null, [], {"title": "t"}, true]') == [1, "a", None, [], {"title": "t"}, True]

    def test_says_where_a_file_ends_in_the_middle(self) -> None:
        whole = conversation("first")
        text = f"[{whole}, {conversation('second')}"
        first, cut = split(text[:-10])
        assert (first["title"], cut.title) == ("first", "second")
        assert cut.reason == f"The file ends in the middle of it, after {len(text) - 10} characters."

    @pytest.mark.parametrize("ending", ["", ",", ", ", "\n"])
    def test_says_where_a_list_is_not_ended(self, ending: str) -> None:
        first, cut = split(f"[{conversation('first')}{ending}")
        assert first["title"] == "first"
        assert cut == Damaged("After conversation 1", cut.reason)
        assert "too early" in cut.reason

    def test_cut_anywhere_it_gives_all_before_and_one_damage(self) -> None:
        text = f"[{conversation('first')}, {conversation('second')}]"
        for end in range(1, len(text)):
            *before, last = split(text[:end], 100_000)
            assert isinstance(last, Damaged), end
            assert titles(before) == ["first", "second"][: len(before)]


@pytest.mark.usefixtures("small_cap")
class TestSize:
    @pytest.mark.parametrize("size", [1, 7])
    @pytest.mark.parametrize(
        "large",
        [
            {"mapping": {"a": "x" * 9_000}},
            {"mapping": {"a": '\\"{[' * 3_000}},
            {"mapping": [[{"a": "]}"}] * 50] * 20},
            {"mapping": {"a": '}, {"mapping": ' * 500}},
        ],
        ids=["string", "escapes", "brackets", "disguise"],
    )
    def test_what_is_too_large_is_passed_over(self, large: dict[str, Any], size: int) -> None:
        found = split(f"[{conversation('first')}, {conversation('large', **large)}, {conversation('second')}]", size)
        assert titles(found) == ["first", "large", "second"]
        assert found[1].reason == f"It is larger than {2_000 // 2**20} million characters."

    def test_one_large_element_that_does_not_end_is_damaged_once(self) -> None:
        assert len(split(f"[{conversation('large', mapping='x' * 9_000)}"[:-20])) == 1

    def test_a_quote_that_is_lost_long_before_the_end_costs_one_element(self) -> None:
        rest = ", ".join(conversation(f"c{number}") for number in range(100))
        found = split(f'[{{"title": "broken", "mapping": {{"a": "b}}}}, {rest}]')
        assert titles(found) == ["broken", *(f"c{number}" for number in range(100))]

    def test_many_small_parts_are_refused_by_what_they_would_take(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("north.connectors.chat_history.decoding._MOST_MEMORY", 10_000)
        found = split(f"[{conversation('first')}, {conversation('many', mapping=[[]] * 300)}]")
        assert titles(found) == ["first", "many"]
        assert found[1].reason == "It has too many parts to be read."


class TestLines:
    @given(st.lists(st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"])), min_size=1))
    def test_lines_are_split_at_line_feeds_alone(self, lines: list[str]) -> None:
        data = "\n".join(lines).encode()
        chunks = [data[place : place + 3] for place in range(0, len(data), 3)]
        found = list(document.Document("d", lambda: iter(chunks)).lines())
        assert "".join(line or "" for line in found).removeprefix("\ufeff") == "\n".join(lines).removeprefix("\ufeff")
        assert all(line and line.endswith("\n") for line in found[:-1])

    def test_a_line_that_is_too_long_is_told_and_passed_over(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(document, "LONGEST", 5)
        data = b"one\nmuch too long\ntwo\n" + b"x" * 100
        chunks = [data[place : place + 4] for place in range(0, len(data), 4)]
        assert list(document.Document("d", lambda: iter(chunks)).lines()) == ["one\n", None, "two\n", None]
