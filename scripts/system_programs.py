"""What the proofs take from the system, since no Python package has it: PgBouncer, and the library of `faketime`.

`python scripts/system_programs.py pgbouncer faketime` installs what is missing of them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

LIBRARIES = Path("/usr/lib")


def pgbouncer() -> Path | None:
    """The pooler, if it is on this machine. The system's own service of it is not used."""
    found = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
    return Path(found) if found else None


def faketime() -> Path | None:
    """The library that gives a process another time, if it is on this machine."""
    return next(LIBRARIES.glob("*-linux-gnu/faketime/libfaketimeMT.so.1"), None)


PROGRAMS: dict[str, Callable[[], Path | None]] = {"pgbouncer": pgbouncer, "faketime": faketime}


def install(names: Sequence[str]) -> None:
    """Install what is missing of these with the system's package manager, as root.

    Raises:
        SystemExit: it cannot be installed from here.
    """
    missing = [name for name in names if PROGRAMS[name]() is None]
    if not missing:
        return
    if not shutil.which("apt-get") or os.geteuid() != 0:
        sys.exit(f"Missing: {', '.join(missing)}. Install with the system's package manager, and run this again.")
    subprocess.run(["apt-get", "update", "-q"], check=True)
    subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", *missing], check=True)


if __name__ == "__main__":
    install(sys.argv[1:])
