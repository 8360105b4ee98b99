"""Makes calls and looks at every reply: no foreign canary, no foreign id, and a foreign id answers as an absent one."""

from __future__ import annotations

import base64
import itertools
import random
from collections import Counter
from dataclasses import dataclass, field
from ipaddress import IPv4Address

import httpx2
from fastapi import FastAPI

from tests.isolation.machine.calls import Call, Door, Hand, NotNow, Request
from tests.isolation.machine.world import CANARY, EVERYBODY, ID, Kind, Lawyer, Thing, World

NOT_COMPARED = {"date", "x-request-id"}
UNAVAILABLE = 503
"""What a machine under load may answer; it is counted, and nothing is concluded from it but that it shows nothing."""


class Leak(AssertionError):
    """Somebody was shown, or could tell, what is somebody else's."""


@dataclass(frozen=True)
class Reply:
    """All of a reply that a client can see."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def without(self, name: str) -> tuple[int, str, bytes]:
        """The reply with the id that was asked for taken out, where it is repeated."""
        return self.status, repr(self.headers).replace(name, "…"), self.body.replace(name.encode(), b"\xe2\x80\xa6")


@dataclass
class Tally:
    """What was driven, and what was seen."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    """Replies by call and status, foreign and absent ids aside."""
    probes: Counter[str] = field(default_factory=Counter)
    """How often a call was given a foreign id and an absent one."""
    routes: set[str] = field(default_factory=set)
    """Routes that answered with what they are there for."""
    responses: int = 0
    own_canaries: int = 0

    def count(self, call: Call, status: int) -> None:
        self.statuses[call.title, int(status)] += 1
        if status <= call.needs:
            self.routes.add(call.route)

    def add(self, other: Tally) -> None:
        self.statuses += other.statuses
        self.probes += other.probes
        self.routes |= other.routes
        self.responses += other.responses
        self.own_canaries += other.own_canaries


class Driver:
    """Acts for every lawyer of a world, each with clients of their own."""

    def __init__(self, app: FastAPI, address: str, world: World, tally: Tally) -> None:
        self.world, self.tally = world, tally
        self._app, self._address = app, address
        self._computers = itertools.count(1)
        self._programs = self.new_client()
        self._browsers: dict[int, httpx2.AsyncClient] = {}

    def new_client(self) -> httpx2.AsyncClient:
        # Each on a network address of its own, since logins that fail are counted by address.
        here = str(IPv4Address("10.0.0.0") + next(self._computers))
        transport = httpx2.ASGITransport(self._app, raise_app_exceptions=False, client=(here, 1))
        return httpx2.AsyncClient(transport=transport, base_url=self._address)

    def browser(self, lawyer: Lawyer) -> httpx2.AsyncClient:
        return self._browsers.setdefault(lawyer.number, self.new_client())

    async def send(self, call: Call, lawyer: Lawyer | None, request: Request, told: str = "") -> Reply:
        """Make one request and look at the reply. `told` is the id in it, which may be repeated.

        Raises:
            Leak: the reply holds what is not this lawyer's.
        """
        client, headers = self._programs, dict(request.headers)
        if lawyer and call.door is Door.BROWSER:
            client = self.browser(lawyer)
        elif lawyer and call.door in (Door.AGENT, Door.MCP):
            by_oauth = call.door is Door.MCP and lawyer.oauth
            headers["Authorization"] = f"Bearer {by_oauth or lawyer.token}"
        response = await client.request(
            call.method,
            call.path(request),
            params=request.query,
            json=request.json,
            data=request.form,
            files=request.files,
            content=request.content,
            headers=headers,
        )
        if lawyer and call.door is Door.MCP and response.status_code == 401:
            lawyer.oauth = None  # its program was disconnected
        reply = Reply(
            response.status_code,
            tuple(sorted(item for item in response.headers.multi_items() if item[0] not in NOT_COMPARED)),
            response.content,
        )
        self.tally.responses += 1
        self._look_at(call, lawyer, reply, told)
        return reply

    def _look_at(self, call: Call, lawyer: Lawyer | None, reply: Reply, told: str) -> None:
        if reply.status >= 500 and reply.status != UNAVAILABLE:
            raise AssertionError(f"{call.title} answered {reply.status}: {reply.body[:500]!r}")
        seen = reply.body + repr(reply.headers).encode()
        if told:
            seen = seen.replace(told.encode(), b"")
        for firm, owner in CANARY.findall(seen):
            whose = int(firm, 16), int(owner, 16)
            if lawyer is None or whose not in (
                (lawyer.firm.number, lawyer.number),
                (lawyer.firm.number, EVERYBODY),
            ):
                raise Leak(f"{call.title} showed {_whom(lawyer)} a text of firm and lawyer {whose}: {_about(seen)}")
            self.tally.own_canaries += 1
        for name in ID.findall(seen):
            thing = self.world.owners.get(name.lower())
            if thing and (lawyer is None or not thing.visible_to(lawyer)):
                raise Leak(f"{call.title} showed {_whom(lawyer)} the id {name.decode()} of somebody else's")

    async def use(self, call: Call, lawyer: Lawyer, thing: Thing | None, seed: int) -> Reply | None:
        """Make a call on what the lawyer can see; None when there is nothing to make it with yet."""
        name = thing.name if thing else ""
        try:
            request = call.make(Hand(self.world, lawyer, seed, name, bool(thing and thing.shared)))
        except NotNow:
            return None
        reply = await self.send(call, lawyer, request)
        self.tally.count(call, reply.status)
        return reply

    async def probe(self, call: Call, lawyer: Lawyer, thing: Thing, seed: int) -> None:
        """Make a call with a foreign id and with an absent one.

        Raises:
            Leak: the replies differ, or the foreign row does.
        """
        assert call.names is not None and not thing.visible_to(lawyer)
        absent = absent_like(call.names, thing.name, seed)
        before = await self.world.row(call.names, thing.name) if call.writes else None
        try:
            first = await self._ask(call, lawyer, absent, seed)
            foreign = await self._ask(call, lawyer, thing.name, seed)
            if foreign != first:
                # What the lawyer has themself may have changed meanwhile, such as how long ago something was.
                second = await self._ask(call, lawyer, absent, seed)
                if foreign != second:
                    raise Leak(f"{call.title} tells a foreign id from an absent one: {foreign!r} and {second!r}")
        except NotNow:
            return
        self.tally.probes[call.title] += 1
        if call.writes and await self.world.row(call.names, thing.name) != before:
            raise Leak(f"{call.title} changed what is somebody else's")

    async def _ask(self, call: Call, lawyer: Lawyer, name: str, seed: int) -> tuple[int, str, bytes]:
        reply = await self.send(call, lawyer, call.make(Hand(self.world, lawyer, seed, name)), name)
        if reply.status == UNAVAILABLE:
            raise NotNow
        return reply.without(name)

    async def aclose(self) -> None:
        await self._programs.aclose()
        for browser in self._browsers.values():
            await browser.aclose()


def absent_like(kind: Kind, name: str, seed: int) -> str:
    """What could be an id of this kind, and is none."""
    chance = random.Random(seed)
    if kind is Kind.SESSION:
        return base64.urlsafe_b64encode(chance.randbytes(32)).decode().rstrip("=")
    return f"{name[:-12]}{chance.getrandbits(48):012x}"


def _whom(lawyer: Lawyer | None) -> str:
    return f"lawyer {lawyer.firm.number}/{lawyer.number}" if lawyer else "nobody"


def _about(seen: bytes) -> str:
    found = CANARY.search(seen)
    assert found
    return repr(seen[max(0, found.start() - 200) : found.end() + 200])
