"""The processes of an embedded Postgres: make a database, launch its server, find it, and shut it down."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]  # it ships no types

from north.db.embedded_account import Account, hand_over, own_folder, programs_for, run, running_as
from north.db.embedded_folder import DISK_FULL, Folder, open_private, sync_names
from north.errors import DataFolderUnusable

# The server logs its own life and nothing of what it is asked: the message, detail and statement of a failing
# insert all may carry the text of a memory, so nothing of level ERROR is logged and the rest is terse.
SETTINGS = {
    "cluster_name": "north",
    "max_connections": "100",
    "unix_socket_permissions": "0700",
    "fsync": "on",
    "synchronous_commit": "on",
    "jit": "off",
    "logging_collector": "off",
    "log_checkpoints": "off",
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
}
LEAST_BUFFERS, MOST_BUFFERS = 128, 2048
"""MB of memory in which the server keeps what it has read. It takes them as it reads, and never gives them back."""
PORT = 5432  # on Unix only a part of the socket's name
STOP_SECONDS = 20.0

_SOCKET_PATH_BYTES = 103  # the shortest sun_path there is (macOS), without its NUL; Linux has 107
_LOG_BYTES = 5_000_000


@dataclass(frozen=True)
class Postmaster:
    """A running server, as its `postmaster.pid` describes it. `socket_dir` is None where it listens on TCP."""

    pid: int
    port: int
    socket_dir: Path | None
    ready: bool


def initialise(folder: Folder, account: Account | None, password: str) -> None:
    """Make the database of a new data folder, whole or not at all; `password` is the superuser's."""
    shutil.rmtree(folder.staging, ignore_errors=True)
    folder.staging.mkdir(mode=0o700)
    hand_over(folder.staging, account)
    with tempfile.TemporaryDirectory() as private:
        # On Unix initdb reads the password from its input: a file that was opened for it has no path to walk.
        password_file = Path(private, "password")
        password_file.touch(mode=0o600)
        password_file.write_text(password, encoding="utf-8")
        with password_file.open("rb") as opened:
            hand_over(password_file, account)
            named = password_file if sys.platform == "win32" else "/dev/stdin"
            command = [
                str(programs_for(account) / "initdb"),
                f"--pgdata={own_folder(folder.staging, account)}",
                f"--pwfile={named}",
                "--username=postgres",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                # Postgres's own C.UTF-8: the same order on every machine, so an index survives a system upgrade.
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                "--locale=C",
                "--no-instructions",
            ]
            made = run(command, account, folder=folder.staging, given=opened)
    if made.returncode != 0:
        shutil.rmtree(folder.staging, ignore_errors=True)
        raise failure(folder, "the database could not be made", made.stderr)
    with suppress(FileNotFoundError):
        folder.postgres.rmdir()
    folder.staging.rename(folder.postgres)
    sync_names(folder.path)


