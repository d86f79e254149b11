"""How short this machine is of CPU and memory, as its kernel counts it.

The kernel's pressure stall information says for which share of the last ten seconds some task waited
(``some avg10`` in ``/proc/pressure/cpu`` and ``memory``). Kernels without it count the time that a hypervisor
stole, and the time without work: where there is none, tasks beyond the number of processors wait.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

_SOME: Final = re.compile(r"^some avg10=(\d+(?:\.\d+)?)", re.MULTILINE)
_BUSY: Final = 0.02
"""Below this share of time without work a machine has no processor to spare."""


def parse_pressure(text: str) -> float | None:
    """Return the share of the last ten seconds in which some task waited; None if the text does not say."""
    found = _SOME.search(text)
    return None if found is None else min(float(found[1]) / 100.0, 1.0)


class CpuTimes(NamedTuple):
    """Times of all processors since the start, in ticks, and the tasks that can run now."""

    #: All time, that without work, and that stolen by a hypervisor.
    total: int
    idle: int
    stolen: int
    #: Processors, and tasks that run or wait for one.
    processors: int
    tasks: int


def parse_cpu_times(text: str) -> CpuTimes | None:
    """Parse ``/proc/stat``; None without the line of all processors."""
    lines = [line.split() for line in text.splitlines()]
    all_ = next((line[1:9] for line in lines if line[:1] == ["cpu"] and len(line) > 8), None)
    if all_ is None:
        return None
    user, nice, system, idle, waiting, irq, soft, stolen = map(int, all_)
    processors = sum(bool(re.fullmatch(r"cpu\d+", line[0])) for line in lines if line)
    tasks = next((int(line[1]) for line in lines if line[:1] == ["procs_running"]), 0)
    total = user + nice + system + idle + waiting + irq + soft + stolen
    return CpuTimes(total, idle + waiting, stolen, processors, tasks)


def pressure_between(before: CpuTimes, now: CpuTimes) -> float | None:
    """Return the share of time stolen, or of tasks that wait where no processor is free; None in no time."""
    passed = now.total - before.total
    if passed <= 0:
        return None
    stolen = max(now.stolen - before.stolen, 0) / passed
    is_busy = now.idle - before.idle < _BUSY * passed
    waiting = max(1.0 - now.processors / now.tasks, 0.0) if is_busy and now.tasks else 0.0
    return max(stolen, waiting)


class PressureReader:
    """Reads the pressure of this machine."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc
        self._before: CpuTimes | None = None

    def __call__(self) -> float | None:
        """Return the larger of the shares for CPU and memory; None where the kernel counts neither."""
        shares = [
            share
            for name in ("cpu", "memory")
            if (share := parse_pressure(self._text(f"pressure/{name}"))) is not None
        ]
        return max(shares) if shares else self._from_times()

    def _from_times(self) -> float | None:
        before, self._before = self._before, parse_cpu_times(self._text("stat"))
        return None if before is None or self._before is None else pressure_between(before, self._before)

    def _text(self, name: str) -> str:
        try:
            return (self._proc / name).read_text()
        except OSError:
            return ""
