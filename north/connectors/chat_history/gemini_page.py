"""Takeout's page of activities, as text, while it is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser

_LONGEST = 4 * 1024 * 1024
"""Characters that one activity may take."""
_LONGEST_TAG = 1024 * 1024
_DEEPEST = 1_000
_LONGEST_REST = 10_000
"""Characters after the last complete tag that are looked at; of more, the parser would read each place to the end."""
_BREAKS = ("br", "p", "div", "li", "tr", "ul", "ol", "table", "pre", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6")
_BLANK_LINES = re.compile(r"\n\s*\n\s*")


@dataclass(frozen=True, slots=True)
class Activity:
    """One entry of the page; `problem` says why it cannot be read."""

    number: int
    product: str = ""
    text: str = ""
    problem: str = ""


class Page(HTMLParser):
    """Follows the cells of a page; an activity is given once its outer cell closes, or the next one opens."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._cells: list[str] = []
        self._texts: dict[str, list[str]] = {"header": [], "content": []}
        self._length = 0
        self._number = 0
        self._complete: list[Activity] = []

    def read(self, text: str) -> Iterator[Activity]:
        """Read on; gives the activities that are complete."""
        self.feed(text)
        if len(self.rawdata) > _LONGEST_TAG:
            self.reset()
            self._complete.append(Activity(self._number, problem="The page is damaged here: a tag does not end."))
        complete, self._complete = self._complete, []
        yield from complete

    def end(self) -> Iterator[Activity]:
        """What is left at the end of the page."""
        if self._cells:
            self._complete.append(Activity(self._number, problem="The file ends in the middle of it."))
        yield from self._complete

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A tag opens: it may begin a cell or a line."""
        if tag == "div":
            self._open(dict(attrs).get("class") or "")
        if tag in _BREAKS:
            self._write("\n")
        if tag == "li":
            self._write("- ")

    def handle_endtag(self, tag: str) -> None:
        """A tag closes: it may end a cell or a line."""
        if tag == "div" and self._cells and self._cells.pop() == "outer":
            self._finish()
        elif tag in _BREAKS:
            self._write("\n")

    def handle_data(self, data: str) -> None:
        """Text comes."""
        self._write(data)

    def _open(self, classes: str) -> None:
        if "outer-cell" in classes:
            if self._cells:
                self._finish()
            self._number += 1
            self._cells = ["outer"]
        elif len(self._cells) > _DEEPEST:
            self._length = _LONGEST + 1
        elif self._cells:
            self._cells.append(self._cell(classes))

    def _cell(self, classes: str) -> str:
        """What the texts in a new `div` belong to: as around it, unless it is a cell."""
        if "header-cell" in classes:
            return "header"
        if "content-cell" in classes:
            return "nothing" if "caption" in classes or "text-right" in classes else "content"
        return "within" if self._cells[-1] == "outer" else self._cells[-1]

    def _write(self, text: str) -> None:
        if self._cells and self._cells[-1] in self._texts and self._length <= _LONGEST:
            self._texts[self._cells[-1]].append(text)
            self._length += len(text)

    def _finish(self) -> None:
        if self._length > _LONGEST:
            problem = f"It is larger than {_LONGEST // 2**20} million characters, or nested too deeply."
            self._complete.append(Activity(self._number, problem=problem))
        else:
            header, content = ("".join(parts) for parts in self._texts.values())
            self._complete.append(Activity(self._number, _tidy(header), _tidy(content)))
        self._cells, self._length = [], 0
        self._texts = {"header": [], "content": []}


class _Text(HTMLParser):
    """The text of a piece of HTML."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BREAKS:
            self.parts.append("\n- " if tag == "li" else "\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _BREAKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def text_of_html(html: str) -> str:
    """What a reader sees of a piece of HTML, in lines."""
    parser = _Text()
    parser.feed(html)
    if len(parser.rawdata) < _LONGEST_REST:
        parser.close()
    return _tidy("".join(parser.parts))


def _tidy(text: str) -> str:
    return _BLANK_LINES.sub("\n\n", text).strip()
