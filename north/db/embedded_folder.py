"""The data folder of an embedded Postgres: what lies where, its passwords, its locks, and what can be wrong with it."""

from __future__ import annotations

import errno
import json
import os
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import BinaryIO

from north.errors import DataFolderTooNew, DataFolderUnusable

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

POSTGRES_MAJOR = 18
DISK_FULL = "the disk is full. Free some space and start again."

_LOCK_SECONDS = 90.0  # longer than the slowest start that another process may be busy with
_LOCK_SPAN = 1 << 30  # bytes; Windows locks ranges, and a shared lock is one random byte of this range


@dataclass(frozen=True)
class Folder:
    """Where everything stands below one data folder."""

    path: Path

    @property
    def postgres(self) -> Path:
        """PGDATA."""
        return self.path / "postgres"

    @property
    def staging(self) -> Path:
        """PGDATA while it is being made; renamed when complete, so that a crash leaves no half of one."""
        return self.path / "postgres.new"

    @property
    def credentials(self) -> Path:
        """The generated passwords."""
        return self.path / "credentials.json"

    @property
    def log(self) -> Path:
        """What the server says."""
        return self.path / "postgres.log"

    @property
    def door(self) -> Path:
        """Locked by whoever starts, joins or stops the server: one at a time."""
        return self.path / "postgres.lock"

    @property
    def users(self) -> Path:
        """Share-locked by every process that uses the server, for as long as it does."""
        return self.path / "postgres.users"


@dataclass(frozen=True)
class Credentials:
    """The secrets made for one data folder: a password a role, and the key of token and session hashes."""

    postgres: str = field(repr=False)
    north_owner: str = field(repr=False)
    north_app: str = field(repr=False)
    scheduler_role: str = field(repr=False)
    secret_key: str = field(repr=False)


def read_credentials(data_dir: Path) -> Credentials:
    """Read the secrets of a data folder that `start` has prepared.

    Raises `DataFolderUnusable` when the file is missing, unreadable or damaged.
    """
    folder = Folder(data_dir.expanduser())
    with explained(data_dir):
        try:
            return Credentials(**json.loads(folder.credentials.read_text(encoding="utf-8")))
        except FileNotFoundError as error:
            reason = "credentials.json is missing. Put it back from a backup; without it nobody can log in."
            raise DataFolderUnusable(path=data_dir, reason=reason) from error
        except (ValueError, TypeError) as error:
            reason = "credentials.json is damaged. Put it back from a backup."
            raise DataFolderUnusable(path=data_dir, reason=reason) from error


def make_credentials(folder: Folder) -> Credentials:
    """Write new secrets, whole or not at all, and on the disk before anything depends on them."""
    credentials = Credentials(**{each.name: secrets.token_urlsafe(32) for each in fields(Credentials)})
    unfinished = folder.credentials.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    with open_private(unfinished) as file:
        file.write(json.dumps(asdict(credentials), indent=2).encode())
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(folder.credentials)
    sync_names(folder.path)
    return credentials


def is_initialised(folder: Folder) -> bool:
    """Whether there is a database of a version that this North can run.

    Raises `DataFolderTooNew` or `DataFolderUnusable` when there is one that it cannot.
    """
    if not folder.postgres.is_dir():
        return False
    version_file = folder.postgres / "PG_VERSION"
    if not version_file.exists():
        if any(folder.postgres.iterdir()):
            reason = f"{folder.postgres} holds files but no database. Move them away, or choose another folder."
            raise DataFolderUnusable(path=folder.path, reason=reason)
        return False
    found = version_file.read_text(encoding="utf-8").strip()
    if found == str(POSTGRES_MAJOR):
        return True
    if found.isdigit() and int(found) > POSTGRES_MAJOR:
        raise DataFolderTooNew(path=folder.path, found=f"Postgres {found}", known=f"Postgres {POSTGRES_MAJOR}")
    reason = (
        f"its database is of Postgres {found or '?'}, and this North runs Postgres {POSTGRES_MAJOR}. Dump it with "
        "pg_dump under the North that wrote it, and restore the dump into a new folder."
    )
    raise DataFolderUnusable(path=folder.path, reason=reason)


@contextmanager
def explained(data_dir: Path) -> Iterator[None]:
    """Turn what the operating system refuses into `DataFolderUnusable` with one sentence."""
    try:
        yield
    except OSError as error:
        raise DataFolderUnusable(path=data_dir, reason=_reason(error)) from error


def _reason(error: OSError) -> str:
    named = error.filename or "a file in it"
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return DISK_FULL
        case errno.EACCES | errno.EPERM:
            return f"this user may not use {named}. Change its owner, or choose another folder with --data-dir."
        case errno.EEXIST | errno.ENOTDIR:
            return f"{named} is a file in the way. Move it, or choose another folder with --data-dir."
        case errno.EROFS:
            return f"{named} is on a read-only disk. Choose another folder with --data-dir."
        case _:
            return f"{error.strerror or error} ({named})."


def open_private(path: Path) -> BinaryIO:
    """Open a file for appending that its owner alone can read, made if it is missing.

    Under root it belongs to the owner of its folder, so that a run with sudo locks nobody out of their own
    folder; a symbolic link is refused, because that owner could point it anywhere.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o600)
    if sys.platform != "win32" and os.geteuid() == 0:
        owner = path.parent.stat()
        os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return os.fdopen(descriptor, "r+b", buffering=0)


def sync_names(folder: Path) -> None:
    """Make what was created or renamed in a folder survive a power cut; Windows does so by itself."""
    if sys.platform != "win32":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def through_the_door(folder: Folder) -> Iterator[None]:
    """Be the only process that starts, joins or stops the server of this folder."""
    deadline = time.monotonic() + _LOCK_SECONDS
    while (held := try_lock(folder.door, shared=False)) is None:
        if time.monotonic() > deadline:
            reason = f"another process has been starting or stopping its database for {_LOCK_SECONDS:.0f} seconds."
            raise DataFolderUnusable(path=folder.path, reason=reason)
        time.sleep(0.02)
    with held:
        yield


def try_lock(path: Path, *, shared: bool) -> BinaryIO | None:
    """Lock a file without waiting; None when somebody else holds it.

    The lock is the open file: closing it, or the end of the process by whatever means, gives it up. Two locks
    within one process exclude each other like those of two processes.
    """
    file = open_private(path)
    try:
        if sys.platform == "win32":
            file.seek(secrets.randbelow(_LOCK_SPAN) if shared else 0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1 if shared else _LOCK_SPAN)
        else:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            return None
        raise
    return file
