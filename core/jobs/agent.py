"""The agent inside a job: it talks to whoever controls the container, through files in a shared folder.

A folder is mounted into the container and named by ``PHASEDOCK_AGENT``. There the other side writes
what it wants (``wants.json``: threads, a checkpoint, to hold), and the job, at its step boundaries,
applies it and writes its state (``says.json``) and one line for every loss it printed
(``readings.csv``). Files are replaced atomically, so nobody reads half of one; a version number that grows
says which request was read last. No network, no thread and no library is needed: any program
in an image that holds this package can use it::

    agent = Agent.from_environment()
    agent.begin(step=0, steps=200, save=write_my_checkpoint)  # or the step of the checkpoint that was loaded
    for step in range(agent.step + 1, 201):
        loss = train_one_step()
        agent.reached(step, loss, save=write_my_checkpoint)
    agent.finish()

The job's threads follow its cores, because a quota below the number of threads makes them wait for each
other: to shrink, threads go first and the quota after the acknowledgement; to grow, the other way round.
"""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from .files import write_atomically
from .messages import Says, Wants, as_int, end_last_line, last_step, read_json
from .threads import set_threads, usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable

POLL = 0.05
"""Seconds between two looks at the requests while the job is held."""
SAY = 0.1
"""Least number of seconds between two reports that nobody asked for."""
STOPPED = 143
"""Exit code after SIGTERM, as a shell gives it: 128 + 15."""
LOOK = 1.0
"""Seconds between two looks at the threads in use, which may have changed from outside."""
_SMOOTHING = 0.3


class Stopped(SystemExit):
    """The job was told to end by SIGTERM; its checkpoint is written."""

    def __init__(self) -> None:
        super().__init__(STOPPED)


class Agent:
    """Speaks for one job; without a folder it only counts steps and handles SIGTERM."""

    def __init__(self, folder: Path | None, threads: Callable[[int | None], int]) -> None:
        self.folder = folder
        self._set_threads, self._own_threads = threads, usable_cores()
        self._wants = Wants()
        self._says = Says(threads=threads(None), started=time.time())
        self._said_at = self._stepped_at = float("-inf")
        self._looked_at = time.monotonic()
        self._last_reading = 0
        self._term = False
        if folder is not None:
            self._last_reading = last_step(folder / "readings.csv")
            end_last_line(folder / "readings.csv")
            self._says.checkpoint = as_int(read_json(folder / "says.json").get("checkpoint"))

    @classmethod
    def from_environment(cls, threads: Callable[[int | None], int] | None = None) -> Agent:
        """Return the agent of the folder that ``PHASEDOCK_AGENT`` names, listening for SIGTERM."""
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
        """Report that the program is preparing to continue after `step` of `steps`; optional."""
        says = self._says
        says.step, says.steps, says.checkpoint_step, says.state = step, steps, step, "preparing"
        self._read_wants()
        self._say()

    def listen(self) -> None:
        """Apply a request for threads, and report; for long stretches before the first step."""
        if self._read_wants():
            self._say()

    def begin(self, step: int, steps: int, save: Callable[[], None]) -> None:
        """Report that training begins after `step` of `steps`, and do what was requested by then.

        A job that is held from the start waits here. `save` is as in `reached`.
        """
        says = self._says
        says.step, says.steps, says.checkpoint_step, says.state = step, steps, step, "running"
        self._read_wants()
        self._apply_threads()  # libraries that were loaded since then do not know the number
        self._say()
        self._serve(save)
        self._stepped_at = time.monotonic()

    def is_new(self, step: int) -> bool:
        """Whether no reading of this step was ever written: only a job that fell back repeats steps."""
        return step > self._last_reading

    def reached(self, step: int, loss: float, save: Callable[[], None]) -> None:
        """Report a step boundary and do there what was requested.

        Raises
        ------
        Stopped
            If SIGTERM came; the checkpoint is written.
        """
        self._note(step, loss)
        self._look_at_threads()
        if self._read_wants() or time.monotonic() - self._said_at >= SAY:
            self._say()
        self._serve(save)

    def keep(self, save: Callable[[], None]) -> bool:
        """Write a checkpoint that nobody asked for, and return whether it could be written."""
        try:
            save()
        except (OSError, RuntimeError):  # a full disk must not end a training; nothing is acknowledged
            return False
        self._says.checkpoint_step = self._says.step
        self._say()
        return True

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
            with suppress(OSError), (self.folder / "readings.csv").open("a", encoding="utf-8") as file:
                file.write(f"{time.time():.3f},{step},{loss:.8g}\n")
        self._last_reading = max(self._last_reading, step)

    def _serve(self, save: Callable[[], None]) -> None:
        """Write the checkpoint that was asked for, wait while held, end if SIGTERM came."""
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
        wanted = self._term or wants.checkpoint > says.checkpoint
        if wanted and self.keep(save):
            says.checkpoint = wants.checkpoint
            says.state = "held" if wants.hold or self._term else says.state
            self._say()

    def _change(self, state: str) -> None:
        if self._says.state != state:
            self._says.state = state
            self._say()

    def _read_wants(self) -> bool:
        """Take over requests that are new, and return whether there were any."""
        found = read_json(self.folder / "wants.json") if self.folder is not None else {}
        version = as_int(found.get("version"))
        if version in {0, self._wants.version}:
            return False
        threads = as_int(found.get("threads")) or None
        self._wants = Wants(version, threads, as_int(found.get("checkpoint")), found.get("hold") is True)
        self._says.version = version
        self._apply_threads()
        return True

    def _apply_threads(self) -> None:
        self._says.threads = self._set_threads(self._wants.threads or self._own_threads)

    def _look_at_threads(self) -> None:
        if time.monotonic() - self._looked_at >= LOOK:
            self._says.threads = self._set_threads(None)
            self._looked_at = time.monotonic()

    def _say(self) -> None:
        self._said_at = time.monotonic()
        if self.folder is not None:
            text = json.dumps(asdict(self._says))
            with suppress(OSError):  # the other side notices a folder that is full or gone
                write_atomically(
                    self.folder / "says.json", lambda file: file.write(text.encode()), lasting=False
                )
