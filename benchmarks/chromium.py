"""The Chromium that some benchmarks drive."""

from __future__ import annotations

import shutil


class CannotRun(Exception):  # noqa: N818 - it says what happened
    """A benchmark needs what this machine lacks; the message says what."""


def chromium() -> str:
    """The path of the system's Chromium.

    Raises
    ------
    CannotRun
        If there is none.
    """
    for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path is not None:
            return path
    raise CannotRun("Chromium is not installed; tests/install-what-tests-need.sh installs it.")
