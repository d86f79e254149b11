"""Starting PhaseDock: the Procfile's processes side by side, until Ctrl+C ends all of them.

honcho starts and ends the processes. What it does not do is added here: a process that dies after it
had come up is started again, since the others can go on meanwhile; one that does not come up ends all.
"""

from __future__ import annotations

import errno
import multiprocessing
import os
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

from honcho.environ import parse_procfile
from honcho.manager import Manager

from core.config import child_environment
from core.errors import ConflictError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.config import Settings

ROOT = Path(__file__).resolve().parents[2]
_LIVED_LONG_ENOUGH = 10.0
_STARTS_PER_MINUTE = 5
_PATIENCE = 120.0


class Supervisor(Manager):  # type: ignore[misc]
    """honcho's manager, which starts again what died.

    Parameters
    ----------
    ready
        Called in a thread of its own once all processes were started.
    """

    def __init__(self, ready: Callable[[], None], printer: Any = None) -> None:
        super().__init__(printer)
        self._ready = ready
        self._starts: dict[str, list[float]] = {}

    def _start(self) -> None:
        super()._start()
        self._starts = {name: [time.monotonic()] for name in self._processes}
        # a thread only after the processes were forked
        threading.Thread(target=self._ready, name="ready", daemon=True).start()

    def _any_stopped(self) -> bool:
        for name, process in self._processes.items():
            if process.get("returncode") is not None and not self._terminating and self._may_restart(name):
                self._restart(name, process)
        return bool(super()._any_stopped())

    def _may_restart(self, name: str) -> bool:
        now, starts = time.monotonic(), self._starts[name]
        recent = [start for start in starts if now - start < 60.0]
        return now - starts[-1] > _LIVED_LONG_ENOUGH and len(recent) < _STARTS_PER_MINUTE

    def _restart(self, name: str, process: dict[str, Any]) -> None:
        self._system_print(f"{name} died and is started again\n")
        self.returncode = None
        del process["returncode"], process["pid"]
        self._starts[name].append(time.monotonic())
        again = _spawn(process["obj"], name, self.events)
        process["process"] = again


def _spawn(process: Any, name: str, events: Any) -> Any:
    started = multiprocessing.Process(name=name, target=process.run, args=(events, True))
    started.start()
    return started


def check_port(settings: Settings) -> None:
    """Make sure that the port can be had.

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
        twin = "PhaseDock itself may run there already. " if is_serving(settings.address) else ""
        return ConflictError(
            f"Port {settings.port} on {settings.host} is taken by another program. {twin}".strip(),
            f"End that program, or set PORT to another number, such as PORT={settings.port + 1}.",
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return ConflictError(f"Port {settings.port} needs more rights than you have.", "Set PORT above 1023.")
    return ConflictError(f"PhaseDock cannot listen on “{settings.host}”.", "Set HOST to 127.0.0.1.")


def is_serving(address: str, timeout: float = 2.0) -> bool:
    """Tell whether PhaseDock answers at an address."""
    try:
        with urllib.request.urlopen(f"{address}/healthz", timeout=timeout) as answer:  # noqa: S310 - http only
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError, ValueError):
        return False


def wait_until_serving(address: str, seconds: float = _PATIENCE) -> bool:
    """Wait until PhaseDock answers at an address."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if is_serving(address):
            return True
        time.sleep(0.1)
    return False


def serve(settings: Settings, announce: Callable[[bool], None], root: Path = ROOT) -> int:
    """Run the Procfile's processes until a signal, or until one of them cannot come up.

    Parameters
    ----------
    settings
        What the environment decided.
    announce
        Called with True once the page answers, or with False when it does not in good time.
    root
        The folder of the Procfile.

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
            "The Procfile is not beside the program.", "Start PhaseDock from its own folder."
        ) from error
    manager = Supervisor(lambda: announce(wait_until_serving(settings.address)))
    environment = _environment(settings)
    for name, line in lines.items():
        # without a shell in between, signals reach the process itself
        manager.add_process(name, f"exec {line}", env=environment, cwd=str(root))
    manager.loop()
    return 0 if manager.returncode in (None, 130, 143) else int(manager.returncode)


def _environment(settings: Settings) -> dict[str, str]:
    environment = child_environment(settings)
    beside = str(Path(sys.executable).parent)
    environment["PATH"] = os.pathsep.join([beside, environment.get("PATH", os.defpath)])
    return environment
