"""The agent inside a job: exchanges requests and state with PhaseDock through files in a shared folder.

The folder is mounted into the container and named by ``PHASEDOCK_AGENT``. PhaseDock writes requests to
``wants.json`` (threads, a checkpoint, to hold). At its step boundaries the job applies them, writes its state
to ``says.json`` and appends a line for every printed loss to ``readings.csv``. Files are replaced atomically,
so no reader sees half of one; a growing version number acknowledges the last request. No network, thread or
library is needed: any program in an image with this package can use it::

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

from .files import AgentRequest, AgentState, as_int, end_last_line, last_step, read_json, write_atomically
from .threads import count_usable_cores, set_threads

if TYPE_CHECKING:
    from collections.abc import Callable

POLL_INTERVAL = 0.05
"""Seconds between two reads of the requests while the job is held."""
REPORT_INTERVAL = 0.1
"""Minimum number of seconds between two unrequested reports."""
STOPPED_EXIT_CODE = 143
"""Exit code after SIGTERM, as a shell gives it: 128 + 15."""
CHECK_INTERVAL = 1.0
"""Seconds between two checks of the threads in use, which may have changed from outside."""
_SMOOTHING = 0.3


class Stopped(SystemExit):
    """SIGTERM ended the job; its checkpoint is written."""

    def __init__(self) -> None:
        super().__init__(STOPPED_EXIT_CODE)


class Agent:
    """The agent of one job; without a folder it only counts steps and handles SIGTERM."""

    def __init__(self, folder: Path | None, threads: Callable[[int | None], int]) -> None:
        self.folder = folder
        self._set_threads, self._default_threads = threads, count_usable_cores()
        self._request = AgentRequest()
        self._state = AgentState(threads=threads(None), started=time.time())
        self._reported_at = self._last_step_at = float("-inf")
        self._last_check_at = time.monotonic()
        self._last_reading = 0
        self._term = False
        if folder is not None:
            self._last_reading = last_step(folder / "readings.csv")
            end_last_line(folder / "readings.csv")
            self._state.checkpoint = as_int(read_json(folder / "says.json").get("checkpoint"))

    @classmethod
    def from_environment(cls, threads: Callable[[int | None], int] | None = None) -> Agent:
        """Return the agent of the folder in ``PHASEDOCK_AGENT``, with a handler for SIGTERM."""
        name = os.environ.get("PHASEDOCK_AGENT", "")
        folder = Path(name) if name and Path(name).is_dir() else None
        agent = cls(folder, threads or set_threads)
        signal.signal(signal.SIGTERM, lambda *_: agent.terminate())
        return agent

    @property
    def step(self) -> int:
        """The last step done."""
        return self._state.step

    def terminate(self) -> None:
        """End after a checkpoint at the next step boundary; at once before the first step."""
        self._term = True
        if self._state.state not in {"running", "held"}:
            raise Stopped

    def prepare(self, step: int, steps: int) -> None:
        """Report that the program is preparing to continue after `step` of `steps`; optional."""
        job_state = self._state
        job_state.step = job_state.checkpoint_step = step
        job_state.steps, job_state.state = steps, "preparing"
        self._read_request()
        self._write_report()

    def listen(self) -> None:
        """Apply a request for threads and report; for long preparations before the first step."""
        if self._read_request():
            self._write_report()

    def begin(self, step: int, steps: int, save: Callable[[], None]) -> None:
        """Report that training begins after `step` of `steps`, and handle pending requests.

        A job that is held from the start waits here. `save` is as in `reached`.
        """
        job_state = self._state
        job_state.step = job_state.checkpoint_step = step
        job_state.steps, job_state.state = steps, "running"
        self._read_request()
        self._apply_threads()  # libraries loaded meanwhile do not have the number yet
        self._write_report()
        self._handle_requests(save)
        self._last_step_at = time.monotonic()

    def is_new(self, step: int) -> bool:
        """Whether this step is not in the readings yet; a job resumed from a checkpoint repeats steps."""
        return step > self._last_reading

    def reached(self, step: int, loss: float, save: Callable[[], None]) -> None:
        """Report a step boundary and handle pending requests.

        Raises
        ------
        Stopped
            After SIGTERM, once the checkpoint is written.
        """
        self._record_step(step, loss)
        self._check_threads()
        if self._read_request() or time.monotonic() - self._reported_at >= REPORT_INTERVAL:
            self._write_report()
        self._handle_requests(save)

    def keep(self, save: Callable[[], None]) -> bool:
        """Write an unrequested checkpoint and return whether it was written."""
        try:
            save()
        except (OSError, RuntimeError):  # a full disk must not end a training; nothing is acknowledged
            return False
        self._state.checkpoint_step = self._state.step
        self._write_report()
        return True

    def finish(self, state: str = "done") -> None:
        """Report the end: ``done`` or ``failed``."""
        self._read_request()
        self._state.state = state
        self._write_report()

    def _record_step(self, step: int, loss: float) -> None:
        now, job_state = time.monotonic(), self._state
        took, before = now - self._last_step_at, job_state.seconds_per_step
        job_state.seconds_per_step = took if before is None else before + _SMOOTHING * (took - before)
        job_state.step, job_state.loss, self._last_step_at = step, loss, now
        if self.folder is not None and self.is_new(step):
            with suppress(OSError), (self.folder / "readings.csv").open("a", encoding="utf-8") as file:
                file.write(f"{time.time():.3f},{step},{loss:.8g}\n")
        self._last_reading = max(self._last_reading, step)

    def _handle_requests(self, save: Callable[[], None]) -> None:
        """Write a requested checkpoint, wait while held, end after SIGTERM."""
        began = time.monotonic()
        while True:
            self._checkpoint_if_requested(save)
            if self._term:
                raise Stopped
            if not self._request.hold:
                break
            self._set_state("held")
            time.sleep(POLL_INTERVAL)
            if self._read_request():
                self._write_report()
        self._set_state("running")
        self._last_step_at += time.monotonic() - began

    def _checkpoint_if_requested(self, save: Callable[[], None]) -> None:
        job_state, request = self._state, self._request
        is_requested = self._term or request.checkpoint > job_state.checkpoint
        if is_requested and self.keep(save):
            job_state.checkpoint = request.checkpoint
            job_state.state = "held" if request.hold or self._term else job_state.state
            self._write_report()

    def _set_state(self, state: str) -> None:
        if self._state.state != state:
            self._state.state = state
            self._write_report()

    def _read_request(self) -> bool:
        """Apply a new request and return whether there was one."""
        fields = read_json(self.folder / "wants.json") if self.folder is not None else {}
        version = as_int(fields.get("version"))
        if version in {0, self._request.version}:
            return False
        threads = as_int(fields.get("threads")) or None
        self._request = AgentRequest(
            version, threads, as_int(fields.get("checkpoint")), fields.get("hold") is True
        )
        self._state.version = version
        self._apply_threads()
        return True

    def _apply_threads(self) -> None:
        self._state.threads = self._set_threads(self._request.threads or self._default_threads)

    def _check_threads(self) -> None:
        if time.monotonic() - self._last_check_at >= CHECK_INTERVAL:
            self._state.threads = self._set_threads(None)
            self._last_check_at = time.monotonic()

    def _write_report(self) -> None:
        self._reported_at = time.monotonic()
        if self.folder is not None:
            text = json.dumps(asdict(self._state))
            with suppress(OSError):  # PhaseDock notices a folder that is full or gone
                write_atomically(
                    self.folder / "says.json", lambda file: file.write(text.encode()), lasting=False
                )
