from __future__ import annotations

import codecs
import contextlib
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north.connectors.chat_history.document import encoding_of
from north.connectors.chat_history.export import open_export
from north.connectors.chat_history.shapes import Conversation
from north.errors import ExportNotRecognised, ExportRefused
from tests.connectors.chat_history.building import (
    chatgpt,
    claude,
    node,
    of_kind,
    read,
    read_json,
    read_text,
    said,
    simple,
    texts,
    zipped,
)

LONGEST = 300 * 1024
"""KiB that reading may take at its peak, the interpreter among them."""
READ = """
import re, sys
from collections import Counter
from pathlib import Path
from north.connectors.chat_history.export import open_export
with open_export(Path(sys.argv[1])) as export:
    found = Counter(type(item).__name__ for item in export)
# Not ru_maxrss, which a process takes over from the one that started it.
print(dict(found), re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


def peak(path: Path) -> tuple[dict[str, int], int]:
    """What an export gives, and the peak in KiB of a process that reads it and nothing else."""
    done = subprocess.run([sys.executable, "-c", READ, str(path)], check=True, capture_output=True, text=True)
    found, _, kibibytes = done.stdout.rpartition(" ")
    return json.loads(found.replace("'", '"')), int(kibibytes)


class TestEncodings:
    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    @pytest.mark.parametrize(
        ("codec", "mark"),
        [
            ("utf-8", b""),
            ("utf-8", codecs.BOM_UTF8),
            ("utf-16-le", codecs.BOM_UTF16_LE),
            ("utf-16-be", codecs.BOM_UTF16_BE),
            ("utf-16-le", b""),
            ("utf-16-be", b""),
            ("utf-32-le", codecs.BOM_UTF32_LE),
        ],
        ids=["utf-8", "utf-8-sig", "utf-16-le-sig", "utf-16-be-sig", "utf-16-le", "utf-16-be", "utf-32"],
    )
    def test_files_are_read_in_every_usual_one(self, tmp_path: Path, codec: str, mark: bytes, newline: str) -> None:
        text = json.dumps([simple(1, "Cap it at “2” 😀")], indent=1, ensure_ascii=False).replace("\n", newline)
        [conversation] = read_text(tmp_path, mark + text.encode(codec))
        assert texts(conversation) == ["Cap it at “2” 😀"]

    def test_bytes_that_are_no_text_are_replaced(self, tmp_path: Path) -> None:
        data = json.dumps([simple(1, "Cap it")]).encode().replace(b"Cap", b"C\xff\xfep")
        [conversation] = read_text(tmp_path, data)
        assert texts(conversation) == ["C\ufffd\ufffdp it"]

    @given(st.binary(max_size=8))
    def test_any_beginning_has_an_encoding(self, data: bytes) -> None:
        codecs.lookup(encoding_of(data))


class TestShapes:
    @pytest.mark.parametrize("wrapped", [False, True], ids=["list", "wrapped"])
    @pytest.mark.parametrize("one", [simple(1), claude(said("q", "One."))], ids=["chatgpt", "claude"])
    def test_conversations_may_stand_in_a_list_in_an_object_or_alone(
        self, tmp_path: Path, one: dict[str, object], wrapped: bool
    ) -> None:
        listed = {"version": 1, "conversations": [one, one], "more": []} if wrapped else [one, one]
        assert len(of_kind(read_json(tmp_path, listed), Conversation)) == 2
        assert len(of_kind(read_json(tmp_path, one), Conversation)) == 1

    @pytest.mark.parametrize("other", [None, 7, "text", [], {}, {"foo": 1}, True], ids=str)
    def test_an_element_of_another_kind_is_told_and_the_others_read(self, tmp_path: Path, other: object) -> None:
        found = read_json(tmp_path, [simple(1), other, simple(2)])
        assert [type(item).__name__ for item in found] == ["Conversation", "Broken", "Conversation"]

    def test_a_file_that_ends_in_the_middle_gives_all_before(self, tmp_path: Path) -> None:
        text = json.dumps([simple(1), simple(2), simple(3)])
        found = read_text(tmp_path, text[: text.index("Title 3") + 20])
        assert [type(item).__name__ for item in found] == ["Conversation", "Conversation", "Broken"]
        assert "ends in the middle of it" in str(found[-1])

    def test_the_order_is_the_same_every_time(self, tmp_path: Path) -> None:
        path = zipped(
            tmp_path,
            {f"{n}.json": json.dumps([simple(n), simple(n + 50)]) for n in random.Random(1).sample(range(50), 50)},
        )
        assert read(path) == read(path)

    @given(st.binary(max_size=300) | st.text(st.characters(codec="utf-8"), max_size=200).map(str.encode))
    def test_anything_else_is_refused_by_name(self, tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
        with contextlib.suppress(ExportNotRecognised, ExportRefused):
            read_text(tmp_path_factory.getbasetemp(), data, "anything")

    @given(st.integers(0, 2_000), st.integers(1, 20), st.binary(min_size=1, max_size=20))
    def test_damage_anywhere_never_raises(
        self, tmp_path_factory: pytest.TempPathFactory, place: int, length: int, put: bytes
    ) -> None:
        data = json.dumps([simple(n) for n in range(4)]).encode()
        with contextlib.suppress(ExportNotRecognised, ExportRefused):
            read_text(tmp_path_factory.getbasetemp(), data[:place] + put + data[place + length :], "damaged")

    def test_a_first_conversation_that_is_damaged_does_not_hide_the_others(self, tmp_path: Path) -> None:
        text = json.dumps([simple(n) for n in range(4)]).replace('"title": "Title 0"', '"title": "Title 0')
        found = read_text(tmp_path, text)
        assert [type(item).__name__ for item in found] == ["Broken", *["Conversation"] * 3]


class TestProgress:
    @pytest.mark.parametrize("packed", [False, True], ids=["file", "zip"])
    def test_it_moves_from_nothing_to_all(self, tmp_path: Path, packed: bool) -> None:
        noise = random.Random(1)
        shards = {f"{n}.json": json.dumps([simple(n, noise.randbytes(60_000).hex())]) for n in range(40)}
        path = zipped(tmp_path, shards)
        if not packed:
            path = tmp_path / "conversations.json"
            path.write_text("[" + ", ".join(text[1:-1] for text in shards.values()) + "]")
        with open_export(path) as export:
            assert (export.position, export.size) == (0, path.stat().st_size)
            places = [export.position for _ in export]
            assert export.position == export.size
        assert places == sorted(places)
        assert len(set(places)) > (30 if packed else 1)

    def test_the_file_is_closed_afterwards(self, tmp_path: Path) -> None:
        path = tmp_path / "export"
        path.write_text(json.dumps([simple(1)]))
        with open_export(path) as export:
            list(export)
        with pytest.raises(ValueError, match="closed"):
            list(export)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")
class TestMemory:
    def test_a_large_file_with_giants_among_its_conversations(self, tmp_path: Path) -> None:
        path = tmp_path / "conversations.json"
        ordinary = [json.dumps(simple(n, "Always use New York law. " * 2_000)) for n in range(20)]
        giant = json.dumps(chatgpt(node("q", None, "x"), title="giant"))
        with path.open("w") as file:
            file.write("[" + giant.replace('"x"', '"' + "x" * 20_000_000 + '"') + ",")
            file.write(giant.replace('"x"', "[" + "[]," * 1_500_000 + "0]") + ",")
            file.write(giant.replace('"x"', '"' + "x" * 15_000_000 + '\\ud83d\\ude00"') + ",")
            for _ in range(80):
                file.write(",".join(ordinary) + ",")
            file.write(simple_text(1) + "]")
        assert path.stat().st_size > 120_000_000
        found, kibibytes = peak(path)
        assert found == {"Broken": 2, "Conversation": 1_602}
        assert kibibytes < LONGEST

    def test_a_zip_of_it_and_an_object_instead_of_a_list(self, tmp_path: Path) -> None:
        object_alone = json.dumps(chatgpt(node("q", None, "x"))).replace('"x"', '"' + "x" * 30_000_000 + '"')
        path = zipped(tmp_path, {"one.json": object_alone, "other.json": json.dumps([simple(1)])})
        found, kibibytes = peak(path)
        assert found == {"Broken": 1, "Conversation": 1}
        assert kibibytes < LONGEST


def simple_text(number: int) -> str:
    """A conversation as JSON."""
    return json.dumps(simple(number))
