"""An assistant's Markdown as HTML that fetches nothing and runs nothing by itself.

What a model writes may repeat what a stranger wrote. So HTML is shown as text, an image becomes its
description, a link says where it leads, and no attribute is written that the page's content security
policy would refuse.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape

_HALF_LINK = re.compile(r"\[([^\[\]\n]*)\]\([^()\s]*$")
_LINE_BREAK = re.compile(r"\r\n?|\n")


class _Renderer(RendererHTML):
    """Headings of any level become h3: a page's title is h1 and a message h2, and no level is skipped."""

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        description = self.renderInlineAsText(tokens[idx].children or [], options, env)
        return str(escape(f"[image: {description}]" if description else "[image]"))

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        address = tokens[idx].attrGet("href")
        return f'<a href="{escape(str(address))}" rel="noopener noreferrer nofollow" target="_blank">'

    def link_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        opening = _opening(tokens, idx)
        if opening.markup == "autolink":  # its text is the address
            return "</a>"
        return f'</a><span class="link-host"> ({escape(_destination(opening))})</span>'

    def heading_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f'<h3 class="level-{tokens[idx].tag[1]}">'

    def heading_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "</h3>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return _cell(tokens[idx])

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return _cell(tokens[idx])

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f'<pre tabindex="0"><code>{escape(tokens[idx].content)}</code></pre>\n'

    code_block = fence


def _opening(tokens: Sequence[Token], closing: int) -> Token:
    return next(token for token in reversed(tokens[:closing]) if token.type == "link_open")


def _destination(opening: Token) -> str:
    address = urlsplit(str(opening.attrGet("href")))
    return address.hostname or address.path


def _cell(token: Token) -> str:
    side = str(token.attrGet("style") or "").removeprefix("text-align:")
    return f'<{token.tag} class="align-{side}">' if side in {"left", "center", "right"} else f"<{token.tag}>"


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:
        scheme, _, rest = url.partition(":")
        if scheme.lower() == "mailto":
            return bool(rest)
        try:
            return scheme.lower() in {"http", "https"} and bool(urlsplit(url).hostname)
        except ValueError:
            return False


_PARSER = _Parser("commonmark", {"html": False}, renderer_cls=_Renderer).enable(["table", "strikethrough"])


def render_markdown(text: str) -> Markup:
    """Render Markdown (CommonMark with tables and strikethrough) as safe HTML.

    Links to other schemes than http, https and mailto stay text. Never raises on any text.
    """
    return Markup(_PARSER.render(text))  # noqa: S704  # the renderer above escapes all text


def split_open_block(text: str) -> tuple[str, str]:
    """Cut a half-written answer before its last top-level block.

    The first part will look the same whatever is written next and can be shown for good; the second,
    a paragraph, list or table that may still grow, is shown anew with each piece of text. (A link
    reference that is defined further down is the one exception.)
    """
    starts = [token.map[0] for token in _PARSER.parse(text) if token.map and token.level == 0]
    if not starts or starts[-1] == 0:
        return "", text
    lines = _LINE_BREAK.split(text)
    return "\n".join(lines[: starts[-1]]) + "\n", "\n".join(lines[starts[-1] :])


def without_half_link(text: str) -> str:
    """Half-written Markdown in which a link whose address is still being written shows as its words."""
    return _HALF_LINK.sub(r"\1", text)
