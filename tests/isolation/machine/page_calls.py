"""Every page and every form of the web surface, as a browser with and without scripts uses it."""

from __future__ import annotations

from typing import Any

from tests.isolation.machine.agent_calls import STREAM, exported, said
from tests.isolation.machine.calls import Call, Door, Hand, Make, Request, maybe_htmx, nothing
from tests.isolation.machine.world import Kind

MEMORY = "/settings/memory"
CONNECTIONS = "/settings/connections"
IMPORTS = "/settings/import"
EXPORTS = ("json", "csv", "markdown")


def page(route: str, make: Make = nothing, names: Kind | None = None, label: str = "", needs: int = 399) -> Call:
    return Call(route, Door.BROWSER, make, names, label, needs)


def shown(hand: Hand) -> Request:
    """The page of what is named, whole or the piece of it that a script asks for."""
    return Request((hand.name,), headers=maybe_htmx(hand))


def sent(hand: Hand, **form: Any) -> Request:
    """A form without a name in its path."""
    return Request(form=form, headers=maybe_htmx(hand))


def sent_to(hand: Hand, **form: Any) -> Request:
    """A form of what is named."""
    return Request((hand.name,), form=form, headers=maybe_htmx(hand))


def listing(hand: Hand) -> Request:
    asked = {
        "scope": hand.random.choice(("", "user_private", "matter", "firm_global")),
        "q": hand.random.choice(("", "retainer", "qz")),
        "origin": hand.random.choice(("", "", "chat", "miner")),
    }
    return Request(query=asked, headers=maybe_htmx(hand))


def export(hand: Hand) -> Request:
    return Request((hand.random.choice(EXPORTS),))


def add_memory(hand: Hand) -> Request:
    firm_wide = hand.random.random() < 0.3
    content = hand.firm_wide() if firm_wide else hand.private()
    return sent(hand, content=content, type=hand.type(), where="firm_global" if firm_wide else "user_private")


def add_for_matter(hand: Hand) -> Request:
    return sent(hand, content=hand.firm_wide(), type="fact", where=hand.name)


def add_for_number(hand: Hand) -> Request:
    return sent(hand, content=hand.firm_wide(), type="fact", where="matter", matter=hand.name)


def first_message(hand: Hand) -> Request:
    headers = hand.random.choice(({}, STREAM))
    incognito = {"incognito": "true"} if hand.random.random() < 0.2 else {}
    return Request(form={"text": f"Remember: {hand.private()}", **incognito}, headers=headers)


def first_message_on(hand: Hand) -> Request:
    text = f"What is known of {hand.lawyer.private}?"
    return Request(form={"text": text, "matter": hand.name}, headers=hand.random.choice(({}, STREAM)))


def message(hand: Hand) -> Request:
    return Request((hand.name,), form={"text": said(hand)}, headers=hand.random.choice(({}, STREAM)))


def used_in_own_thread(hand: Hand) -> Request:
    headers = maybe_htmx(hand)
    own = hand.world.thread_of.get(hand.name)
    visible = own in {thing.name for thing in hand.world.visible(Kind.THREAD, hand.lawyer)}
    return Request((own if own and visible else hand.own(Kind.THREAD), hand.name), headers=headers)


def used_in_thread(hand: Hand) -> Request:
    headers = maybe_htmx(hand)
    there = [name for name, thread in hand.world.thread_of.items() if thread == hand.name]
    return Request((hand.name, there[-1] if there else hand.own(Kind.MESSAGE)), headers=headers)


def new_rule(hand: Hand) -> Request:
    return sent(hand, phrase=f"forbidden {hand.lawyer.private}")


def imported(hand: Hand) -> Request:
    return Request(files={"file": (f"{hand.lawyer.private}.txt", exported(hand), "text/plain")})


