"""Starting PhaseDock: the Procfile's processes side by side, until Ctrl+C ends all of them."""

from __future__ import annotations

import errno
import os
import socket
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

from honcho.environ import parse_procfile

from core.config import child_environment
from core.errors import ConflictError, NotFoundError
from core.runtime.supervising import Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.config import Settings
    from core.runtime.supervising import RestartTimes

ROOT = Path(__file__).resolve().parents[2]
_STARTUP_TIMEOUT = 120.0


def check_port(settings: Settings) -> None:
    """Make sure that the port is free.

    Raises
    ------
    ConflictError
        If another program has it, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            raise _port_error(settings, error) from error


def _port_error(settings: Settings, error: OSError) -> ConflictError:
    if error.errno == errno.EADDRINUSE:
        twin = "It may be PhaseDock itself. " if is_serving(settings.address) else ""
        return ConflictError(
            f"Port {settings.port} on {settings.host} is used by another program. {twin}".strip(),
            f"End that program, or set PORT to another number, such as PORT={settings.port + 1}.",
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return ConflictError(
            f"You do not have permission to use port {settings.port}.", "Set PORT above 1023."
        )
    return ConflictError(f"PhaseDock cannot listen on “{settings.host}”.", "Set HOST to 127.0.0.1.")


def is_serving(address: str, timeout: float = 2.0) -> bool:
    """Tell whether PhaseDock answers at an address."""
    try:
        with urllib.request.urlopen(f"{address}/healthz", timeout=timeout) as answer:  # noqa: S310 - http only
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError, ValueError):
        return False


def wait_until_serving(address: str, seconds: float = _STARTUP_TIMEOUT) -> bool:
    """Wait until PhaseDock answers at an address."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if is_serving(address):
            return True
        time.sleep(0.1)
    return False


def serve(
    settings: Settings,
    announce: Callable[[bool], None],
    root: Path = ROOT,
    times: RestartTimes | None = None,
) -> int:
    """Keep the Procfile's processes up until a signal, or until one of them cannot come up.

    Parameters
    ----------
    settings
        The settings from the environment.
    announce
        Called with True once the page answers, or with False when it does not in good time.
    root
        The folder of the Procfile.
    times
        When a process that died is started again.

    Returns
    -------
    int
        0 after Ctrl+C or SIGTERM, else the exit code of what failed.

    Raises
    ------
    NotFoundError
        If there is no Procfile.
    """
    try:
        lines = parse_procfile((root / "Procfile").read_text(encoding="utf-8")).processes
    except OSError as error:
        raise NotFoundError(
            "The Procfile was not found beside the program.", "Start PhaseDock from its project folder."
        ) from error
    supervisor = Supervisor(lines, _environment(settings), root, times)
    return supervisor.run(lambda: announce(wait_until_serving(settings.address)))


def _environment(settings: Settings) -> dict[str, str]:
    environment = child_environment(settings)
    beside = str(Path(sys.executable).parent)
    environment["PATH"] = os.pathsep.join([beside, environment.get("PATH", os.defpath)])
    return environment
