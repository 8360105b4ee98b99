"""Gemini: Takeout's `MyActivity.html` or `.json`; one activity, a prompt and its answer, is one conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from north.connectors.chat_history.document import Document
from north.connectors.chat_history.gemini_page import Activity, Page, text_of_html
from north.connectors.chat_history.gemini_time import told_time
from north.connectors.chat_history.shapes import Broken, Conversation, Item, Skipped, Turn
from north.connectors.chat_history.values import clean, fingerprint, moment, record, sequence, title_of

SOURCE = "gemini"
_PRODUCT = re.compile(r"gemini|bard", re.IGNORECASE)
_PROMPTED = re.compile(r"(?:Prompted|Asked|Said)\s+", re.IGNORECASE)
_ATTACHED = re.compile(r"Attached \d+ files?\.?")


def fits(keys: frozenset[str]) -> bool:
    """Whether an object with these keys is an activity."""
    return {"header", "title", "time"} <= keys


def is_page(text: str) -> bool:
    """Whether a page lists activities."""
    return 'class="outer-cell' in text


def read_activity(element: dict[str, Any]) -> Iterator[Item]:
    """An activity out of `MyActivity.json`; those of other products are passed over."""
    products = [element.get("header"), *sequence(element.get("products"))]
    if not any(isinstance(product, str) and _PRODUCT.search(product) for product in products):
        return
    answers = [record(item).get("html") for item in sequence(element.get("safeHtmlItem"))]
    answer = "\n".join(text_of_html(html) for html in answers if isinstance(html, str))
    yield _conversation(clean(element.get("title")), answer, element.get("time"))


def read_page(document: Document) -> Iterator[Item]:
    """The activities of `MyActivity.html`, as the page is read; those of other products are passed over."""
    page = Page()
    for piece in document.pieces():
        for activity in page.read(piece):
            yield from _of_page(activity)
    for activity in page.end():
        yield from _of_page(activity)


def _of_page(activity: Activity) -> Iterator[Item]:
    if activity.problem:
        yield Broken(SOURCE, f"Activity {activity.number}", activity.problem)
    elif _PRODUCT.search(activity.product):
        lines = activity.text.split("\n")
        times = (place for place, line in enumerate(lines) if told_time(line) is not None)
        dated = next(times, len(lines))
        prompt = "\n".join(lines[:dated])
        when = told_time(lines[dated]) if dated < len(lines) else None
        yield _conversation(prompt, "\n".join(lines[dated + 1 :]), when and when.isoformat())


def _conversation(prompt: str, answer: str, time: object) -> Item:
    at = moment(time)
    asked = _PROMPTED.match(prompt)
    words = clean(_without_attachments(prompt[asked.end() :])) if asked else ""
    key = fingerprint(SOURCE, str(at), prompt)
    if not words:
        return Skipped(SOURCE, key, title_of(prompt[:60]), "empty")
    turns = [Turn(fingerprint("user", str(at), words), "user", words, at)]
    if reply := clean(answer):
        turns.append(Turn(fingerprint("assistant", str(at), reply), "assistant", reply, at))
    title = title_of(words[:60])
    return Conversation(SOURCE, key, title, f"Gemini · {title}", at, tuple(turns))


def _without_attachments(prompt: str) -> str:
    """The prompt without the list of attached files, which follows it."""
    lines = prompt.split("\n")
    listed = (place for place, line in enumerate(lines) if place and _ATTACHED.fullmatch(line.strip()))
    return "\n".join(lines[: next(listed, len(lines))])
