"""Serving: one machine with everything, or the web server alone."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import typer
import uvicorn
from fastapi import FastAPI
from sse_starlette.sse import AppStatus

from north.access.demo import DEMO_FIRMS, seed_demo
from north.api.operations import Readiness
from north.app import make_app
from north.assembly import Place, make_backend, opened
from north.commands.heads import LimitedHeads
from north.commands.heap import leave_out_what_is_loaded
from north.commands.place import demo_password, prepare, ready_place
from north.db.canary import check_isolation
from north.db.connect import Database
from north.db.embedded import embedded
from north.db.embedded_keeper import kept_running
from north.errors import Misconfigured, PortInUse
from north.settings import Settings

BACKLOG = 512
KEEP_ALIVE_SECONDS = 75
"""How long a connection may be idle: longer than proxies keep theirs, so that none sends into one that just closes."""
TOLD_SECONDS = 6.0
"""How long a server that ends still takes requests, so that a balancer which asks every two seconds has been told
"not ready" three times."""
LAST_ARRIVALS_SECONDS = 0.3
"""How long connections made in the last moment have to send their request."""
DRAIN_SECONDS = 15
"""How long requests under way have to end, after that."""


def listening_socket(settings: Settings) -> socket.socket:
    """A socket that listens already, so that a port in use is found out before anything else is started.

    Raises:
        PortInUse: somebody else listens there.
        Misconfigured: the host is not an address of this machine.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # With the protocol named, asyncio sends small writes at once (TCP_NODELAY). Otherwise the body of each reply would
    # wait for the acknowledgement of its head, which the other side delays by 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(BACKLOG)
    except (OSError, UnicodeError) as error:
        listener.close()
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            raise PortInUse(port=settings.port) from error
        raise Misconfigured(reason=f"cannot listen on {settings.host} port {settings.port}: {error}") from error
    return listener


def serve_on(
    listener: socket.socket, settings: Settings, place: Place, *, worker: bool, ready: Callable[[], None]
) -> None:
    """Serve until SIGINT or SIGTERM; what happens then is told at `_Server.shutdown`."""
    app = make_app(settings, place, worker=worker)
    # By itself the library breaks off every stream as soon as the server is asked to end, in the middle of an answer.
    AppStatus.enable_automatic_graceful_drain = False
    server = _Server(server_config(app, settings), app.state.readiness, ready)
    server.run(sockets=[listener])
    if not server.started:
        raise typer.Exit(1)


def server_config(app: FastAPI, settings: Settings) -> uvicorn.Config:
    """How an application is served."""
    return uvicorn.Config(
        app,
        http=LimitedHeads,
        ws="none",
        access_log=False,  # addresses carry search words
        log_config=None,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        server_header=False,
        date_header=True,
        # Failed logins are counted by network address, and behind a proxy it alone knows whose that is.
        proxy_headers=True,
        forwarded_allow_ips=settings.trusted_proxies,
    )


class _Server(uvicorn.Server):
    """A server that says when it is ready, and ends without dropping a request."""

    def __init__(self, config: uvicorn.Config, readiness: Readiness, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._readiness = readiness
        self._ready = ready
        self._at_once = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; at Ctrl-C without telling a balancer first, and at a second one without waiting for anybody.

        Unlike uvicorn's own, it does not raise the signal again afterwards: what was asked for has been done, so what
        stands around the server is closed in order, and the exit code is 0.
        """
        self.force_exit = self.force_exit or (self.should_exit and sig == signal.SIGINT)
        self._at_once = self._at_once or sig == signal.SIGINT
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            leave_out_what_is_loaded()
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End in three steps, so that whoever spreads requests over several servers loses none.

        First `/readyz` says no, while requests are still taken, if anybody has asked it lately; replies close their
        connections from now on. Then nobody can connect any more, and who just has may still send. Then idle
        connections are closed, and requests under way get `DRAIN_SECONDS`.
        """
        self._readiness.ending = True
        self.server_state.default_headers = [*self.server_state.default_headers, (b"connection", b"close")]
        if self._readiness.watched:
            await self._pass(TOLD_SECONDS, lambda: self.force_exit or self._at_once)
        for server in self.servers:
            server.close()
        await self._pass(LAST_ARRIVALS_SECONDS, lambda: self.force_exit)
        await super().shutdown(sockets)

    async def _pass(self, seconds: float, is_enough: Callable[[], bool]) -> None:
        """Let time pass, until it is enough."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not is_enough():  # noqa: ASYNC110 - a signal's handler sets no event
            await asyncio.sleep(0.05)


def up(settings: Settings) -> None:
    """Everything on one machine: embedded Postgres, demo firms on the first run, web, API, worker."""
    if settings.database_url is not None:
        raise Misconfigured(reason="`north up` brings its own Postgres; with NORTH_DATABASE_URL use `north serve`")
    listener = listening_socket(settings)
    with listener, embedded(settings.data_dir) as server, kept_running(server):
        place = prepare(server, settings)
        password = demo_password(settings.data_dir)
        asyncio.run(_seed(settings, place, password))
        serve_on(listener, settings, place, worker=True, ready=lambda: typer.echo(_welcome(settings, password)))


async def _seed(settings: Settings, place: Place, password: str) -> None:
    async with opened(make_backend(settings, place)) as backend:
        await seed_demo(backend, password)


def serve(settings: Settings) -> None:
    """The web server alone, on the configured database."""
    listener = listening_socket(settings)
    with listener, ready_place(settings) as place:
        asyncio.run(_check(place))
        serve_on(
            listener,
            settings,
            place,
            worker=False,
            ready=lambda: typer.echo(f"North is serving at {settings.address}. Press Ctrl-C to stop."),
        )


async def _check(place: Place) -> None:
    """Refuse with a sentence what would otherwise fail within the web server."""
    database = Database(place.database_url, size=1)
    await database.open()
    try:
        await check_isolation(database)
    finally:
        await database.close()


def _welcome(settings: Settings, password: str) -> str:
    logins = [", ".join(email for email, _, _ in firm.people) + f"  (firm {firm.slug})" for firm in DEMO_FIRMS]
    command = f"{_command()} token create --firm demo --user {DEMO_FIRMS[0].people[0][0]}"
    if settings.data_dir != Settings().data_dir:
        command += f" --data-dir '{settings.data_dir}'"
    model = settings.chat_model
    if model == "offline":
        model = "offline: built-in rules. For a real model set ANTHROPIC_API_KEY, or NORTH_MODEL=provider:name"
    return f"""
North is running at {settings.address}

  Log in     {logins[0]}
             {logins[1]}
  Password   {password}
  Agents     REST at {settings.address}/api/v1, described at {settings.address}/api/docs
             a token for one: {command}
  Model      {model}
  Data       {settings.data_dir}

Press Ctrl-C to stop.
"""


def _command() -> str:
    """How the person who started this would type it again."""
    program = Path(sys.argv[0])
    try:
        return str(program.resolve().relative_to(Path.cwd()))
    except ValueError:
        return program.name
