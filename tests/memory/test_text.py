from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north.errors import ContentEmpty, ContentNotText, ContentTooLong
from north.memory.text import check_content, content_key, normalise, visible
from north.model import CONTENT_LIMIT

any_text = st.text(st.characters(codec=None, exclude_categories=()))


class TestNormalise:
    def test_makes_every_line_end_one_character(self) -> None:
        assert normalise("one\r\ntwo\rthree\nfour") == "one\ntwo\nthree\nfour"

    def test_strips_the_white_space_around_a_text_and_keeps_what_is_inside(self) -> None:
        assert normalise(" \t\n a  b\n\nc \u3000\n") == "a  b\n\nc"

    def test_composes_what_a_keyboard_sent_in_pieces(self) -> None:
        assert normalise("Gebu\u0308hr") == "Gebühr"

    def test_keeps_what_was_said_as_it_was_typed(self) -> None:
        said = "½ of ﬁles™ <b>are</b> \x1b[31mred\x07 \u202eevil\u202c 👩\u200d⚖️"
        assert normalise(said) == said

    @given(any_text)
    def test_is_stable(self, text: str) -> None:
        assert normalise(normalise(text)) == normalise(text)


class TestCheckContent:
    def test_returns_the_normalised_text(self) -> None:
        assert check_content("  The client is a Delaware LLC.\r\n") == "The client is a Delaware LLC."

    @pytest.mark.parametrize("text", ["\0", "before\0after", "\ud800", "half a pair \udfff", "\udc00\ud800"])
    def test_refuses_what_cannot_be_stored(self, text: str) -> None:
        with pytest.raises(ContentNotText, match="cannot be stored"):
            check_content(text)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            " \t\r\n\u00a0\u2028\u3000",
            "\u200b\u200d\ufeff\u00ad\u2060",
            "\u202e\u2066\u2069",
            "\ufe0f\U000e0100",
            "\U000e0041\U000e007f",
            "\u3164\u115f\u2800\u034f",
            "\x01\x1b\x7f\x85",
            "\ue000\U0010ffff\ufdd0",
        ],
    )
    def test_refuses_what_nobody_can_see(self, text: str) -> None:
        with pytest.raises(ContentEmpty):
            check_content(text)

    def test_takes_a_text_of_exactly_the_limit_after_normalisation(self) -> None:
        text = "u\u0308" * CONTENT_LIMIT
        assert check_content(f"  {text}\n") == "ü" * CONTENT_LIMIT

    def test_refuses_one_character_more_and_says_how_many_there_are(self) -> None:
        with pytest.raises(ContentTooLong) as refusal:
            check_content("x" * (CONTENT_LIMIT + 1))
        assert refusal.value.detail == {"length": 2001, "limit": 2000}
        assert "2001" in str(refusal.value)

    def test_counts_characters_not_bytes_or_utf_16_units(self) -> None:
        assert check_content("👍" * CONTENT_LIMIT) == "👍" * CONTENT_LIMIT

    def test_refuses_megabytes_of_combining_marks_at_once(self) -> None:
        hostile = "a" + "\u0301\u0327" * 500_000
        started = time.perf_counter()
        with pytest.raises(ContentTooLong):
            check_content(hostile)
        assert time.perf_counter() - started < 1

    @given(any_text)
    def test_returns_storable_visible_text_within_the_limit_or_refuses(self, text: str) -> None:
        try:
            content = check_content(text)
        except (ContentEmpty, ContentNotText, ContentTooLong):
            return
        assert 1 <= len(content) <= CONTENT_LIMIT
        assert "\0" not in content
        assert content.encode()
        assert visible(content)
        assert check_content(content) == content


class TestContentKey:
    @pytest.mark.parametrize(
        "same",
        [
            "THE CLIENT OWES  ½\nOF THE STRASSE",
            " the client owes \u00a0½ of the straße ",
            "The client owes ½ of the stra\u1e9ee".replace("\u1e9ee", "ße"),
            "Ｔｈｅ client owes ½ of the Straße",
        ],
    )
    def test_is_equal_whatever_the_case_the_width_and_the_white_space(self, same: str) -> None:
        assert content_key(same) == content_key("The client owes ½ of the Straße")

    def test_is_equal_when_letters_compose_only_after_case_folding(self) -> None:
        assert content_key("\u03aa\u0301") == content_key("\u0390")

    def test_differs_when_the_words_differ(self) -> None:
        keys = {content_key(text) for text in ("due 14 June", "due 15 June", "due 14June", "due 14 June.")}
        assert len(keys) == 4

    def test_is_32_bytes_and_the_same_in_every_process(self) -> None:
        expected = "dc365e79d41cfae1c3c0d969319ae62165b81b1815a86c32bbc6c64cbdf2311b"
        assert content_key("North").hex() == expected

    @given(any_text.filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text)))
    def test_does_not_depend_on_the_form_of_composition(self, text: str) -> None:
        assert content_key(unicodedata.normalize("NFD", text)) == content_key(text)


class TestVisible:
    @pytest.mark.parametrize(
        ("text", "seen"),
        [
            ("a\r\nb\vc\fd\x1ce\x85f\u2028g\u2029h", "a b c d e f g h"),
            ("us\u200ber\u00ad_\u2060me\ufeffmory\u2063", "user_memory"),
            ("\u202eevil\u202c \u2066x\u2069", "evil x"),
            ("hi\U000e0068\U000e0069\U000e007f", "hi"),
            ("a\ue000b\U000f0000c\U0010fffdd", "abcd"),
            ("a\ufffeb\uffffc\ufdd0d\U0001ffffe", "abcde"),
            ("a\ud800b", "ab"),
            ("\x1b[31mred\x08\x7f\x9b", "[31mred"),
            ("ａ﹤ﬁ𝓾", "a<fiu"),
            ("a" + "\u0336" * 50 + "b", "a" + "\u0336" * 4 + "b"),
            ("a" + "\u0344" * 4, "ä\u0301\u0308\u0301\u0308"),
            ("lost \ufffd letter", "lost \ufffd letter"),
            ("كِتَابٌ नमस्ते สัญญา", "كِتَابٌ नमस्ते สัญญา"),
        ],
    )
    def test_shows_what_a_reader_sees(self, text: str, seen: str) -> None:
        assert visible(text) == seen

    @given(any_text)
    def test_is_stable_and_on_one_line(self, text: str) -> None:
        seen = visible(text)
        assert visible(seen) == seen
        assert seen == " ".join(seen.split())
        assert len(seen) <= 18 * len(text)

    def test_takes_linear_time_on_stacks_of_marks(self) -> None:
        hostile = "a" + "\u0301\u0327" * 50_000 + "\uff9e\u0327" * 50_000
        started = time.perf_counter()
        visible(hostile)
        assert time.perf_counter() - started < 1
