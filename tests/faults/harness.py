"""A whole North in processes of its own, each of which can be killed and brought back."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import psycopg

from north.access.firms import create_firm, hash_password, insert_user
from north.access.tokens import create_token
from north.assembly import Place, make_backend, opened
from north.commands.place import DATABASE, prepare
from north.db import embedded
from north.db.embedded import EmbeddedServer, read_credentials
from north.memory.matters import create_matter
from north.model import Caller, Origin
from north.settings import Settings
from tests.commands import NORTH, environment, free_port

START_SECONDS = 60.0
SECRET_KEY = "a key for fault tests, and for nothing but them"


class Postgres:
    """The Postgres of a data folder, migrated; dead or alive."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.server: EmbeddedServer = embedded.start(data_dir)
        self.place = prepare(self.server, Settings(data_dir=data_dir, secret_key=SECRET_KEY))  # type: ignore[arg-type]  # pydantic makes it a secret

    @property
    def superuser_url(self) -> str:
        return self.server.superuser_url(DATABASE)

    @property
    def socket(self) -> Path:
        assert self.server.socket_dir is not None
        return self.server.socket_dir / f".s.PGSQL.{self.server.port}"

    def url_through(self, port: int, role: str = "north_app") -> str:
        """The database by way of a port of this machine."""
        password = getattr(read_credentials(self.data_dir), role)
        return f"postgresql://{role}:{quote(password, safe='')}@127.0.0.1:{port}/{DATABASE}"

    def kill(self) -> None:
        os.kill(self.server.pid, signal.SIGKILL)

    def start(self) -> None:
        """Bring it back; returns when it answers."""
        before = self.server
        self.server = embedded.start(self.data_dir)
        before._lease.close()  # not `stop`, which would shut down a server that nobody else has a lease on
        if before._process is not None:
            before._process.wait()

    @property
    def ended(self) -> bool:
        """Whether it has ended by itself."""
        return self.server._process is not None and self.server._process.poll() is not None

    def run(self, statement: str, *parameters: object) -> list[Any]:
        """Run a statement as the superuser, who sees every firm's rows."""
        with psycopg.connect(self.superuser_url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), parameters)
            return cursor.fetchall() if cursor.description else []


@contextmanager
def postgres_in(data_dir: Path) -> Iterator[Postgres]:
    """A Postgres for the block."""
    postgres = Postgres(data_dir)
    try:
        yield postgres
    finally:
        postgres.server.stop()


class Program:
    """`north serve` or `north worker` as a process of its own, whose output goes to a file."""

    def __init__(self, *command: str, folder: Path, settings: dict[str, str], says: str) -> None:
        self.command = command
        self._folder = folder
        self._settings = settings
        self._says = says
        self._log: IO[bytes] | None = None
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def output(self) -> str:
        return self._path.read_text(errors="replace") if self._path.exists() else ""

    @property
    def _path(self) -> Path:
        return self._folder / f"{'-'.join(self.command)}.log".replace(" ", "")

    def launch(self) -> None:
        """Start it, and do not wait."""
        self._log = self._path.open("ab")
        self._said = self._path.stat().st_size
        self.process = subprocess.Popen(
            [NORTH, *self.command],
            cwd=self._folder,
            env=environment(self._settings),
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )

    async def start(self) -> None:
        """Start it; returns when it says that it is at work."""
        self.launch()
        await self.ready()

    async def ready(self) -> None:
        assert self.process is not None
        async with asyncio.timeout(START_SECONDS):
            while self._says not in self.output.encode()[self._said :].decode(errors="replace"):
                assert self.process.poll() is None, self.output[-3000:]
                await asyncio.sleep(0.02)

    def signal(self, how: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(how)

    async def ended(self, seconds: float = 60.0) -> int:
        """Wait for its end; its exit code."""
        assert self.process is not None and self._log is not None
        code = await asyncio.to_thread(self.process.wait, seconds)
        self._log.close()
        return code

    async def kill(self) -> None:
        self.signal(signal.SIGKILL)
        await self.ended()

    async def stop(self) -> int:
        """End it in order, where it runs."""
        assert self.process is not None
        if self.process.poll() is None:
            self.signal(signal.SIGINT)
        return await self.ended()


@dataclass(frozen=True)
class Lawyer:
    """Who asks, and with which token."""

    caller: Caller
    token: str


@dataclass
class Stage:
    """A Postgres, a firm in it, and what programs need to work on it."""

    postgres: Postgres
    lawyers: list[Lawyer]
    folder: Path
    settings: dict[str, str]

    def server(self, port: int | None = None, **settings: str) -> tuple[Program, int]:
        """A `north serve`, which is not started yet, and its port."""
        port = port or free_port()
        command = ("serve", "--port", str(port))
        program = Program(*command, folder=self.folder, settings=self.settings | settings, says="North is serving")
        return program, port

    def worker(self, name: str = "worker", **settings: str) -> Program:
        """A `north worker`, which is not started yet."""
        (self.folder / name).mkdir(exist_ok=True)
        own = self.settings | settings
        return Program("worker", folder=self.folder / name, settings=own, says="The worker is running")


@asynccontextmanager
async def stage_on(
    postgres: Postgres, folder: Path, settings: dict[str, str], lawyers: int = 2
) -> AsyncIterator[Stage]:
    """A firm with lawyers and one matter on a running Postgres. `settings` are the programs' environment."""
    place = Place(postgres.place.database_url, SECRET_KEY, postgres.place.scheduler_url)
    plain = {"NORTH_DATABASE_URL": place.database_url, "NORTH_SECRET_KEY": SECRET_KEY}
    plain |= {"NORTH_EMBEDDER": "none", "NORTH_MODEL": "offline"}
    async with opened(make_backend(Settings(model="offline", embedder="none"), place)) as backend:
        organization_id = await create_firm(backend, f"firm-{os.urandom(4).hex()}", "The firm")
        password = hash_password("correct horse battery")
        people = []
        for number in range(lawyers):
            email = f"{os.urandom(4).hex()}@{number}.test"
            user = await insert_user(backend, organization_id, email, f"Lawyer {number}", "lawyer", password)
            caller = Caller(organization_id, user.id, Origin.API)
            people.append(Lawyer(caller, (await create_token(backend, caller, "load"))[1]))
        await create_matter(backend, people[0].caller, "HV-1001", "Harbor v. Vance")
    yield Stage(postgres, people, folder, plain | settings)
