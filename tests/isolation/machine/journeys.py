"""What takes more than one request: joining a firm, logging in, connecting a program or NetDocuments, the worker."""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

from north.access.firms import create_firm, insert_user
from north.access.tokens import create_token
from north.chat.mining import mine_thread
from north.memory.trust import sweep
from north.model import Caller, Origin
from north.web.assets import asset_address
from tests.conftest import PASSWORD
from tests.isolation.machine.calls import Call, Door, NotNow, Request, nothing
from tests.isolation.machine.driver import UNAVAILABLE, Driver, Leak, Reply
from tests.isolation.machine.stage import Stage
from tests.isolation.machine.tool_calls import ACCEPT, EARLIER_VERSION
from tests.isolation.machine.world import EVERYBODY, Firm, Kind, Lawyer, Thing, canary, numbers
from tests.oauth import CALLBACK, Program, form_of

NETDOCUMENTS = "/settings/connections/netdocuments"
FOUND = 303


class Journeys:
    """The ways of one world's lawyers through the application."""

    def __init__(self, stage: Stage, driver: Driver) -> None:
        self.stage, self.driver, self.world = stage, driver, driver.world

    async def _step(self, route: str, lawyer: Lawyer, request: Request, expected: int, door: Door) -> Reply:
        """One request of a journey, which has to end as expected."""
        call = Call(route, door, nothing, needs=FOUND)
        reply = await self.driver.send(call, lawyer, request)
        if reply.status == UNAVAILABLE:
            raise NotNow
        assert reply.status == expected, f"{route} answered {reply.status}: {reply.body[:500]!r}"
        self.driver.tally.count(call, reply.status)
        return reply

    async def open_firm(self) -> Firm:
        """A firm without lawyers."""
        number = next(numbers)
        mark = canary(number, EVERYBODY)
        firm = Firm(await create_firm(self.stage.backend, f"firm-{mark}", f"Firm {mark}"), number)
        self.world.firms.append(firm)
        return firm

    async def join(self, firm: Firm) -> Lawyer:
        """A lawyer with a token, a browser and a session handle."""
        backend, number = self.stage.backend, len(self.world.lawyers)
        email = f"lawyer-{number}@{firm.shared}.test"
        name = f"Lawyer {number} of {firm.shared}"
        user = await insert_user(backend, firm.id, email, name, "lawyer", self.stage.password_hash)
        lawyer = Lawyer(firm, user.id, email, next(numbers))
        caller = Caller(firm.id, user.id, Origin.SETTINGS)
        token, lawyer.token = await create_token(backend, caller, lawyer.private)
        lawyer.token_id = token.id
        firm.lawyers.append(lawyer)
        await self.log_in(lawyer)
        await self.start_session(lawyer)
        return lawyer

    async def log_in(self, lawyer: Lawyer) -> None:
        """Out, if they are in, and in again."""
        browser = Door.BROWSER
        await self._step("POST /logout", lawyer, Request(), FOUND, browser)
        await self._step("GET /login", lawyer, Request(), 200, browser)
        await self._step(
            "POST /login", lawyer, Request(form={"email": lawyer.email, "password": "wrong"}), 401, browser
        )
        form = {"email": lawyer.email, "password": PASSWORD}
        await self._step("POST /login", lawyer, Request(form=form), FOUND, browser)
        digest, _, name = asset_address("chat.js").removeprefix("/static/").partition("/")
        await self._step("GET /static/{digest}/{name}", lawyer, Request((digest, name)), 200, browser)

    async def start_session(self, lawyer: Lawyer) -> None:
        """A new session handle, by which consultations and writes are told apart."""
        params = {"name": "north__briefing", "arguments": {}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = ACCEPT | {"MCP-Protocol-Version": EARLIER_VERSION}
        reply = await self._step("POST /mcp", lawyer, Request(json=asked, headers=headers), 200, Door.MCP)
        handle = json.loads(reply.body)["result"]["structuredContent"]["session"]
        self.world.add(Kind.SESSION, Thing(handle, lawyer.firm, lawyer))

    async def connect_a_program(self, lawyer: Lawyer) -> None:
        """OAuth from the program's registration, which is made once, to its tokens."""
        if self.stage.client_id is None:
            told = {"client_name": "Claude", "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"}
            registered = await self._step("POST /register", lawyer, Request(json=told), 201, Door.ANYBODY)
            self.stage.client_id = json.loads(registered.body)["client_id"]
        program = Program(self.stage.client_id)
        page = await self._step("GET /authorize", lawyer, Request(query=program.asks()), 200, Door.BROWSER)
        form = form_of(page.body.decode()) | {"decision": "allow"}
        answer = await self._step("POST /authorize", lawyer, Request(form=form), FOUND, Door.BROWSER)
        code = dict(parse_qsl(urlsplit(dict(answer.headers)["location"]).query))["code"]
        reply = await self._step("POST /token", lawyer, Request(form=program.redeems(code)), 200, Door.ANYBODY)
        lawyer.oauth = json.loads(reply.body)["access_token"]

    async def connect_netdocuments(self, lawyer: Lawyer, stranger: Lawyer) -> None:
        """There and back; the state of another lawyer's journey leads nowhere, as one that nobody made does."""
        back = f"GET {NETDOCUMENTS}/callback"
        states = {}
        for each in (lawyer, stranger):
            page = await self._step(f"POST {NETDOCUMENTS}/connect", each, Request(), 200, Door.BROWSER)
            found = re.search(r"state=([\w.~-]+)", page.body.decode())
            assert found
            states[each.number] = found[1]
        code = f"code/{lawyer.private}"
        if stranger is not lawyer:
            replies = []
            for state in (states[stranger.number], "A" * len(states[stranger.number])):
                asked = Request(query={"code": code, "state": state})
                reply = await self._step(back, lawyer, asked, 403, Door.BROWSER)
                replies.append(reply.without(state))
            if replies[0] != replies[1]:
                raise Leak(f"{back} tells another lawyer's state from none")
        mine = Request(query={"code": code, "state": states[lawyer.number]})
        await self._step(back, lawyer, mine, FOUND, Door.BROWSER)

    async def mine(self, lawyer: Lawyer) -> None:
        """The worker reads the lawyer's newest conversations, as if they had been idle for an hour."""
        await self.stage.superuser.execute(
            "update chat_thread set updated_at = updated_at - interval '1 hour' where user_id = %s", (lawyer.id,)
        )
        for thread in self.world.visible(Kind.THREAD, lawyer)[-2:]:
            thread_id = UUID(thread.name)
            caller = Caller(lawyer.firm.id, lawyer.id, Origin.MINER, thread_id=thread_id)
            await mine_thread(self.stage.miner, caller, thread_id)

    async def work(self) -> None:
        """The worker does what is queued, imports among it."""
        await self.stage.backend.jobs.app.run_worker_async(
            wait=False, listen_notify=False, install_signal_handlers=False, concurrency=1, delete_jobs="always"
        )

    async def sweep(self, firm: Firm) -> None:
        """The nightly sweep of one firm."""
        await sweep(self.stage.database.scheduler_url, firm.id)
