"""What is printed about processes, time after time: pidstat and top."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from core.units import GIB, KIB, MIB
from tests.reading.written.writers import Written

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from tests.reading.written.truth import Truth


def pidstat(known: Truth, chance: Random) -> Written:
    """``pidstat``: a block about CPU and one about memory after the other, or all on one line."""
    one_line, half = chance.random() < 0.5, chance.random() < 0.4
    date = chance.choice(("%m/%d/%Y", "%Y-%m-%d"))
    start = datetime.fromtimestamp(known.time(0), UTC).strftime(date)
    cpu, memory = "UID PID %usr %CPU CPU", "UID PID minflt/s VSZ RSS"
    lines = [f"Linux 6.1.0 (host) \t{start} \t_x86_64_\t(16 CPU)", ""]
    if one_line:
        lines.append("# Time UID PID %usr %CPU CPU VSZ RSS Command")
    for i in range(known.samples):
        when = datetime.fromtimestamp(known.time(i), UTC).strftime("%I:%M:%S %p" if half else "%H:%M:%S")
        use = [(100 + p, known.cpu[p, i] * 100, known.memory[p, i] / KIB) for p in range(len(known.names))]
        if one_line:
            epoch = f"{known.time(i):.0f}"
            lines += [
                f" {epoch} 0 {pid} 1.0 {busy:.2f} 3 900000 {size:.0f} python3" for pid, busy, size in use
            ]
            continue
        lines.append(f"{when} {cpu} Command")
        lines += [f"{when} 0 {pid} 1.0 {busy:.2f} 3 python3" for pid, busy, _ in use]
        lines += ["", f"{when} {memory} Command"]
        lines += [f"{when} 0 {pid} 1.0 9000 {size:.0f} python3" for pid, _, size in use]
        lines.append("")
    names = {name: f"python3/{100 + p}" for p, name in enumerate(known.names)}
    return Written("pidstat.txt", "\n".join(lines) + "\n", 6e-5, 600, names.__getitem__)


def top(known: Truth, chance: Random) -> Written:
    """``top -b``: its summary above the processes, sizes in KiB or with a letter."""
    letter = chance.choice(("", "m", "g"))
    factor, digits = {"": (KIB, 0), "m": (MIB, 1), "g": (GIB, 3)}[letter]
    mark = chance.choice((".", ".", ","))
    lines = []
    for i in range(known.samples):
        when = datetime.fromtimestamp(known.time(i), UTC)
        lines += [f"top - {when:%H:%M:%S} up 10 days,  3:05,  1 user,  load average: 8.10, 7.90, 7.20"]
        lines += [
            "Tasks: 312 total,   2 running",
            "%Cpu(s):  8.7 us,  1.2 sy",
            "MiB Mem :  15929.5 total",
            "",
        ]
        lines += ["    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND"]
        for p in range(len(known.names)):
            size = f"{known.memory[p, i] / factor:.{digits}f}{letter}".replace(".", mark)
            busy = f"{known.cpu[p, i] * 100:.1f}".replace(".", mark)
            lines.append(f"{100 + p:>7} alice 20 0 40.1g {size} 8044 R {busy} 6.0 74:27.57 python3")
        lines.append("")
    names = {name: f"python3/{100 + p}" for p, name in enumerate(known.names)}
    rounding = 0.6 * factor * 10.0**-digits
    return Written("top.txt", "\n".join(lines) + "\n", 6e-4, rounding, names.__getitem__, clock="day")


WRITERS: dict[str, Callable[[Truth, Random], Written]] = {"pidstat": pidstat, "top": top}
