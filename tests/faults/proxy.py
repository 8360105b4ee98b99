"""Networks that misbehave: a proxy that delays, stalls, cuts, refuses or garbles, and one that spreads connections."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

PIECE = 65_536
PROBE_SECONDS = 0.5
PATIENCE_SECONDS = 5.0
"""How long a server may take to say that it is ready; these machines are busy."""


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[None, None, None]]


@asynccontextmanager
async def listening(serve: Serve) -> AsyncIterator[int]:
    """Serve connections on a free port of this machine; what is still open at the end is closed."""
    serving: set[asyncio.Task[None]] = set()

    async def serve_and_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except asyncio.CancelledError:  # the end, which cancels only what stands here
            writer.transport.abort()
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(serve_and_close(reader, writer))
        serving.add(task)
        task.add_done_callback(serving.remove)

    async with await asyncio.start_server(accept, "127.0.0.1") as server:
        yield server.sockets[0].getsockname()[1]
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


class Network(StrEnum):
    """How the way to what stands behind a proxy is."""

    FINE = "fine"
    SLOW = "slow"
    STALLED = "stalled"
    """Connections are taken, and nothing passes."""
    CUT = "cut"
    """Every connection ends, whenever it is made."""
    GARBAGE = "garbage"
    """What comes back is noise."""


@dataclass(frozen=True)
class Upstream:
    """What stands behind a proxy: a port of this machine, or a Unix socket."""

    port: int = 0
    socket: Path | None = None

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self.socket is not None:
            return await asyncio.open_unix_connection(self.socket)
        return await asyncio.open_connection("127.0.0.1", self.port)


@dataclass
class FaultProxy:
    """Passes bytes on, as the network of the moment allows; a change counts for connections that are open too."""

    upstream: Upstream
    port: int = 0
    delay: float = 0.2
    """What every piece waits while the network is slow, in seconds."""
    cut_after: bytes | None = None
    """What cuts every connection, once, in the moment in which it was passed on to the other side."""
    _network: Network = Network.FINE
    _fine: asyncio.Event = field(default_factory=asyncio.Event)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    @property
    def network(self) -> Network:
        return self._network

    @network.setter
    def network(self, network: Network) -> None:
        self._network = network
        if network is Network.STALLED:
            self._fine.clear()
        else:
            self._fine.set()
        if network is Network.CUT:
            for writer in self._writers:
                writer.transport.abort()

    def open_now(self) -> frozenset[asyncio.StreamWriter]:
        """Both ends of every connection that is open."""
        return frozenset(self._writers)

    def have_ended(self, ends: frozenset[asyncio.StreamWriter]) -> bool:
        """Whether none of these is open any more; others may have been opened since."""
        return not ends & self._writers

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            await self._fine.wait()
            if self._network is Network.CUT:
                writer.transport.abort()
                return
            await self._joined(reader, writer, *await self.upstream.connect())

    async def _joined(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        from_upstream: asyncio.StreamReader,
        to_upstream: asyncio.StreamWriter,
    ) -> None:
        both = {writer, to_upstream}
        self._writers |= both
        try:
            ways = [
                asyncio.create_task(self._pass_on(reader, to_upstream, garbles=False)),
                asyncio.create_task(self._pass_on(from_upstream, writer, garbles=True)),
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        finally:
            self._writers -= both
            to_upstream.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, garbles: bool) -> None:
        while piece := await reader.read(PIECE):
            await self._fine.wait()
            if self._network is Network.SLOW:
                await asyncio.sleep(self.delay)
            if self._network is Network.GARBAGE and garbles:
                piece = random.Random(len(piece)).randbytes(len(piece))
            writer.write(piece)
            await writer.drain()
            if self.cut_after and not garbles and self.cut_after in piece:
                self.cut_after = None
                self.network = Network.CUT
                self.network = Network.FINE


@asynccontextmanager
async def fault_proxy(upstream: Upstream) -> AsyncIterator[FaultProxy]:
    """A proxy before `upstream`, on a free port of this machine."""
    proxy = FaultProxy(upstream)
    proxy.network = Network.FINE
    async with listening(proxy.serve) as proxy.port:
        yield proxy


class Balancer:
    """Gives each connection to the next of the servers that say they are ready; asks each twice a second."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.ready = dict.fromkeys(ports, True)
        self.port = 0
        self._turn = itertools.count()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ready = [port for port, is_ready in self.ready.items() if is_ready] or list(self.ready)
        with suppress(OSError):
            from_server, to_server = await asyncio.open_connection("127.0.0.1", ready[next(self._turn) % len(ready)])
            ways = [asyncio.create_task(self._pass_on(*way)) for way in ((reader, to_server), (from_server, writer))]
            try:
                # The server's end ends both; the client's is passed on, for there may be an answer under way.
                await asyncio.wait([ways[1]])
            finally:
                ways[0].cancel()
                await asyncio.gather(*ways, return_exceptions=True)
                to_server.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(PIECE):
            writer.write(piece)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()

    async def watch(self) -> None:
        """Ask every server, again and again."""
        while True:
            for port in self.ready:
                self.ready[port] = await _says_ready(port)
            await asyncio.sleep(PROBE_SECONDS)


async def _says_ready(port: int) -> bool:
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            return b" 200 " in await asyncio.wait_for(reader.readline(), PATIENCE_SECONDS)
        finally:
            writer.close()
    except (OSError, TimeoutError):
        return False


@asynccontextmanager
async def balancer(ports: Sequence[int]) -> AsyncIterator[Balancer]:
    """A balancer before servers on these ports, which watches them."""
    spreading = Balancer(ports)
    watching = asyncio.create_task(spreading.watch())
    async with listening(spreading.serve) as spreading.port:
        yield spreading
        watching.cancel()
