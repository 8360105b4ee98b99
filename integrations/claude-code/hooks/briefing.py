"""A session starts with what North remembers; without North it starts as it would have."""

from __future__ import annotations

from rest import Away, call, is_set_up, tell


def main() -> None:
    """Give Claude the briefing, when there is one."""
    if not is_set_up():
        return
    try:
        text = call("GET", "/briefing")["text"]
    except (Away, KeyError):
        return
    if text:
        tell("SessionStart", text)


if __name__ == "__main__":
    main()
