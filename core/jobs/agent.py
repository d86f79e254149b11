"""The half of the agent that lives inside a job: it speaks with whoever steers the container, by files.

A folder is mounted into the container and named by ``PHASEDOCK_AGENT``. There the other side writes
what it wants (``wants.json``: threads, a checkpoint, to stand still), and the job, at its step
boundaries, applies it and writes how it stands (``says.json``) and one line for every loss it printed
(``readings.csv``). Every file that is replaced is replaced at once, so nobody reads half of one; a version
number that grows says which wish was read last. No network, no thread and no library is needed: this file
and files.py can be copied beside any training program::

    agent = Agent.from_environment()
    agent.begin(step=0, steps=200, save=write_my_checkpoint)  # or the step of the checkpoint that was loaded
    for step in range(agent.step + 1, 201):
        loss = train_one_step()
        agent.reached(step, loss, save=write_my_checkpoint)
    agent.finish()

The job's threads follow its cores, because a quota below the number of threads lets them wait for each
other: to shrink, threads go first and the quota after the acknowledgement; to grow, the other way round.
"""

from __future__ import annotations

import csv
import json
import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Callable

POLL = 0.05
"""Seconds between two looks at the wishes while the job stands still."""
SAY = 0.1
"""Seconds that lie at least between two reports that nobody asked for."""
STOPPED = 143
"""Exit code after SIGTERM, as a shell gives it: 128 + 15."""
_SMOOTHING = 0.3


class Stopped(SystemExit):
    """The job was told to end by SIGTERM; its checkpoint is written."""

    def __init__(self) -> None:
        super().__init__(STOPPED)


@dataclass(frozen=True)
class Wants:
    """What the other side wants.

    Parameters
    ----------
    version
        Grows by one with every change.
    threads
        Threads that the program should use; None leaves them alone.
    checkpoint
        Number of checkpoints asked for so far.
    hold
        Whether to stand still at the next step boundary.
    """

    version: int = 0
    threads: int | None = None
    checkpoint: int = 0
    hold: bool = False


@dataclass
class Says:
    """How the job stands; the fields of ``says.json``.

    Parameters
    ----------
    version
        Version of the wishes that were read last; they are applied when it appears here.
    threads
        Threads that the program really uses.
    step, steps
        The last step done, and how many there are in all.
    loss
        The loss of that step.
    seconds_per_step
        Smoothed wall time of a step.
    checkpoint
        Number of the last request for a checkpoint that was fulfilled.
    checkpoint_step
        Step of the checkpoint that lies in the folder.
    state
        ``preparing``, ``running``, ``held``, ``done`` or ``failed``.
    started
        Unix time at which this process began, which tells a resumed job from the one before.
    """

    version: int = 0
    threads: int = 1
    step: int = 0
    steps: int = 0
    loss: float | None = None
    seconds_per_step: float | None = None
    checkpoint: int = 0
    checkpoint_step: int = 0
    state: str = "preparing"
    started: float = 0.0


