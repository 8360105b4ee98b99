"""Lawyers' programs at work over REST: they save with a key, edit, delete, recall and chat, and try again when told to.

What was acknowledged is written down, and compared in the end with what the database holds.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx2

from tests.faults.harness import Lawyer, Postgres

Json = dict[str, Any]
Client = httpx2.AsyncClient

PATIENCE_SECONDS = 90.0
"""How long a program goes on trying before it complains."""
SHORTEST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 0.5
"""North asks for five seconds at a 503; programs that come back sooner find out sooner how long it really takes."""
TRANSIENT = {429, 502, 503}


class Unanswered(Exception):
    """A request that was tried again and again, and never answered."""


@dataclass
class Load:
    """What the programs did, and what they were told."""

    address: str
    lawyers: list[Lawyer]
    expected: dict[str, str] = field(default_factory=dict)
    """Every acknowledged text, and the status that it should have."""
    ids: dict[str, str] = field(default_factory=dict)
    attempted: set[str] = field(default_factory=set)
    """Every text that was ever sent, acknowledged or not."""
    threads: dict[str, str] = field(default_factory=dict)
    """Conversations that are over, and the one thing that was said in each."""
    replies: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)
    dropped: int = 0
    """Requests whose connection broke before an answer."""
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _answered: asyncio.Event = field(default_factory=asyncio.Event)
    _ending: asyncio.Event = field(default_factory=asyncio.Event)
    _running: list[asyncio.Task[None]] = field(default_factory=list)

    def start(self, clients: int, pause: float) -> None:
        """Let so many programs work, each with a pause between two deeds."""
        for number in range(clients):
            lawyer = self.lawyers[number % len(self.lawyers)]
            self._running.append(asyncio.create_task(self._work(lawyer, pause, chats=number == 0)))

    async def end(self) -> None:
        """Let each finish what it does."""
        self._ending.set()
        await asyncio.gather(*self._running)

    async def seconds_until_answered(self, since: float) -> float:
        """How long after `since`, by `time.monotonic`, a request that changes something is acknowledged."""
        self._answered.clear()
        await asyncio.wait_for(self._answered.wait(), PATIENCE_SECONDS)
        return time.monotonic() - since

    async def _work(self, lawyer: Lawyer, pause: float, *, chats: bool) -> None:
        headers = {"Authorization": f"Bearer {lawyer.token}"}
        deeds: list[Callable[[Client], Coroutine[Any, Any, None]]] = [self._save_and_recall, self._edit, self._delete]
        deeds += [self._chat] if chats else []
        async with Client(base_url=f"{self.address}/api/v1", headers=headers, timeout=40) as client:
            for deed in itertools.cycle(deeds):
                if self._ending.is_set():
                    return
                try:
                    await deed(client)
                except Unanswered as error:
                    self.complaints.append(f"{deed.__name__}: no answer: {error}")
                except (KeyError, ValueError, TypeError) as error:
                    self.complaints.append(f"{deed.__name__}: an answer of another shape: {error!r}")
                await asyncio.sleep(pause)

    # --- deeds ------------------------------------------------------------------------------------------------------

    async def _save_and_recall(self, client: Client) -> None:
        text = await self._save(client)
        found = await self._ask(client, "POST", "/recall", {"query": text}, {200})
        if text not in [memory["content"] for memory in found.json()["personal"]]:
            self.complaints.append(f"saved and not recalled: {text}")

    async def _save(self, client: Client) -> str:
        text = self._new_text()
        draft = {"content": text, "type": "fact", "scope": "user_private"}
        reply = await self._ask(client, "POST", "/memories", draft, {200, 201}, key=uuid4().hex)
        if reply.json()["memory"]["content"] != text:
            self.complaints.append(f"another memory than was sent: {text}")
        self.expected[text], self.ids[text] = "active", reply.json()["memory"]["id"]
        return text

    async def _edit(self, client: Client) -> None:
        text, new = await self._save(client), self._new_text()
        reply = await self._ask(client, "PATCH", f"/memories/{self.ids[text]}", {"content": new}, {200, 409})
        # At a second try, the first may turn out to have been done.
        now = reply.json()["memory"] if reply.status_code == 200 else reply.json()["current"]
        if now is None or now["content"] != new:
            self.complaints.append(f"edited by nobody else, and yet not as it was sent: {new}")
            return
        self.expected[text] = "superseded"
        self.expected[new], self.ids[new] = "active", now["id"]

    async def _delete(self, client: Client) -> None:
        text = await self._save(client)
        await self._ask(client, "DELETE", f"/memories/{self.ids[text]}", None, {200})
        self.expected[text] = "archived"

    async def _chat(self, client: Client) -> None:
        """Say one thing in a conversation; whoever gets no answer looks first whether there is one."""
        text = f"Yesterday somebody looked at item {next(self._numbers)} of the file."
        thread = (await self._ask(client, "POST", "/threads", {}, {201})).json()["id"]
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            if await self._once(client, "POST", f"/threads/{thread}/messages", {"text": text}, {200}) is not None:
                break
            shown = (await self._ask(client, "GET", f"/threads/{thread}", None, {200})).json()["messages"]
            if [message["role"] for message in shown] == ["user", "assistant"]:
                break
            await asyncio.sleep(SHORTEST_PAUSE_SECONDS)
        self.threads[thread] = text

    def _new_text(self) -> str:
        text = f"Load item {next(self._numbers)} was put on record as {uuid4().hex[:12]}."
        self.attempted.add(text)
        return text

    # --- asking -----------------------------------------------------------------------------------------------------

    async def _ask(
        self, client: Client, method: str, path: str, body: Json | None, wanted: set[int], key: str | None = None
    ) -> httpx2.Response:
        """Ask until there is an answer that stays."""
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            if (reply := await self._once(client, method, path, body, wanted, key)) is not None:
                return reply
        raise Unanswered(f"{method} {path}")

    async def _once(
        self, client: Client, method: str, path: str, body: Json | None, wanted: set[int], key: str | None = None
    ) -> httpx2.Response | None:
        headers = {"Idempotency-Key": key} if key else {}
        try:
            reply = await client.request(method, path, json=body, headers=headers)
        except httpx2.TransportError as error:
            self.dropped += not isinstance(error, httpx2.ConnectError)
            self.replies[type(error).__name__] += 1
            await asyncio.sleep(SHORTEST_PAUSE_SECONDS)
            return None
        code = "" if reply.is_success else reply.json()["code"]
        self.replies[f"{reply.status_code} {code}".strip()] += 1
        if reply.status_code in TRANSIENT:
            wait = float(reply.headers["Retry-After"])  # each such answer has one
            limited = reply.status_code == 429
            await asyncio.sleep(wait if limited else min(wait, LONGEST_PAUSE_SECONDS))
            return None
        if reply.status_code not in wanted:
            self.complaints.append(f"{method} {path}: {reply.status_code} {code}")
            raise KeyError(f"{reply.status_code} {code}")
        if method != "GET":
            self._answered.set()
        return reply


def compare(load: Load, postgres: Postgres) -> list[str]:
    """What of the acknowledged is lost, and what is there twice, as sentences; nothing when all is well."""
    found: dict[str, list[tuple[str, str]]] = {}
    for content, memory_id, status in postgres.run(
        "select content, id::text, status::text from agent_memory_candidate where starts_with(content, 'Load item')"
    ):
        found.setdefault(content, []).append((memory_id, status))
    wrong = list(load.complaints)
    for text, status in load.expected.items():
        if found.get(text) != [(load.ids[text], status)]:
            wrong.append(f"acknowledged as {status}, and now {found.get(text, 'lost')}: {text}")
    wrong += [f"{len(rows)} times there: {text}" for text, rows in found.items() if len(rows) > 1]
    wrong += [f"there and never sent: {text}" for text in found.keys() - load.attempted]
    told = postgres.run(
        "select subject_id, count(*) from product_event where name = 'memory_saved' group by 1 having count(*) > 1"
    )
    return wrong + [f"told {count} times: {memory_id}" for memory_id, count in told]
