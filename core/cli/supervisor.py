"""Keeping processes up: one that dies is started again, for ever, after a delay that grows.

A process that ends by itself before it ever came up cannot do its work (its settings, its port), and
ends all; so does a signal. Any other death is an accident, and the others can go on meanwhile. What a
dead process leaves behind (gunicorn's worker holds the port after its master was killed) is killed
before it is started again. When the supervisor itself is killed, Linux sends its processes SIGTERM; what
survives that, the next start for the same home folder ends.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import logging.handlers
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING

from honcho.colour import get_colours
from honcho.environ import parse_procfile
from honcho.printer import Message, Printer

from core.config import child_environment
from core.errors import ConflictError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType

    from core.config import Settings


_LOG = logging.getLogger("phasedock.serve")
_POLL_SECONDS = 0.1
_LAST_WORDS = 1.0


@dataclass(frozen=True, slots=True)
class RestartTimes:
    """When a process counts as up, and how long to wait before it is started again; all in seconds."""

    #: A process that lived this long has come up; one that ends by itself sooner, never having come up, ends
    #: all.
    up_after: float = 10.0
    #: After a life this long the next delay is the first one again.
    steady_after: float = 30.0
    #: Before the first restart; each further one waits twice as long, up to the longest.
    first_delay: float = 0.5
    longest_delay: float = 15.0
    #: Between SIGTERM and SIGKILL at the end.
    grace: float = 5.0

    def delay(self, short_lives: int) -> float:
        """Seconds to wait after this many short lives in a row."""
        return min(self.first_delay * 2.0 ** min(max(short_lives - 1, 0), 60), self.longest_delay)


_TIED = """
import ctypes, os, sys
try:
    ctypes.CDLL(None).prctl(1, 15)  # PR_SET_PDEATHSIG, SIGTERM
