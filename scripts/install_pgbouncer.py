"""Makes sure that the proof of poolers finds PgBouncer: the one of the system, else it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys


def pgbouncer() -> str | None:
    """The path of PgBouncer on this machine, if there is one."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")


def install() -> None:
    """Install PgBouncer with the system's package manager, as root; the system's own service of it is not used."""
    if not shutil.which("apt-get") or os.geteuid() != 0:
        sys.exit("PgBouncer is missing. Install it with the system's package manager, and run this again.")
    subprocess.run(["apt-get", "update", "-q"], check=True)
    subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", "pgbouncer"], check=True)


if __name__ == "__main__" and pgbouncer() is None:
    install()
