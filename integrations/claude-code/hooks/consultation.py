"""Tells North that this session read from NetDocuments or iManage, before Claude uses what it read.

From then on North accepts no matter memory from this token for some hours; personal memory it does. When North cannot
be told, Claude is, since nobody else would keep what was read out of the memory that the firm shares.
"""

from __future__ import annotations

import json
import re
import sys

from rest import Away, call, is_set_up, tell

SOURCES = {
    "netdocuments": ("NetDocuments", re.compile(r"[^a-z]net[_-]?doc(s|uments)", re.IGNORECASE)),
    "imanage": ("iManage", re.compile(r"[^a-z]imanage", re.IGNORECASE)),
}

UNTOLD = (
    "North could not be told that this session has read from {name}. Save nothing about a matter in North for the "
    "rest of this session; personal memory may be saved."
)


def main() -> None:
    """Report the sources that the tool's name tells."""
    if not is_set_up():
        return
    try:
        tool = str(json.load(sys.stdin)["tool_name"])
    except (ValueError, KeyError, TypeError):
        return
    for source, (name, pattern) in SOURCES.items():
        if pattern.search(tool):
            try:
                call("POST", "/wall/consultations", {"source": source})
            except Away:
                tell("PostToolUse", UNTOLD.format(name=name))


if __name__ == "__main__":
    main()