except (OSError, AttributeError):
    pass
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execl("/bin/sh", "sh", "-c", sys.argv[2])
"""
"""Becomes a command that Linux ends with the process that started it; elsewhere it is only the command."""


class Supervised:
    """One process under a name: at most one lives at a time."""

    def __init__(
        self, name: str, command: str, report: Callable[[str, bytes | int], None], times: RestartTimes
    ) -> None:
        self.name = name
        self.pid: int | None = None
        self.due: float | None = 0.0
        self._command, self._report, self._times = command, report, times
        self._started = 0.0
        self._came_up = False
        self._short_lives = 0

    def start(self, environment: Mapping[str, str], folder: Path) -> None:
        """Start the process; without a shell in between, so that signals reach it."""
        process = subprocess.Popen(  # noqa: S603 - the Procfile is part of the program
            [sys.executable, "-S", "-c", _TIED, str(os.getpid()), f"exec {self._command}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=dict(environment),
            cwd=folder,
            start_new_session=True,
        )
        self.pid, self.due, self._started = process.pid, None, time.monotonic()
        threading.Thread(target=self._follow, args=(process,), name=self.name, daemon=True).start()

    def ended(self, code: int) -> bool:
        """Note the end of the process; say whether it may be started again, and when (`due`)."""
        lived = time.monotonic() - self._started
        self.pid = None
        self._came_up |= lived >= self._times.up_after
        if code >= 0 and not self._came_up:
            return False
        self._short_lives *= lived < self._times.steady_after
        self.postpone()
        return True

    def postpone(self) -> None:
        """Start it after the next delay."""
        self._short_lives += 1
        self.due = time.monotonic() + self.delay

    @property
    def delay(self) -> float:
        """Seconds from the last end to the next start."""
        return self._times.delay(self._short_lives)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process and all that it started."""
        if self.pid is not None:
            _signal_group(self.pid, number)

    def _follow(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None  # noqa: S101 - PIPE was asked for
        reader = threading.Thread(target=self._read, args=(process.stdout,), daemon=True)
        reader.start()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # its id stays its own until wait()
        _signal_group(process.pid, signal.SIGKILL)
        code = process.wait()
        reader.join(_LAST_WORDS)
        self._report(self.name, code)

    def _read(self, output: IO[bytes]) -> None:
        with output:
            for line in output:
                self._report(self.name, line)


class Supervisor:
    """Starts processes, prints what they print, and keeps them up until a signal comes."""

    def __init__(
        self,
        commands: Mapping[str, str],
        environment: Mapping[str, str],
        folder: Path,
        times: RestartTimes | None = None,
    ) -> None:
        self._times = times or RestartTimes()
        self._environment, self._folder = environment, folder
        # a SimpleQueue of Python 3.11 waits for ever where a signal comes in the moment its time is over
        self._events: queue.Queue[tuple[str, bytes | int]] = queue.Queue()
        self._supervised = {
            name: Supervised(name, line, lambda *event: self._events.put(event), self._times)
            for name, line in commands.items()
        }
        self._printer = Printer(sys.stdout, width=max(map(len, ("system", *commands))))
        self._colours = dict(zip(commands, get_colours(), strict=False))
        self._ending: float | None = None
        self._asked = threading.Event()
        self._code = 0

    def run(self, ready: Callable[[], None]) -> int:
        """Keep all processes up until a signal, or until one of them cannot come up."""
        with _signals(self._asked.set):
            self._start_due()
            threading.Thread(target=ready, name="ready", daemon=True).start()
            while self._ending is None or any(each.pid is not None for each in self._supervised.values()):
                self._step()
        return self._code

    def _step(self) -> None:
        with contextlib.suppress(queue.Empty):
            self._take(*self._events.get(timeout=_POLL_SECONDS))
        if self._ending is None and self._asked.is_set():
            self._end("stopping")
        if self._ending is None:
            self._start_due()
        elif time.monotonic() - self._ending > self._times.grace:
            self._send(signal.SIGKILL)

    def _take(self, name: str, event: bytes | int) -> None:
        if isinstance(event, bytes):
            self._print(name, event)
            return
        each = self._supervised[name]
        restarts, ending = each.ended(event), _how_it_ended(event)
        if self._ending is not None:
            self._say(f"{name} ended")
        elif restarts:
            self._say(f"{name} {ending} and will be restarted in {each.delay:g} s")
        else:
            self._code = event
            self._end(f"{name} {ending} before it had started, so PhaseDock stops")

    def _start_due(self) -> None:
        for name, each in self._supervised.items():
            if each.due is None or time.monotonic() < each.due:
                continue
            try:
                each.start(self._environment, self._folder)
            except OSError as error:  # the machine is out of memory or processes
                each.postpone()
                self._say(f"{name} cannot be started ({error.strerror}), next try in {each.delay:g} s")
            else:
                self._say(f"{name} started (process {each.pid})")

    def _end(self, reason: str) -> None:
        self._say(reason)
        self._ending = time.monotonic()
        self._send(signal.SIGTERM)

    def _send(self, number: signal.Signals) -> None:
        for each in self._supervised.values():
            each.send(number)

    def _say(self, text: str) -> None:
        _LOG.info(text)
        self._print("system", text)

    def _print(self, name: str, data: bytes | str) -> None:
        self._printer.write(Message("line", data, datetime.now().astimezone(), name, self._colours.get(name)))


def _how_it_ended(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    with contextlib.suppress(ValueError):
        return f"was killed by {signal.Signals(-code).name}"
    return f"was killed by signal {-code}"


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


@contextlib.contextmanager
def _signals(on_signal: Callable[[], None]) -> Iterator[None]:
    """Call a function for SIGINT and SIGTERM; restore the handlers of before."""

    def handle(_number: int, _frame: FrameType | None) -> None:
        on_signal()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_HOME, _SUPERVISOR = "PHASEDOCK_SERVED_HOME", "PHASEDOCK_SERVED_BY"
"""Mark the processes of a supervisor in their environment, which Linux shows to their user."""


def end_leftovers(home: Path, grace: float = 5.0) -> int:
    """End processes that a supervisor of this home folder left when it was killed; returns their number."""
    found = _leftovers(home)
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in _leftovers(home):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        deadline = time.monotonic() + grace
        while _leftovers(home) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
    return len(found)


def _leftovers(home: Path) -> list[int]:
    """Processes that carry the mark of this home and whose supervisor is gone."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            variables = (folder / "environ").read_bytes().split(b"\0")
            marks = dict(each.split(b"=", 1) for each in variables if b"=" in each)
            ours = marks.get(_HOME.encode()) == os.fsencode(home)
            if ours and not Path("/proc", os.fsdecode(marks.get(_SUPERVISOR.encode(), b"-"))).exists():
                found.append(int(folder.name))
    return [pid for pid in found if pid != os.getpid()]


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
    environment = child_environment(settings) | {_HOME: str(settings.home), _SUPERVISOR: str(os.getpid())}
    beside = str(Path(sys.executable).parent)
    environment["PATH"] = os.pathsep.join([beside, environment.get("PATH", os.defpath)])
    return environment


_BYTES, _FILES = 5 * 2**20, 3


# The log: to the screen of whoever started the process, and to a file in the home folder.
#
# People get sentences; tracebacks and references go here.


def log_to(home: Path, process: str) -> None:
    """Send everything that is logged to ``logs/<process>.log``, and warnings to the screen as well."""
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