def launch(folder: Folder, account: Account | None) -> subprocess.Popen[bytes] | None:
    """Launch the server and return without waiting for it; on Windows wait, and return no process."""
    if folder.log.exists() and folder.log.stat().st_size > _LOG_BYTES:
        folder.log.replace(folder.log.with_suffix(".log.old"))
    hand_over(folder.postgres, account)
    socket_dir = _socket_dir(folder, account)
    _clear_stale_locks(folder.postgres, socket_dir)
    programs = programs_for(account)
    if sys.platform == "win32":
        _launch_on_windows(folder, programs)
        return None
    # PGDATA is `.` to the server, which so has no path to quote, or to reach from outside.
    named = "." if socket_dir == folder.postgres else '"' + str(socket_dir).replace('"', '""') + '"'
    where = {"listen_addresses": "", "port": str(PORT), "unix_socket_directories": named}
    options = [part for name, value in (settings() | where).items() for part in ("-c", f"{name}={value}")]
    command = [str(programs / "postgres"), "-D", own_folder(folder.postgres, account), *options]
    with open_private(folder.log) as log:
        arguments = running_as(account) | {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        process: subprocess.Popen[bytes]
        process = subprocess.Popen(command, cwd=folder.postgres, **arguments)  # noqa: S603 - own command
    return process


def settings() -> dict[str, str]:
    """What every embedded server is told.

    A recall reads all of a bucket: what is not in the server's own memory takes ten times as long. A quarter of the
    machine's memory is what Postgres's manual advises ("Resource Consumption"); beyond 2 GB a firm has a Postgres of
    its own.
    """
    megabytes = min(max(_memory() // 4_000_000, LEAST_BUFFERS), MOST_BUFFERS)
    return SETTINGS | {"shared_buffers": f"{megabytes}MB"}


def _memory() -> int:
    """The bytes of memory that this process may use: the machine's, or as many as a container or service is given."""
    limits = [int(psutil.virtual_memory().total)]
    control_groups = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError, IndexError):
        own = Path("/proc/self/cgroup").read_text().split("::", 1)[1].strip().lstrip("/")
        for file in (control_groups / own / "memory.max", control_groups / "memory.max"):
            if file.exists() and (limit := file.read_text().strip()) != "max":
                limits.append(int(limit))
    return min(limits)


def _launch_on_windows(folder: Folder, programs: Path) -> None:
    """Launch through pg_ctl, which gives up an administrator's rights first, as Postgres demands."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = settings() | {"listen_addresses": "127.0.0.1", "port": str(port)}
    options = " ".join(f"-c {name}={value}" for name, value in told.items())
    command = [str(programs / "pg_ctl.exe"), "start", "--wait", "--timeout=60", f"--log={folder.log}"]
    command += [f"--pgdata={folder.postgres}", f"--options={options}"]
    detached = 0x00000200 | 0x08000000  # CREATE_NEW_PROCESS_GROUP (no Ctrl-C from the terminal), CREATE_NO_WINDOW
    # Not captured: the server would inherit the pipe and keep it open for ever.
    silent: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(command, check=False, creationflags=detached, **silent, **running_as(None))  # noqa: S603 - own command


def find_postmaster(postgres: Path) -> Postmaster | None:
    """The server that runs on this PGDATA now, whoever started it; a stale `postmaster.pid` is none."""
    try:
        lines = (postgres / "postmaster.pid").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        pid = int(lines[0])
    except (FileNotFoundError, ValueError, IndexError):
        return None
    if not _serves(pid, postgres):
        return None
    if len(lines) < 8:  # it is still writing: the last line is its state
        return Postmaster(pid, PORT, None, ready=False)
    socket_dir = postgres / lines[4] if lines[4] else None  # `.` is PGDATA itself
    return Postmaster(pid, int(lines[3]), socket_dir, ready=lines[7].strip() == "ready")


def _serves(pid: int, postgres: Path) -> bool:
    """Whether this process is a Postgres that works in that PGDATA; a pid alone may be anybody's by now."""
    try:
        process = psutil.Process(pid)
        return process.name().startswith("postgres") and postgres.samefile(process.cwd())
    except (psutil.NoSuchProcess, psutil.AccessDenied, FileNotFoundError):
        return False


def _clear_stale_locks(postgres: Path, socket_dir: Path) -> None:
    """Remove a lock of the server, or of its socket, that names a living process which is not this server.

    Postgres would believe it and refuse to start. One that names a dead process is left for Postgres, which
    first makes sure that no orphan of that server still uses the data.
    """
    for lock in (postgres / "postmaster.pid", socket_dir / f".s.PGSQL.{PORT}.lock"):
        with suppress(FileNotFoundError):
            first = lock.read_text(encoding="utf-8", errors="surrogateescape").partition("\n")[0].strip()
            if not first.isdigit() or (psutil.pid_exists(int(first)) and not _serves(int(first), postgres)):
                lock.unlink()


def shut_down(folder: Folder, postmaster: Postmaster, process: subprocess.Popen[bytes] | None) -> None:
    """Stop the server: sessions are cut and everything is written; after 20 seconds, at once.

    `process` is the server when this very process launched it.
    """
    if sys.platform == "win32":
        _shut_down_on_windows(folder)
        return
    for how in (signal.SIGINT, signal.SIGQUIT):
        with suppress(ProcessLookupError):
            os.kill(postmaster.pid, how)
        if _ended(postmaster.pid, process):
            break
    if postmaster.socket_dir not in (None, folder.postgres):
        with suppress(OSError):  # not empty, or gone: harmless
            postmaster.socket_dir.rmdir()


def _shut_down_on_windows(folder: Folder) -> None:
    for mode in ("fast", "immediate"):
        command = [str(programs_for(None) / "pg_ctl.exe"), "stop", f"--pgdata={folder.postgres}", f"--mode={mode}"]
        command += ["--wait", f"--timeout={STOP_SECONDS:.0f}"]
        if run(command, None, folder=folder.path).returncode == 0:
            return


def _ended(pid: int, process: subprocess.Popen[bytes] | None) -> bool:
    try:
        if process is not None:
            process.wait(STOP_SECONDS)
        else:
            psutil.Process(pid).wait(STOP_SECONDS)
    except psutil.NoSuchProcess:
        return True
    except (subprocess.TimeoutExpired, psutil.TimeoutExpired):
        return False
    return True


def _socket_dir(folder: Folder, account: Account | None) -> Path:
    """Where the socket goes: into PGDATA, which is private, or else into a short folder as private as that."""
    if sys.platform == "win32" or _can_hold_a_socket(folder.postgres):
        return folder.postgres
    short = _short_socket_dir(folder.postgres, account)
    with suppress(FileExistsError):
        short.mkdir(mode=0o700)
    hand_over(short, account)
    found = short.lstat()
    expected = os.geteuid() if account is None else account.uid
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != expected or found.st_mode & 0o077:
        reason = f"the folder of its socket, {short}, is not private to its server. Remove it and start again."
        raise DataFolderUnusable(path=folder.path, reason=reason)
    return short


def _short_socket_dir(postgres: Path, account: Account | None) -> Path:
    base = Path(tempfile.gettempdir()) if account is None else Path("/run")  # root's may be closed to the account
    name = "north-" + hashlib.sha256(os.fsencode(postgres)).hexdigest()[:16]
    if base.is_dir() and _can_hold_a_socket(base / name):
        return base / name
    return Path("/tmp", name)  # noqa: S108 - the folder is private, and its owner is checked


def _can_hold_a_socket(folder: Path) -> bool:
    """Whether a client can name a socket in this folder: short, without the comma that parts hosts, in UTF-8."""
    try:
        name = str(folder / f".s.PGSQL.{PORT}").encode()
    except UnicodeEncodeError:
        return False
    return len(name) <= _SOCKET_PATH_BYTES and b"," not in name


def failure(folder: Folder, what: str, said: str) -> DataFolderUnusable:
    """The error for a program of Postgres that gave up, with the last lines of what it said."""
    if "No space left on device" in said:
        return DataFolderUnusable(path=folder.path, reason=DISK_FULL)
    last = " / ".join(line.strip() for line in said.splitlines()[-4:] if line.strip())
    return DataFolderUnusable(path=folder.path, reason=f"{what}: {last or 'Postgres said nothing'}")
