"""Archives whose maker means harm, and those that only look so."""

from __future__ import annotations

import io
import json
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from north.connectors.chat_history import archive
from north.connectors.chat_history.export import open_export
from north.connectors.chat_history.shapes import Broken, Conversation
from north.errors import ExportNotRecognised, ExportRefused
from tests.connectors.chat_history.building import counts, of_kind, read, read_text, simple, texts, zipped

INNER_ZIP = b"PK\x03\x04" + b"\0" * 26 + b"inner.json"
GZIP, SEVEN_ZIP, TAR = b"\x1f\x8b\x08x", b"7z\xbc\xaf\x27\x1cx", b"x" * 257 + b"ustar\0"
LOST = {"title": "t", "create_time": 1, "update_time": 1, "id": "3"}
CONVERSATIONS = json.dumps([simple(1)])


def refusal(path: Path) -> str:
    with pytest.raises(ExportRefused) as refused:
        read(path)
    return str(refused.value)


def patched(path: Path, change: Callable[[bytearray], None]) -> Path:
    """The archive with some of its bytes changed."""
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(data)
    return path


class TestRefused:
    @pytest.mark.parametrize(
        "name",
        [
            "../conversations.json",
            "a/../../b.json",
            "/etc/passwd",
            "C:/x.json",
            "C:x.json",
            "..\\x.json",
            "a\\b.json",
            "a/..",
        ],
    )
    def test_names_that_lead_out_of_the_archive(self, tmp_path: Path, name: str) -> None:
        assert "leads out of it" in refusal(zipped(tmp_path, {"conversations.json": CONVERSATIONS, name: "x"}))
        assert [path.name for path in tmp_path.iterdir()] == ["export.zip"]

    def test_links(self, tmp_path: Path) -> None:
        link = zipfile.ZipInfo("link.json")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        path = zipped(tmp_path, {"conversations.json": CONVERSATIONS})
        with zipfile.ZipFile(path, "a") as opened:
            opened.writestr(link, "/etc/passwd")
        assert "a link instead of a file" in refusal(path)

    @pytest.mark.parametrize(
        "inner",
        [
            b"PK\x03\x04" + b"\0" * 26 + b"inner.json",
            b"\x1f\x8b\x08x",
            b"7z\xbc\xaf\x27\x1cx",
            b"Rar!\x1a\x07",
            b"x" * 257 + b"ustar\0",
        ],
        ids=["zip", "gzip", "7z", "rar", "tar"],
    )
    def test_archives_in_the_archive(self, tmp_path: Path, inner: bytes) -> None:
        path = zipped(tmp_path, {"conversations.json": CONVERSATIONS, "looks-like-a-picture.png": inner})
        assert "another archive in the zip" in refusal(path)

    @pytest.mark.parametrize("data", [GZIP, SEVEN_ZIP, TAR], ids=["gzip", "7z", "tar"])
    def test_archives_of_another_kind(self, tmp_path: Path, data: bytes) -> None:
        with pytest.raises(ExportRefused, match="no zip"):
            read_text(tmp_path, data)

    def test_encrypted_members(self, tmp_path: Path) -> None:
        def encrypt(data: bytearray) -> None:
            data[data.index(b"PK\x01\x02") + 8] |= 1

        assert "encrypted" in refusal(patched(zipped(tmp_path, {"conversations.json": CONVERSATIONS}), encrypt))

    @pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_unusual_packing_which_may_take_any_memory(self, tmp_path: Path, method: int) -> None:
        path = tmp_path / "export.zip"
        with zipfile.ZipFile(path, "w", method) as opened:
            opened.writestr("conversations.json", CONVERSATIONS)
        assert "unusual way" in refusal(path)

    def test_too_many_members(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(archive, "MOST_MEMBERS", 3)
        assert "more than 3 files" in refusal(zipped(tmp_path, {f"{place}.json": CONVERSATIONS for place in range(4)}))

    def test_a_directory_that_is_too_large_before_it_is_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(archive, "_LARGEST_READ", 20_000)
        path = zipped(tmp_path, {f"{place:0100}.json": "x" for place in range(300)})
        with pytest.raises(ExportRefused) as refused:
            read(path)
        assert "files" in str(refused.value)

    @pytest.mark.parametrize("end", [30, 100, -30, -1])
    def test_archives_that_are_cut_off(self, tmp_path: Path, end: int) -> None:
        path = zipped(tmp_path, {"conversations.json": CONVERSATIONS})
        path.write_bytes(path.read_bytes()[:end])
        assert "damaged or not complete" in refusal(path)


class TestBombs:
    def test_what_inflates_too_steeply_is_refused_while_it_inflates(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(archive, "_ALWAYS_ALLOWED", 1_000_000)
        path = zipped(tmp_path, {"conversations.json": f"[{json.dumps(simple(1))},{' ' * 20_000_000}]"})
        assert path.stat().st_size < 100_000
        assert "inflates beyond measure" in refusal(path)

    def test_all_members_together_are_counted(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(archive, "LARGEST_INFLATED", 3_000)
        path = zipped(tmp_path, {f"{place}.json": CONVERSATIONS for place in range(20)})
        assert "inflates beyond measure" in refusal(path)

    def test_what_really_comes_out_is_counted_whatever_the_headers_promise(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = zipped(tmp_path, {f"{n}.json": json.dumps([simple(n, "word " * 100_000)]) for n in range(3)})
        with open_export(path) as export:
            monkeypatch.setattr(archive, "LARGEST_INFLATED", 1_200_000)
            items = iter(export)
            assert isinstance(next(items), Conversation)
            with pytest.raises(ExportRefused, match="inflates beyond measure"):
                list(items)

    def test_a_header_that_promises_less_hides_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(archive, "LARGEST_INFLATED", 200_000)

        def lie(data: bytearray) -> None:
            for mark, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
                struct.pack_into("<I", data, data.rindex(mark) + place, 150_000)

        text = json.dumps([*(simple(n, "x" * 10_000) for n in range(10)), simple(10, "y" * 900_000)])
        found = read(patched(zipped(tmp_path, {"conversations.json": text}), lie))
        assert counts(found) == {"Broken": 1, "Conversation": 10}

    def test_members_that_share_their_data_are_told_as_damaged(self, tmp_path: Path) -> None:
        def share(data: bytearray) -> None:
            second = data.rindex(b"PK\x01\x02")
            struct.pack_into("<I", data, second + 42, 0)

        path = zipped(tmp_path, {"a.json": CONVERSATIONS, "b.json": CONVERSATIONS})
        assert len(of_kind(read(patched(path, share)), Conversation)) <= 2


class TestTaken:
    def test_a_real_export_with_all_that_lies_beside_the_conversations(self, tmp_path: Path) -> None:
        office = io.BytesIO()
        with zipfile.ZipFile(office, "w") as opened:
            opened.writestr("[Content_Types].xml", "<Types/>")
        path = zipped(
            tmp_path,
            {
                "user.json": json.dumps({"id": "user-1", "email": "ana@firm.test"}),
                "message_feedback.json": json.dumps([{"id": "1", "conversation_id": "c", "rating": "thumbs_up"}]),
                "shared_conversations.json": json.dumps([{"id": "1", "conversation_id": "c", "title": "t"}]),
                "model_comparisons.json": "[]",
                "chat.html": "<html><body>" + CONVERSATIONS + "</body></html>",
                "file-1-photo.png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40,
                "audio/x.wav": b"RIFF\0\0\0\0WAVE",
                "file-2-nda.docx": office.getvalue(),
                "file-3-diary.txt": "2025-01-01 - Somebody else's line",
                "file-4-messages.json": json.dumps([{"role": "user", "content": "A sample"}]),
                "conversations-000.json": json.dumps([simple(1)]),
                "conversations-001.json": json.dumps(
                    [simple(2), {"title": "t", "create_time": 1, "update_time": 1, "id": "3"}]
                ),
                "conversations-002.json": "[]",
                "__MACOSX/._conversations-000.json": b"\0\5\x16\7",
                "folder/.DS_Store": b"\0\0\0\1Bud1",
                "folder/": "",
            },
        )
        found = read(path)
        assert [type(item) for item in found] == [Conversation, Conversation, Broken]
        assert [each.key for each in of_kind(found, Conversation)] == ["conversation-1", "conversation-2"]

    def test_thousands_of_shards(self, tmp_path: Path) -> None:
        path = zipped(tmp_path, {f"conversations-{n:05}.json": json.dumps([simple(n)]) for n in range(2_000)})
        assert len(of_kind(read(path), Conversation)) == 2_000

    def test_a_member_that_is_damaged_costs_nobody_else(self, tmp_path: Path) -> None:
        members = {f"{place}.json": json.dumps([simple(place, f"{place} " * 4_000)]) for place in range(3)}
        path = tmp_path / "export.zip"
        with zipfile.ZipFile(path, "w") as opened:
            for name, text in members.items():
                opened.writestr(name, text)

        def damage(data: bytearray) -> None:
            data[data.index(b"1 1 1 1")] = ord("9")

        found = read(patched(path, damage))
        assert [type(item) for item in found] == [Conversation, Broken, Conversation]

    @pytest.mark.parametrize(
        "members", [{}, {"a.txt": "A letter."}, {"user.json": "{}"}], ids=["empty", "letter", "user"]
    )
    def test_a_zip_without_an_export_is_not_recognised(self, tmp_path: Path, members: dict[str, str]) -> None:
        with pytest.raises(ExportNotRecognised):
            read(zipped(tmp_path, members))

    @pytest.mark.parametrize("at", [b"One", b"Last"], ids=["beginning", "end"])
    def test_whatever_is_damaged_is_told(self, tmp_path: Path, at: bytes) -> None:
        rows = "".join(f"Law,2026-05-01T10:00:00,Human,Again {number}\n" for number in range(3_000))
        table = f"Conversation,Time,Author,Message\nLaw,2026-05-01T10:00:00,Human,One\n{rows}Law,,Human,Last\n"
        path = tmp_path / "export.zip"
        with zipfile.ZipFile(path, "w") as opened:
            opened.writestr("a.csv", table if at == b"Last" else table[:200])
            opened.writestr("b.json", CONVERSATIONS)

        def damage(data: bytearray) -> None:
            data[data.index(at)] ^= 1

        found = of_kind(read(patched(path, damage)), Broken)
        assert [(broken.title, "damaged" in broken.reason) for broken in found] == [("a.csv", True)]

    def test_names_tell_nothing(self, tmp_path: Path) -> None:
        [conversation] = read(zipped(tmp_path, {"holiday.png": CONVERSATIONS}, "letter.docx"))
        assert texts(conversation) == ["Always use New York law."]

    def test_a_pasted_list_may_come_in_a_zip_of_its_own(self, tmp_path: Path) -> None:
        assert len(read(zipped(tmp_path, {"memory.md": "[2025-03-01] - Bills in tenths."}))) == 1