class Agent:
    """Speaks for one job; without a folder it only counts steps and minds SIGTERM.

    Parameters
    ----------
    folder
        The mounted folder, or None.
    threads
        Sets the threads that the program uses and returns how many it uses now; given None, only returns.
    """

    def __init__(self, folder: Path | None, threads: Callable[[int | None], int]) -> None:
        self.folder = folder
        self._set_threads, self._own_threads = threads, usable_cores()
        self._wants = Wants()
        self._says = Says(threads=threads(None), started=time.time())
        self._said_at = self._stepped_at = float("-inf")
        self._last_reading = 0
        self._term = False
        if folder is not None:
            self._last_reading = _last_step(folder / "readings.csv")
            self._says.checkpoint = _as_int(_read_json(folder / "says.json").get("checkpoint"))

    @classmethod
    def from_environment(cls, threads: Callable[[int | None], int] | None = None) -> Agent:
        """Return the agent of the folder that ``PHASEDOCK_AGENT`` names, listening for SIGTERM.

        Parameters
        ----------
        threads
            See the class; by default `set_threads`.
        """
        name = os.environ.get("PHASEDOCK_AGENT", "")
        folder = Path(name) if name and Path(name).is_dir() else None
        agent = cls(folder, threads or set_threads)
        signal.signal(signal.SIGTERM, lambda *_: agent.terminate())
        return agent

    @property
    def step(self) -> int:
        """The last step done."""
        return self._says.step

    def terminate(self) -> None:
        """End at the next step boundary, after a checkpoint; at once where there is nothing to save yet."""
        self._term = True
        if self._says.state not in {"running", "held"}:
            raise Stopped

    def prepare(self, step: int, steps: int) -> None:
        """Report that the program gets ready to go on after `step` of `steps`; optional."""
        says = self._says
        says.step, says.steps, says.checkpoint_step, says.state = step, steps, step, "preparing"
        self._read_wants()
        self._say()

    def listen(self) -> None:
        """Apply what is wanted of the threads, and report; for long stretches before the first step."""
        if self._read_wants():
            self._say()

    def begin(self, step: int, steps: int, save: Callable[[], None]) -> None:
        """Report that training begins after `step` of `steps`, and do what is wanted already.

        A job that is held from the start stands still here. `save` is that of `reached`.
        """
        says = self._says
        says.step, says.steps, says.checkpoint_step, says.state = step, steps, step, "running"
        self._read_wants()
        self._apply_threads()  # libraries that were loaded since then have not heard of it
        self._say()
        self._serve(save)
        self._stepped_at = time.monotonic()

    def is_new(self, step: int) -> bool:
        """Whether no reading of this step was ever written: only a job that fell back does steps again."""
        return step > self._last_reading

    def reached(self, step: int, loss: float, save: Callable[[], None]) -> None:
        """Report a step boundary and do there what is wanted.

        Parameters
        ----------
        step
            The step that was just done, from 1.
        loss
            Its loss.
        save
            Writes a checkpoint of this moment.

        Raises
        ------
        Stopped
            If SIGTERM came; the checkpoint is written.
        """
        self._note(step, loss)
        if self._read_wants() or time.monotonic() - self._said_at >= SAY:
            self._say()
        self._serve(save)

    def saved(self, step: int) -> None:
        """Report a checkpoint that the program wrote by itself."""
        self._says.checkpoint_step = step
        self._say()

    def finish(self, state: str = "done") -> None:
        """Report the end: ``done`` or ``failed``."""
        self._read_wants()
        self._says.state = state
        self._say()

    def _note(self, step: int, loss: float) -> None:
        now, says = time.monotonic(), self._says
        took, before = now - self._stepped_at, says.seconds_per_step
        says.seconds_per_step = took if before is None else before + _SMOOTHING * (took - before)
        says.step, says.loss, self._stepped_at = step, loss, now
        if self.folder is not None and self.is_new(step):
            with (self.folder / "readings.csv").open("a", encoding="utf-8") as file:
                file.write(f"{time.time():.3f},{step},{loss:.6g}\n")
        self._last_reading = max(self._last_reading, step)

    def _serve(self, save: Callable[[], None]) -> None:
        """Write the checkpoint that was asked for, stand still while held, end if SIGTERM came."""
        began = time.monotonic()
        while True:
            self._checkpoint_if_wanted(save)
            if self._term:
                raise Stopped
            if not self._wants.hold:
                break
            self._change("held")
            time.sleep(POLL)
            if self._read_wants():
                self._say()
        self._change("running")
        self._stepped_at += time.monotonic() - began

    def _checkpoint_if_wanted(self, save: Callable[[], None]) -> None:
        says, wants = self._says, self._wants
        if not self._term and wants.checkpoint <= says.checkpoint:
            return
        save()
        says.checkpoint, says.checkpoint_step = wants.checkpoint, says.step
        says.state = "held" if wants.hold or self._term else says.state
        self._say()

    def _change(self, state: str) -> None:
        if self._says.state != state:
            self._says.state = state
            self._say()

    def _read_wants(self) -> bool:
        """Take over wishes that are new, and say whether there were any."""
        found = _read_json(self.folder / "wants.json") if self.folder is not None else {}
        version = _as_int(found.get("version"))
        if version in {0, self._wants.version}:
            return False
        threads = _as_int(found.get("threads")) or None
        self._wants = Wants(version, threads, _as_int(found.get("checkpoint")), found.get("hold") is True)
        self._says.version = version
        self._apply_threads()
        return True

    def _apply_threads(self) -> None:
        self._says.threads = self._set_threads(self._wants.threads or self._own_threads)

    def _say(self) -> None:
        self._said_at = time.monotonic()
        if self.folder is not None:
            text = json.dumps(asdict(self._says))
            write_atomically(self.folder / "says.json", lambda file: file.write(text.encode()), lasting=False)


def set_threads(wanted: int | None) -> int:
    """Let the number libraries of this process use `wanted` threads, and return how many they use now.

    PyTorch is told where it is loaded, and OpenMP and the linear algebra behind NumPy through threadpoolctl
    where that is installed. Must be called from the thread that computes, because OpenMP counts by thread.
    """
    in_use = 1
    with suppress(ImportError):
        import threadpoolctl  # noqa: PLC0415 - a program without it keeps its threads

        if wanted is not None:
            threadpoolctl.threadpool_limits(limits=wanted)
        in_use = max([pool["num_threads"] for pool in threadpoolctl.threadpool_info()], default=1)
    torch = sys.modules.get("torch")
    if torch is not None:
        if wanted is not None:
            torch.set_num_threads(wanted)
        in_use = int(torch.get_num_threads())
    return in_use


def usable_cores() -> int:
    """Return the number of processors that this process may run on, which is what libraries start with."""
    return len(os.sched_getaffinity(0))


def _read_json(path: Path) -> dict[str, Any]:
    """Return what a file holds, or nothing where it is missing, half written or no object."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _as_int(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _last_step(path: Path) -> int:
    """Return the last step of which a reading was written."""
    if not path.exists():
        return 0
    with path.open(encoding="utf-8", newline="") as file:
        steps = [int(row[1]) for row in csv.reader(file) if len(row) == 3 and row[1].isdigit()]
    return max(steps, default=0)
