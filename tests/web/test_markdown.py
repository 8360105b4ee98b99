from __future__ import annotations

import json

import pytest

from north.web.markdown import render_markdown, split_open_block, without_half_link
from tests.conftest import shared_data


class TestRenderMarkdown:
    def test_shows_an_image_as_words_and_fetches_nothing(self) -> None:
        assert render_markdown("![the seal](https://evil.test/p.png?d=secret)") == "<p>[image: the seal]</p>\n"

    def test_shows_where_a_link_leads(self) -> None:
        shown = render_markdown("[your bank](https://evil.test/login)")
        assert "your bank</a>" in shown
        assert "(evil.test)" in shown
        assert 'rel="noopener noreferrer nofollow"' in shown

    def test_does_not_repeat_the_address_of_a_bare_link(self) -> None:
        assert render_markdown("<https://north.test>").count("north.test") == 2

    @pytest.mark.parametrize(
        "text",
        [
            "[x](javascript:alert(1))",
            "[x](JaVaScRiPt:alert(1))",
            "[x](&#106;avascript:alert(1))",
            "[x](data:text/html;base64,PHNjcmlwdD4=)",
            "[x](vbscript:x)",
            "[x](file:///etc/passwd)",
            "[x](//evil.test)",
            "[x](/logout)",
            "<javascript:alert(1)>",
        ],
    )
    def test_makes_a_link_of_no_other_scheme(self, text: str) -> None:
        assert "<a " not in render_markdown(text)

    def test_shows_html_as_text(self) -> None:
        shown = render_markdown("<script>alert(1)</script> and <img src=x onerror=alert(1)>\n\n<style>*{}</style>")
        assert not {"<script", "<img", "<style"} & {part.split()[0].rstrip(">") for part in shown.split("<") if part}
        assert "&lt;script&gt;" in shown

    def test_aligns_a_table_by_class_since_inline_style_is_forbidden(self) -> None:
        shown = render_markdown("| a | b |\n|:--|--:|\n| 1 | 2 |")
        assert '<td class="align-right">2</td>' in shown
        assert "style=" not in shown

    def test_skips_no_heading_level_below_the_message(self) -> None:
        assert render_markdown("# One\n\n#### Four") == (
            '<h3 class="level-1">One</h3>\n<h3 class="level-4">Four</h3>\n'
        )

    def test_runs_nothing_of_the_hostile_list(self) -> None:
        for text in json.loads(shared_data("hostile/blns.json").read_text()):
            shown = str(render_markdown(text)).lower()
            assert not any(tag in shown for tag in ("<script", "<img", "<svg", "<iframe", "<style", "<object"))
            assert 'href="javascript' not in shown


class TestSplitOpenBlock:
    ANSWER = (
        "# Title\n\nA paragraph\nof two lines.\n\n1. one\n2. two\n\n   more of two\n\n> quote\n\n"
        "```\ncode\n\ncode\n```\n\n| a |\n|---|\n| 1 |\n\nThe end.\n"
    )

    def test_leaves_a_single_block_open(self) -> None:
        assert split_open_block("Only one") == ("", "Only one")

    def test_settles_what_comes_before_the_last_block(self) -> None:
        assert split_open_block("One.\n\nTwo") == ("One.\n\n", "Two")

    def test_counts_lines_as_markdown_does(self) -> None:
        assert split_open_block("One\u2028still one.\x0b\r\n\r\nTwo") == ("One\u2028still one.\x0b\n\n", "Two")

    @pytest.mark.parametrize("size", [1, 3, 7, 50])
    def test_shows_at_the_end_what_the_whole_answer_shows(self, size: int) -> None:
        settled, open_block = "", ""
        for start in range(0, len(self.ANSWER), size):
            done, open_block = split_open_block(open_block + self.ANSWER[start : start + size])
            settled += render_markdown(done)
        assert settled + render_markdown(open_block) == render_markdown(self.ANSWER)


class TestWithoutHalfLink:
    @pytest.mark.parametrize(
        ("written", "shown"),
        [
            ("See [the manual](https://www.leg", "See the manual"),
            ("See [the manual](", "See the manual"),
            ("See [the manual](https://a.test)", "See [the manual](https://a.test)"),
            ("See [the manual](https://a.test) and [x", "See [the manual](https://a.test) and [x"),
        ],
    )
    def test_shows_the_words_of_a_link_until_its_address_is_whole(self, written: str, shown: str) -> None:
        assert without_half_link(written) == shown
