"""The REST API, and what anybody can ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.isolation.machine.calls import Call, Door, Hand, Make, Request, named, nothing
from tests.isolation.machine.world import Kind

V1 = "/api/v1"
STREAM = {"Accept": "text/event-stream"}
STATUSES = ("active", "superseded", "archived")


def agent(route: str, make: Make = nothing, names: Kind | None = None, label: str = "", needs: int = 399) -> Call:
    method, _, path = route.partition(" ")
    return Call(f"{method} {V1}{path}", Door.AGENT, make, names, label, needs)


def body(make: Callable[[Hand], dict[str, Any]]) -> Make:
    return lambda hand: Request(json=make(hand))


def named_body(make: Callable[[Hand], dict[str, Any]]) -> Make:
    return lambda hand: Request((hand.name,), json=make(hand))


def save(hand: Hand) -> Request:
    firm_wide = hand.random.random() < 0.3
    new = {
        "content": hand.firm_wide() if firm_wide else hand.private(),
        "type": hand.type(),
        "scope": "firm_global" if firm_wide else "user_private",
    }
    # The same key for lawyers who write the same number: a key is its lawyer's, and never another's.
    headers = {"Idempotency-Key": str(hand.random.randrange(40))} if hand.random.random() < 0.2 else {}
    return Request(json=new, headers=headers)


def save_for_matter(hand: Hand) -> dict[str, Any]:
    return {"content": hand.firm_wide(), "type": hand.type(), "scope": "matter", "matter": hand.name}


def listing(hand: Hand) -> Request:
    asked = {
        "status": hand.random.choice(STATUSES),
        "limit": hand.random.choice((3, 200)),
        "scope": hand.random.choice((None, "user_private", "matter", "firm_global")),
        "q": hand.random.choice((None, None, "retainer", "qz", "code vault")),
    }
    return Request(query={key: value for key, value in asked.items() if value is not None})


def recall(hand: Hand) -> dict[str, Any]:
    return {"query": hand.random.choice(("retainer", "the code of the vault", "qz")), "limit": 200}


def rule(hand: Hand) -> dict[str, Any]:
    phrase = hand.lawyer.private if hand.random.random() < 0.1 else f"forbidden {hand.lawyer.private}"
    return {"action": "never_remember", "phrase": phrase}


def said(hand: Hand) -> str:
    """What a lawyer tells the assistant. On a matter, only a question may be private: a statement may be kept there."""
    question = f"What is known of {hand.lawyer.private}?"
    return question if hand.random.random() < 0.4 else f"Remember: {hand.fitting()}"


def message(hand: Hand) -> Request:
    return Request((hand.name,), json={"text": said(hand)})


def streamed_message(hand: Hand) -> Request:
    return Request((hand.name,), json={"text": said(hand)}, headers=STREAM)


def opened_on(hand: Hand) -> dict[str, Any]:
    return {"matter": hand.name}


def with_session(hand: Hand) -> Request:
    return Request(
        json={"content": hand.firm_wide(), "type": "fact", "scope": "firm_global", "session": hand.name},
    )


def consultation(hand: Hand) -> dict[str, Any]:
    return {"source": "netdocuments", "session": hand.name}


def exported(hand: Hand) -> bytes:
    """A list of memories as another assistant prints it."""
    return "".join(f"[2026-0{month}-11] - {hand.private()}\n" for month in range(1, 4)).encode()


def imported(hand: Hand) -> Request:
    return Request(files={"file": (f"{hand.lawyer.private}.txt", exported(hand), "text/plain")})


def another_token(hand: Hand) -> dict[str, Any]:
    return {"name": f"Token {hand.lawyer.private}"}


def new_matter(hand: Hand) -> dict[str, Any]:
    mark = hand.lawyer.firm.shared
    return {"number": f"M-{mark}-{hand.number()}", "name": f"Matter {mark}"}


def changed(hand: Hand) -> dict[str, Any]:
    return {"content": hand.fitting()}


ABOUT_MATTERS = (
    ("POST /memories", body(save_for_matter), "for a matter"),
    ("GET /memories", lambda hand: Request(query={"matter": hand.name, "limit": 200}), "of a matter"),
    ("POST /recall", body(lambda hand: {**recall(hand), "matter": hand.name}), "on a matter"),
    ("GET /briefing", lambda hand: Request(query={"matter": hand.name}), "on a matter"),
    ("POST /threads", body(opened_on), "on a matter"),
)

CALLS: tuple[Call, ...] = (
    agent("POST /memories", save),
    agent("GET /memories", listing),
    agent("GET /memories/{id}", named, Kind.MEMORY),
    agent("GET /memories/{id}/history", named, Kind.MEMORY),
    agent("PATCH /memories/{id}", named_body(changed), Kind.MEMORY),
    agent("DELETE /memories/{id}", named, Kind.MEMORY),
    agent("POST /memories/{id}/restore", named, Kind.MEMORY),
    agent("POST /memories", with_session, Kind.SESSION, "in a session"),
    agent("POST /recall", body(recall)),
    agent("GET /briefing"),
    agent("GET /rules"),
    agent("POST /rules", body(rule)),
    agent("DELETE /rules/{id}", named, Kind.RULE),
    agent("GET /matters"),
    agent("POST /matters", body(new_matter)),
    agent("GET /threads"),
    agent("POST /threads", body(lambda hand: {})),
    agent("GET /threads/{id}", named, Kind.THREAD),
    agent("POST /threads/{id}/messages", message, Kind.THREAD),
    agent("POST /threads/{id}/messages", streamed_message, Kind.THREAD, "as a stream"),
    # Nothing is paused any more: 409 is what a thread of one's own answers.
    agent("POST /threads/{id}/resume", named_body(lambda hand: {"approved": True}), Kind.THREAD, needs=409),
    agent("GET /tokens"),
    agent("POST /tokens", body(another_token)),
    agent("DELETE /tokens/{id}", named, Kind.TOKEN),
    agent("POST /wall/consultations", body(consultation), Kind.SESSION),
    agent("POST /imports", imported),
    agent("GET /imports"),
    agent("GET /imports/{id}", named, Kind.IMPORT),
    agent("POST /imports/{id}/cancel", named, Kind.IMPORT, needs=409),
    agent("POST /imports/{id}/undo", named, Kind.IMPORT, needs=409),
    *(agent(route, make, Kind.MATTER, label) for route, make, label in ABOUT_MATTERS),
    *(agent(route, make, Kind.MATTER_NUMBER, f"{label}'s number") for route, make, label in ABOUT_MATTERS),
)


def anybody(route: str, *values: str, needs: int = 399, **asked: Any) -> Call:
    return Call(route, Door.ANYBODY, lambda hand: Request(values, **asked), needs=needs)


PUBLIC: tuple[Call, ...] = (
    anybody("GET /api/docs"),
    anybody("GET /api/docs/{name}", "docs.js"),
    anybody("GET /api/openapi.json"),
    anybody("GET /api/problems/{code}", "not_found"),
    anybody("GET /healthz"),
    anybody("GET /readyz"),
    anybody("GET /metrics"),
    anybody("GET /.well-known/oauth-protected-resource"),
    anybody("GET /.well-known/oauth-protected-resource/mcp"),
    anybody("GET /.well-known/oauth-authorization-server"),
    anybody("POST /revoke", form={"client_id": "nobody", "token": "nothing"}, needs=401),
)