CALLS: tuple[Call, ...] = (
    page("GET /"),
    page("GET /chat", lambda hand: Request(query={"find": hand.random.choice(("", "qz"))})),
    page("GET /chat", lambda hand: Request(query={"deleted": hand.name}), Kind.THREAD, "after a deletion"),
    page("GET /chat/{thread_id:uuid}", shown, Kind.THREAD),
    page("POST /chat", first_message),
    page("POST /chat", first_message_on, Kind.MATTER, "on a matter"),
    page("POST /chat", first_message_on, Kind.MATTER_NUMBER, "on a matter's number"),
    page("POST /chat/{thread_id:uuid}/messages", message, Kind.THREAD),
    page("POST /chat/{thread_id:uuid}/resume", lambda hand: sent_to(hand, save="true"), Kind.THREAD),
    page("GET /chat/threads", lambda hand: Request(query={"find": "qz"}, headers=maybe_htmx(hand))),
    page(
        "POST /chat/{thread_id:uuid}/rename",
        lambda hand: sent_to(hand, title=f"About {hand.lawyer.private}"),
        Kind.THREAD,
    ),
    page("POST /chat/{thread_id:uuid}/delete", sent_to, Kind.THREAD),
    page("POST /chat/{thread_id:uuid}/restore", sent_to, Kind.THREAD),
    page("GET /chat/{thread_id:uuid}/messages/{message_id:uuid}/used", used_in_own_thread, Kind.MESSAGE, "by message"),
    page("GET /chat/{thread_id:uuid}/messages/{message_id:uuid}/used", used_in_thread, Kind.THREAD, "by thread"),
    page("GET /settings/matters", lambda hand: Request(query={"matter": hand.random.choice(("", "qz"))})),
    page(f"GET {MEMORY}", listing),
    page(f"GET {MEMORY}", lambda hand: Request(query={"highlight": hand.name}), Kind.MEMORY, "with one marked"),
    page(f"GET {MEMORY}", lambda hand: Request(query={"matter": hand.name}), Kind.MATTER, "of a matter"),
    page(f"GET {MEMORY}", lambda hand: Request(query={"matter": hand.name}), Kind.MATTER_NUMBER, "of a number"),
    page(f"GET {MEMORY}/{{memory_id:uuid}}", shown, Kind.MEMORY),
    page(f"GET {MEMORY}/{{memory_id:uuid}}/history", shown, Kind.MEMORY),
    page(f"POST {MEMORY}", add_memory),
    page(f"POST {MEMORY}", add_for_matter, Kind.MATTER, "for a matter"),
    page(f"POST {MEMORY}", add_for_number, Kind.MATTER_NUMBER, "for a number"),
    page(f"GET {MEMORY}/{{memory_id:uuid}}/edit", shown, Kind.MEMORY),
    page(
        f"POST {MEMORY}/{{memory_id:uuid}}/edit",
        lambda hand: sent_to(hand, content=hand.fitting(), type="fact"),
        Kind.MEMORY,
    ),
    page(f"POST {MEMORY}/{{memory_id:uuid}}/delete", sent_to, Kind.MEMORY),
    page(f"POST {MEMORY}/{{memory_id:uuid}}/restore", sent_to, Kind.MEMORY),
    page(f"GET {MEMORY}/export/{{format}}", export),
    page(f"GET {MEMORY}/rules"),
    page(f"POST {MEMORY}/rules", new_rule),
    page(f"POST {MEMORY}/rules/{{rule_id:uuid}}/delete", sent_to, Kind.RULE),
    page(f"GET {CONNECTIONS}"),
    page(f"POST {CONNECTIONS}", lambda hand: sent(hand, name=f"Token {hand.lawyer.private}")),
    page(f"POST {CONNECTIONS}/{{token_id:uuid}}/delete", sent_to, Kind.TOKEN),
    page(f"POST {CONNECTIONS}/programs/{{grant_id:uuid}}/disconnect", sent_to, Kind.GRANT),
    page(f"POST {CONNECTIONS}/netdocuments/disconnect", sent),
    page("GET /settings"),
    page("POST /settings/theme", lambda hand: sent(hand, theme="dark")),
    page(f"GET {IMPORTS}"),
    page(f"POST {IMPORTS}", imported),
    page(f"GET {IMPORTS}/{{import_id:uuid}}", shown, Kind.IMPORT),
    page(f"POST {IMPORTS}/{{import_id:uuid}}/cancel", sent_to, Kind.IMPORT),
    page(f"POST {IMPORTS}/{{import_id:uuid}}/undo", sent_to, Kind.IMPORT),
)
