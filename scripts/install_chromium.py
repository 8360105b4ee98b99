"""Makes sure that the browser tests find a Chromium: the one of the system, else it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys


def chromium() -> str | None:
    """The path of a Chromium on this machine, if there is one."""
    named = os.environ.get("NORTH_CHROMIUM")
    if named:
        return named
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def install() -> None:
    """Install Chromium with the system's package manager as root, else with Playwright's own download."""
    if shutil.which("apt-get") and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-q"], check=True)
        subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", "chromium"], check=True)
    else:
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)


if __name__ == "__main__" and chromium() is None:
    install()
