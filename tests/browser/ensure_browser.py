"""Finds Chromium for the browser tests, or installs Debian's where that is possible."""

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find_browser() -> str | None:
    """The path of a Chromium, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def main() -> None:
    """Make sure that there is a browser; without one the browser tests are skipped, except in CI."""
    if find_browser() is None and shutil.which("apt-get") and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"], check=True)
    if find_browser() is None:
        message = "no Chromium found: install one (Debian: apt-get install chromium) for the browser tests"
        sys.exit(message if os.environ.get("CI") else 0)


if __name__ == "__main__":
    main()
