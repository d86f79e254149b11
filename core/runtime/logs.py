"""The log: to the screen of whoever started the process, and to a file in the home folder.

People get sentences; tracebacks and references go here.
"""

from __future__ import annotations

import logging
import logging.handlers
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_BYTES, _FILES = 5 * 2**20, 3


def log_to(home: Path, process: str) -> None:
    """Send everything that is logged to ``logs/<process>.log``, and warnings to the screen as well.

    Parameters
    ----------
    home
        The home folder.
    process
        Which process this is, such as ``"worker"``; each writes its own file.
    """
    folder = home / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    file = logging.handlers.RotatingFileHandler(
        folder / f"{process}.log", maxBytes=_BYTES, backupCount=_FILES, encoding="utf-8"
    )
    file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    screen = logging.StreamHandler(sys.stderr)
    screen.setLevel(logging.WARNING)
    screen.setFormatter(_OneLine("%(levelname)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[file, screen], force=True)
    logging.getLogger("huey").setLevel(logging.WARNING)


class _OneLine(logging.Formatter):
    """Messages without tracebacks, which are in the file."""

    def format(self, record: logging.LogRecord) -> str:
        plain = logging.makeLogRecord({**record.__dict__, "exc_info": None, "exc_text": None})
        return super().format(plain)
